"""Compares a live node's answers about the metadata with the image that the leader's log makes.

Topics with their partitions (Metadata) and the configs of topics (DescribeConfigs), as each broker has them; of
controllers the second alone. A difference is a Change from the node's answer to the log's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kcli.client.calls import call
from kcli.schemas.apikeys import DESCRIBE_CONFIGS, FETCH, METADATA
from kcli.schemas.errors import error_code, error_name
from kcli.schemas.field_codes import ConfigResource
from kcli.snapshots.image.diff import Change, row_change
from kcli.snapshots.image.image import Image, Topic
from kcli.snapshots.live.fetch_messages import find_body, first_partition

if TYPE_CHECKING:
    from kcli.client.handshake import Session

DYNAMIC_TOPIC_CONFIG = 1  # ConfigSource
AT_ONCE = 200  # topics of one request
NO_SUCH_TOPIC = error_code("UNKNOWN_TOPIC_OR_PARTITION")
ID_SINCE = 10  # Metadata: topics have ids


async def ask_log(session: Session, epoch: int) -> str | None:
    """Return a node's answer to a fetch of the metadata log: "served", or an error's name; None if the node has no
    Fetch.
    """
    if FETCH not in session.versions.ranges:
        return None
    version = session.versions.best(FETCH)
    answer = await call(session.connection, FETCH, version, find_body(version, epoch, 0, 0))
    partition = first_partition(answer) or answer
    return error_name(partition["errorCode"]) if partition["errorCode"] else "served"


async def ask_configs(session: Session, image: Image) -> list[Change]:
    """Return the configs of topics in which a node differs."""
    topics = [topic.name for topic in image.sorted_topics()]
    found: list[Change] = []
    for first in range(0, len(topics), AT_ONCE):
        resources = [
            {"resourceType": ConfigResource.TOPIC, "resourceName": name, "configurationKeys": None}
            for name in topics[first : first + AT_ONCE]
        ]
        body = {"resources": resources, "includeSynonyms": False, "includeDocumentation": False}
        answer = await call(session.connection, DESCRIBE_CONFIGS, session.versions.best(DESCRIBE_CONFIGS), body)
        for result in answer["results"]:
            if not result["errorCode"]:
                found += config_changes(result, image.configs.get((ConfigResource.TOPIC, result["resourceName"]), {}))
    return found


def config_changes(result: dict[str, Any], logged: dict[str, str]) -> Iterator[Change]:
    """Compare one topic's configs between node and log; sensitive values are neither shown nor compared."""
    hidden = {each["name"] for each in result["configs"] if each["isSensitive"]}
    held = {each["name"]: each["value"] for each in result["configs"] if each["configSource"] == DYNAMIC_TOPIC_CONFIG}
    for name in sorted((held.keys() | logged.keys()) - hidden):
        if held.get(name) != logged.get(name):
            key = {"resourceType": "TOPIC", "resourceName": result["resourceName"], "name": name}
            mine, yours = (key | {"value": each[name]} if name in each else None for each in (held, logged))
            yield row_change("configs", mine, yours)


async def ask_topics(session: Session, image: Image) -> list[Change]:
    """Return the topics and partitions in which a node differs."""
    topics = await topics_of(session, None)
    listed = {each["name"] for each in topics}
    missing = [topic.name for topic in image.sorted_topics() if topic.name not in listed]
    # Topics without the permission to describe are missing from the list of all.
    for first in range(0, len(missing), AT_ONCE):
        topics += await topics_of(session, missing[first : first + AT_ONCE])
    return list(topic_changes(topics, image, ids=session.versions.best(METADATA) >= ID_SINCE))


async def topics_of(session: Session, names: Sequence[str] | None) -> list[dict[str, Any]]:
    topics = None if names is None else [{"name": name} for name in names]
    body = {"topics": topics, "allowAutoTopicCreation": False}
    answer = await call(session.connection, METADATA, session.versions.best(METADATA), body)
    return list(answer["topics"])


def topic_changes(topics: Sequence[dict[str, Any]], image: Image, *, ids: bool = True) -> Iterator[Change]:
    """Compare topics of a Metadata response with the image's; of a partition without a reachable leader the node says
    less, and it is not compared. ids: whether the response has topic ids.
    """
    logged_topics = {topic.name: topic for topic in image.topics.values()}
    for topic in topics:
        known = logged_topics.get(topic["name"])
        if topic["errorCode"] not in (0, NO_SUCH_TOPIC):
            continue
        is_there = not topic["errorCode"]
        if known is None or not is_there or (ids and topic["topicId"] != known.id_text):
            held = topic_row(topic["topicId"] if ids else "", topic) if is_there else None
            logged = topic_row(known.id_text, {"name": known.name, "partitions": known.partitions}) if known else None
            if held or logged:
                yield row_change("topics", held, logged)
            continue
        parts = {part["partitionIndex"]: part for part in topic["partitions"]}
        for number in sorted(parts.keys() | known.partitions.keys()):
            mine = partition_row(topic["name"], number, parts.get(number))
            yours = logged_row(image, known, number)
            if mine != yours and not parts.get(number, {}).get("errorCode"):
                yield row_change("partitions", mine, yours)


def topic_row(identity: str, topic: dict[str, Any]) -> dict[str, Any]:
    return {"topicId": identity, "name": topic["name"], "partitions": len(topic["partitions"])}


def partition_row(topic: str, number: int, part: dict[str, Any] | None) -> dict[str, Any] | None:
    if part is None:
        return None
    row = {"topic": topic, "partition": number, "leader": part["leaderId"], "leaderEpoch": part["leaderEpoch"]}
    return row | {"replicas": part["replicaNodes"], "isr": part["isrNodes"]}


def logged_row(image: Image, topic: Topic, number: int) -> dict[str, Any] | None:
    if number not in topic.partitions:
        return None
    value = image.partition(topic, number)
    row = {"topic": topic.name, "partition": number}
    return row | {column: value[column] for column in ("leader", "leaderEpoch", "replicas", "isr")}

"""CreateTopics v0-v7 (KIP-4, KIP-464 defaults by -1, KIP-525 configs in the answer from v5 on, ids from v7 on).

Refused: names that Kafka refuses, and those that differ from another topic's only in '.' and '_'; the metadata log's
name (TOPIC_AUTHORIZATION_FAILED, as in Kafka's ControllerApis); more copies than nodes; unknown configs; topics named
twice in one request. validate_only checks and does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.configs import TOPIC, Configs, parse
from kcli.broker.partition import Topic
from kcli.broker.request import Request
from kcli.errors import UsageError
from kcli.records.acceptance import RefusedError
from kcli.topic_names import CLUSTER_METADATA, name_fault

MOST_PARTITIONS = 1_000_000
OWN, DEFAULT = 1, 5


def handle(request: Request) -> dict[str, Any]:
    names = Counter(each["name"] for each in request.body["topics"])
    rows: list[dict[str, Any]] = []
    for wanted in request.body["topics"]:
        name = wanted["name"]
        if names[name] > 1:
            if all(each["name"] != name for each in rows):
                rows.append(refused(name, RefusedError("INVALID_REQUEST", "the request names this topic twice")))
            continue
        try:
            rows.append(create(request, wanted))
        except RefusedError as error:
            rows.append(refused(name, error))
    return {"topics": rows}


def refused(name: str, error: RefusedError) -> dict[str, Any]:
    row = {"name": name, "errorCode": error_code(error.error), "errorMessage": str(error)}
    return row | {"numPartitions": -1, "replicationFactor": -1, "configs": None}


def create(request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
    name = wanted["name"]
    if code := request.fault(name):
        return {"name": name, "errorCode": code, "errorMessage": None, "configs": None}
    check_name(request, name)
    assignment = assignment_of(request, wanted)
    configs = configs_of(wanted)
    copies = len(assignment[0])
    row = {"name": name, "errorCode": 0, "errorMessage": None, "numPartitions": len(assignment)}
    row |= {"replicationFactor": copies, "configs": config_rows(request.configs, configs)}
    if request.body.get("validateOnly"):
        return row
    made: Topic = request.controller.create_topic(name, configs=configs, assignment=assignment)
    return row | {"topicId": made.id}


def check_name(request: Request, name: str) -> None:
    fault = name_fault(name)
    if fault:
        raise RefusedError("INVALID_TOPIC_EXCEPTION", fault)
    if name == CLUSTER_METADATA:
        raise RefusedError("TOPIC_AUTHORIZATION_FAILED", f"nobody may create the internal topic {name}")
    topics = request.topics
    if name in topics.by_name:
        raise RefusedError("TOPIC_ALREADY_EXISTS", f"Topic '{name}' already exists.")
    alike = name.replace(".", "_")
    if "_" in alike and any(each.name.replace(".", "_") == alike for each in topics):
        raise RefusedError("INVALID_TOPIC_EXCEPTION", f"{name} differs from another topic only in '.' and '_'")


def assignment_of(request: Request, wanted: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """The replicas of each partition: as given, or by count and replication factor (-1: the broker's default)."""
    nodes = request.controller.node_ids
    given = {each["partitionIndex"]: tuple(each["brokerIds"]) for each in wanted["assignments"]}
    if given:
        if sorted(given) != list(range(len(given))) or any(
            not each or set(each) - set(nodes) for each in given.values()
        ):
            raise RefusedError("INVALID_REPLICA_ASSIGNMENT", f"partitions from 0 on, each on some of the nodes {nodes}")
        return [given[index] for index in range(len(given))]
    configs = request.configs
    count = wanted["numPartitions"] if wanted["numPartitions"] != -1 else configs.int("num.partitions")
    copies = wanted["replicationFactor"]
    copies = copies if copies != -1 else min(configs.int("default.replication.factor"), len(nodes))
    if not 1 <= count <= MOST_PARTITIONS:
        raise RefusedError("INVALID_PARTITIONS", f"{count} partitions: 1 to {MOST_PARTITIONS} expected")
    if not 1 <= copies <= len(nodes):
        raise RefusedError("INVALID_REPLICATION_FACTOR", f"{copies} copies: there are {len(nodes)} nodes")
    return request.controller.assign(count, copies)


def configs_of(wanted: Mapping[str, Any]) -> dict[str, str]:
    made = {each["name"]: each["value"] for each in wanted["configs"] if each["value"] is not None}
    for name, text in made.items():
        check_config(name, text)
    return made


def check_config(name: str, text: str) -> None:
    """RefusedError: the config means nothing, or has no such value. Others of Kafka's topic configs are kept
    unread.
    """
    if name not in TOPIC and name in UNREAD:
        return
    try:
        parse(TOPIC, name, text)
    except UsageError as error:
        raise RefusedError("INVALID_CONFIG", str(error)) from None


def config_rows(broker: Configs, own: Mapping[str, str]) -> list[dict[str, Any]]:
    texts = broker.of_topic(own).texts
    return [
        {
            "name": name,
            "value": text,
            "readOnly": False,
            "configSource": OWN if name in own else DEFAULT,
            "isSensitive": False,
        }
        for name, text in texts.items()
    ]


# Topic configs of Kafka's that change nothing here: taken, kept and shown.
UNREAD = frozenset(
    [
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "delete.retention.ms",
        "file.delete.delay.ms",
        "flush.messages",
        "flush.ms",
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "max.compaction.lag.ms",
        "message.format.version",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "min.cleanable.dirty.ratio",
        "min.compaction.lag.ms",
        "preallocate",
        "remote.copy.disable",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "segment.index.bytes",
        "segment.jitter.ms",
        "unclean.leader.election.enable",
    ]
)

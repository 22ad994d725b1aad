"""The topics of a live cluster: they are found or created, and their offsets listed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from kcli.client.cluster import Client
from kcli.counting import counted
from kcli.errors import BrokerError, NetworkError
from kcli.schemas.apikeys import CREATE_TOPICS, LIST_OFFSETS
from kcli.schemas.errors import error_code, error_name, is_retriable
from kcli.schemas.field_codes import Isolation, OffsetTime
from kcli.sessions.fetch_exchange import Key

UNKNOWN_TOPIC, TOPIC_EXISTS = error_code("UNKNOWN_TOPIC_OR_PARTITION"), error_code("TOPIC_ALREADY_EXISTS")
# The node ids of each partition's replicas by topic, the leader first.
Replicas = Mapping[str, Sequence[Sequence[int]]]
# The most partitions to create for a replay, and in one request (Kafka's limit).
MOST_MADE = 100_000
MADE_AT_ONCE = 10_000
# A replay writes old records beside present transaction markers. With these configs the records are not deleted at
# once, and the markers begin no new segments, as a Fetch ends at the end of a segment.
LASTING = {"retention.ms": "-1", "segment.ms": str(2**63 - 1)}


class Bounds(NamedTuple):
    """The offsets of a live partition: the first one, and the one after the last."""

    earliest: int
    latest: int


async def find_topics(
    client: Client,
    sizes: Mapping[str, int],
    create: bool,
    notify: Callable[[str], None],
    replicas: Replicas = MappingProxyType({}),
) -> None:
    """Find topics with enough partitions, or create them. Raises NetworkError if one is missing or has too few.

    replicas: of topics that are created, as in `create_topics`.
    """
    if not sizes:
        return
    await client.refresh(sizes)
    missing = [name for name in sizes if is_missing(client, name)]
    if missing and not create:
        raise NetworkError(
            f"the cluster has no topic {', '.join(missing)} (--topic-map, or without --no-create-topics)"
        )
    if missing:
        await create_topics(client, {name: sizes[name] for name in missing}, replicas)
        for name in missing:
            notify(f"made topic {name} with {counted(sizes[name], 'partition')}: the cluster had none of that name")
    for name in sizes:
        await client.describe_topic(name)
        have = client.metadata.topics[name].partitions
        if have < sizes[name]:
            raise NetworkError(
                f"topic {name} has {counted(have, 'partition')} on the cluster, "
                f"the capture needs {sizes[name]} (--topic-map)"
            )


def batches(sizes: Mapping[str, int]) -> Iterator[Mapping[str, int]]:
    """Split new topics into groups that one request may create. Raises NetworkError if there are too many
    partitions.
    """
    for name, count in sizes.items():
        if count > MADE_AT_ONCE:
            raise NetworkError(
                f"topic {name} can't be made: the capture names partition {count - 1}, "
                f"and at most {counted(MADE_AT_ONCE, 'partition')} are made (--topic-map)"
            )
    if (total := sum(sizes.values())) > MOST_MADE:
        raise NetworkError(f"{counted(total, 'partition')} would have to be made: at most {MOST_MADE:,} are")
    some: dict[str, int] = {}
    for name, count in sizes.items():
        if sum(some.values()) + count > MADE_AT_ONCE:
            yield some
            some = {}
        some[name] = count
    if some:
        yield some


def is_missing(client: Client, name: str) -> bool:
    """Return whether the cluster lacks a topic, by the client's metadata."""
    topic = client.metadata.topics.get(name)
    return topic is None or topic.error == UNKNOWN_TOPIC


async def create_topics(client: Client, sizes: Mapping[str, int], replicas: Replicas = MappingProxyType({})) -> None:
    """Create topics that keep records of any age. Raises NetworkError if they have too many partitions, or the cluster
    refuses one.

    replicas: the node ids of each partition, the leader first, for topics that need them.
    """
    for some in batches(sizes):
        await create_at_once(client, some, replicas)


async def create_at_once(client: Client, sizes: Mapping[str, int], replicas: Replicas) -> None:
    """Create topics by one request to the controller, if it is known, else to any broker, which forwards it.

    Raises BrokerError.
    """
    session = await client.any_session()
    version = session.versions.best(CREATE_TOPICS)
    topics: list[dict[str, Any]] = [
        {
            "name": name,
            "numPartitions": -1 if name in replicas else count,
            # From v4 on -1 is the broker's default.
            "replicationFactor": -1 if version >= 4 or name in replicas else 1,
            "assignments": [
                {"partitionIndex": index, "brokerIds": list(nodes)}
                for index, nodes in enumerate(replicas.get(name, ()))
            ],
            "configs": [{"name": key, "value": value} for key, value in LASTING.items()],
        }
        for name, count in sizes.items()
    ]
    timeout = client.config["request.timeout.ms"]
    node = client.metadata.controller if client.metadata.controller in client.metadata.nodes else None
    answer = await client.call(CREATE_TOPICS, {"topics": topics, "timeoutMs": timeout}, node=node, version=version)
    for each in answer["topics"]:
        if each["errorCode"] not in (0, TOPIC_EXISTS):
            text = each.get("errorMessage") or ""
            reason = f"topic {each['name']} can't be made" + (f": {text}" if text else "")
            raise BrokerError(each["errorCode"], error_name(each["errorCode"]), reason)


async def list_offsets(client: Client, partitions: Iterable[Key]) -> dict[Key, Bounds]:
    """Return the bounds of each partition, by (topic name, index). Raises NetworkError."""
    partitions = list(partitions)

    async def work() -> dict[Key, Bounds]:
        earliest = ask_offsets(client, partitions, OffsetTime.EARLIEST)
        latest = ask_offsets(client, partitions, OffsetTime.LATEST)
        first, last = await asyncio.gather(earliest, latest)
        return {key: Bounds(first[key], last[key]) for key in partitions}

    return await client.retrying(work)


async def ask_offsets(
    client: Client, partitions: Iterable[Key], when: int, isolation: int = Isolation.READ_UNCOMMITTED
) -> dict[Key, int]:
    """Return an offset of each partition: of an OffsetTime, or that of the first record at or after a time (ms), or -1.

    isolation: with READ_COMMITTED, the latest is the last stable offset. Raises NetworkError, BrokerError."""
    by_node: dict[int, dict[str, list[dict[str, int]]]] = {}
    for topic, index in partitions:
        leader = client.known_leader(topic, index)
        by_node.setdefault(leader, {}).setdefault(topic, []).append({"partitionIndex": index, "timestamp": when})
    offsets: dict[Key, int] = {}
    for node, topics in by_node.items():
        listed = [{"name": name, "partitions": parts} for name, parts in topics.items()]
        version = (await client.session(node)).versions.best(LIST_OFFSETS, low=1)
        body = {"replicaId": -1, "isolationLevel": isolation, "topics": listed}
        answer = await client.call(LIST_OFFSETS, body, node=node, version=version)
        await take_offsets(client, answer, offsets)
    return offsets


async def take_offsets(client: Client, answer: Mapping[str, Any], offsets: dict[Key, int]) -> None:
    for topic in answer["topics"]:
        for part in topic["partitions"]:
            code = part["errorCode"]
            if code:
                if is_retriable(code):
                    await client.refresh([topic["name"]])
                where = f"offsets of {topic['name']}[{part['partitionIndex']}]"
                raise BrokerError(code, error_name(code), where)
            offsets[topic["name"], part["partitionIndex"]] = part["offset"]

"""Sends a request to the leader of its partitions, found by metadata, and by hints when it moves (KIP-951)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from kcli.client.cluster import Client
from kcli.client.metadata import MOVED
from kcli.errors import UsageError
from kcli.schemas.apikeys import FETCH, LIST_OFFSETS, PRODUCE

# Api key -> where its request and its response list topics, their partitions, and a partition's index.
REQUESTS = {
    PRODUCE: ("topicData", "partitionData", "index"),
    FETCH: ("topics", "partitions", "partition"),
    LIST_OFFSETS: ("topics", "partitions", "partitionIndex"),
}
RESPONSES = {
    PRODUCE: ("responses", "partitionResponses", "index"),
    FETCH: ("responses", "partitions", "partitionIndex"),
    LIST_OFFSETS: ("topics", "partitions", "partitionIndex"),
}
TRIES = 10

SendToNode = Callable[[int], Awaitable[Mapping[str, Any] | None]]


def partitions_of(api_key: int, body: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (topic's name or id, partition) of each partition a request names. Raises UsageError if the API names
    none.
    """
    if api_key not in REQUESTS:
        raise UsageError("--to-leader is for Produce, Fetch and ListOffsets: other requests have no leader")
    return [(topic, part[key]) for topic, part, key in entries(body, *REQUESTS[api_key])]


def entries(
    body: Mapping[str, Any], topics: str, partitions: str, key: str
) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    for topic in body.get(topics) or ():
        name = topic.get("topicId") or topic.get("name") or topic.get("topic")
        for part in topic.get(partitions) or ():
            yield str(name), part, key


def moved_partitions(api_key: int, response: Mapping[str, Any]) -> list[tuple[str, int, Mapping[str, Any]]]:
    """Return (topic's name or id, partition, hint) of each partition that the broker does not lead."""
    return [
        (topic, part[key], part.get("currentLeader") or {})
        for topic, part, key in entries(response, *RESPONSES[api_key])
        if part.get("errorCode") in MOVED
    ]


async def ask_leader(client: Client, api_key: int, body: Mapping[str, Any], send_to: SendToNode) -> None:
    """Call send_to(node) with the leader of the request's partitions; again when the leader has moved, up to TRIES
    times.

    `send_to` returns the response's body, or None. A newer leader in the response is used at once; else metadata is
    refreshed after a backoff. Raises UsageError if the API has no leader, a partition does not exist, or the partitions
    have more than one leader.
    """
    wanted = partitions_of(api_key, body)
    if any(topic not in client.metadata.topics for topic, _ in wanted):
        await client.refresh(None)
    for number in range(1, TRIES + 1):
        response = await send_to(await find_leader(client, wanted))
        moved = moved_partitions(api_key, response) if response is not None else []
        if not moved or number == TRIES:
            return
        endpoints = (response or {}).get("nodeEndpoints") or ()
        names = client.metadata.names
        is_newer = [
            client.metadata.take_hint(names.get(topic, topic), index, hint, endpoints) for topic, index, hint in moved
        ]
        if not all(is_newer):
            await asyncio.sleep(client.retry.delay(number))
            await client.refresh({names.get(topic, topic) for topic, _, _ in moved})


async def find_leader(client: Client, wanted: list[tuple[str, int]]) -> int:
    leaders: dict[int, str] = {}
    for topic, index in wanted:
        name = client.metadata.names.get(topic, topic)
        if client.leader(name, index) is None:
            await client.describe_topic(name)
        leader = client.leader(name, index)
        if leader is None:
            raise UsageError(f"--to-leader: topic {name} has no partition {index}")
        leaders.setdefault(leader.node, f"{name}[{index}]")
    if len(leaders) != 1:
        named = ", ".join(f"{node} of {partition}" for node, partition in sorted(leaders.items()))
        raise UsageError(f"--to-leader: one leader for all partitions expected, not {named or 'no partition at all'}")
    return next(iter(leaders))

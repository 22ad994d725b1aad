"""Moving the leaders of a topic's partitions, and what a capture tells of the clients that followed."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kcli.client.cluster import Client

__all__ = ["make_topic", "move_leaders", "replicas", "waits_in", "waits_of"]

ALTER_REASSIGNMENTS, ELECT_LEADERS, CREATE_TOPICS = 45, 43, 19
NODES = (1, 2, 3)
MOVED = (6, 74)  # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH


def replicas(partition: int, turn: int) -> list[int]:
    return [NODES[(partition + turn + at) % len(NODES)] for at in range(len(NODES))]


async def make_topic(client: Client, topic: str, partitions: int) -> None:
    """On three nodes, leaders going round."""
    assignments = [{"partitionIndex": at, "brokerIds": replicas(at, 0)} for at in range(partitions)]
    made = {"name": topic, "numPartitions": -1, "replicationFactor": -1, "assignments": assignments, "configs": []}
    answer = await client.call(CREATE_TOPICS, {"topics": [made], "timeoutMs": 30_000})
    assert answer["topics"][0]["errorCode"] == 0, answer
    await client.describe_topic(topic)


async def move_leaders(client: Client, topic: str, turn: int, partitions: int = 100) -> None:
    """The same replicas in another order, so that no data moves; then the first of each leads."""
    parts = [{"partitionIndex": at, "replicas": replicas(at, turn)} for at in range(partitions)]
    body = {"timeoutMs": 30_000, "topics": [{"name": topic, "partitions": parts}]}
    answer = await client.call(ALTER_REASSIGNMENTS, body)
    assert answer["errorCode"] == 0, answer
    elected = [{"topic": topic, "partitions": list(range(partitions))}]
    answer = await client.call(ELECT_LEADERS, {"electionType": 0, "topicPartitions": elected, "timeoutMs": 30_000})
    assert answer["errorCode"] == 0, answer


class Step(NamedTuple):
    """A Produce request that left (codes None), or an answer that came; at in ms."""

    at: float
    broker: str
    partition: int
    code: int | None


def waits_in(capture: Path) -> list[float]:
    """What each partition that a leader refused waited for, in ms, in a capture of a producer; rising."""
    return waits_of(sorted(steps(capture), key=lambda each: each.at))


def waits_of(ordered: Iterable[Step]) -> list[float]:
    """From a refusal, once nothing else of the partition was under way any more, to the first request that takes it to
    another broker."""
    refused: dict[int, str] = {}
    since: dict[int, float] = {}
    under_way: dict[int, int] = defaultdict(int)
    waits = []
    for at, broker, partition, code in ordered:
        if code is None:
            under_way[partition] += 1
            if partition in since and broker != refused[partition]:
                waits.append(at - since.pop(partition))
                del refused[partition]
            continue
        under_way[partition] -= 1
        if code in MOVED:
            refused.setdefault(partition, broker)
        if partition in refused and not under_way[partition]:
            since.setdefault(partition, at)
    return sorted(waits)


def steps(capture: Path) -> Iterator[Step]:
    command = [sys.executable, "-m", "kcli.cli", "decode", "pcap", str(capture), "--api", "Produce"]
    done = subprocess.run([*command, "--format", "jsonl", "--quiet"], stdout=subprocess.PIPE, check=False)
    start = None
    for line in done.stdout.splitlines():
        row = json.loads(line)
        if "request" not in row or row["response"] is None:
            continue
        at = milliseconds(row["timestamp"])
        start = at if start is None else start
        broker = row["connection"].partition("-")[0]
        for part in parts(row["request"]["topicData"], "partitionData"):
            yield Step(at - start, broker, part["index"], None)
        for part in parts(row["response"]["responses"], "partitionResponses"):
            yield Step(at - start + row["latencyMs"], broker, part["index"], part["errorCode"])


def parts(topics: list[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    for topic in topics:
        yield from topic[name]


def milliseconds(timestamp: str) -> float:
    """Of an ISO time, within its day."""
    hours, minutes, seconds = timestamp.partition("T")[2].rstrip("Z").split(":")
    return ((int(hours) * 60 + int(minutes)) * 60 + float(seconds)) * 1000

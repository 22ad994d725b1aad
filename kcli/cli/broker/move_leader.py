"""`kcli broker move-leader`: other leaders for partitions, on an embedded cluster or a real one."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import click

from kcli.cli.options.client import client_options, configure
from kcli.cli.options.duration import Duration
from kcli.cli.options.inputs import quiet_option
from kcli.cli.terminal.lines import print_line
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import BrokerError, NetworkError, UsageError
from kcli.schemas.apikeys import ALTER_PARTITION_REASSIGNMENTS, ELECT_LEADERS, LIST_PARTITION_REASSIGNMENTS, METADATA
from kcli.schemas.errors import error_code, error_name

ELECTION_NOT_NEEDED = error_code("ELECTION_NOT_NEEDED")
SETTLE_SECONDS = 0.1


class PartitionReplicas(NamedTuple):
    """A partition: its leader and its replicas, in order of preference."""

    topic: str
    number: int
    leader: int
    replicas: tuple[int, ...]


@click.command("move-leader")
@click.argument("partitions", nargs=-1, required=True, metavar="TOPIC[:PARTITION]...")
@client_options
@click.option(
    "--to",
    "target",
    type=int,
    metavar="NODE",
    help="Node that becomes the leader; by default the next replica of each partition.",
)
@click.option(
    "--timeout",
    type=Duration(0),
    default="60s",
    show_default=True,
    metavar="TIME",
    help="Longest wait for the new leaders.",
)
@quiet_option("Print nothing.")
def move_leader(
    partitions: tuple[str, ...],
    bootstrap: str | None,
    settings: tuple[str, ...],
    target: int | None,
    timeout: float,
    quiet: bool,
) -> None:
    """Move the leaders of partitions (one, or all of a topic) to other nodes, and wait until these lead.

    kcli reorders the replicas (AlterPartitionReassignments), then has the first of them elected (ElectLeaders). A node
    without a replica gets one.

    \b
    kcli broker move-leader orders:3 --to 2 --bootstrap localhost:9092
    """
    config = configure(bootstrap, settings, quiet=quiet)
    wanted = [parse(each) for each in partitions]
    try:
        moved = asyncio.run(asyncio.wait_for(move(config, wanted, target), timeout))
    except TimeoutError:
        raise NetworkError(f"the leaders have not moved within {timeout:g} s (--timeout)") from None
    if not quiet:
        for before, after in moved:
            print_line(f"{before.topic}[{before.number}] leader {before.leader} -> {after}")


def parse(text: str) -> tuple[str, int | None]:
    topic, colon, index = text.partition(":")
    if not topic or (colon and not index.isdecimal()):
        raise UsageError(f"{text}: TOPIC or TOPIC:PARTITION expected")
    return topic, int(index) if colon else None


async def move(
    config: ClientConfig, wanted: Iterable[tuple[str, int | None]], target: int | None
) -> list[tuple[PartitionReplicas, int]]:
    """Move the leaders of partitions. Returns each partition with the node that leads it now. Raises NetworkError,
    BrokerError, UsageError.
    """
    async with Client(config) as client:
        places = await find(client, wanted)
        plan = [(place, order_of(place, target)) for place in places]
        moves = [(place, order) for place, order in plan if order[0] != place.leader]
        await reassign(client, moves)
        await elect(client, [place for place, _ in moves])
        return [(place, order[0]) for place, order in moves]


async def find(client: Client, wanted: Iterable[tuple[str, int | None]]) -> list[PartitionReplicas]:
    requested = list(wanted)
    names = dict.fromkeys(topic for topic, _ in requested)
    body = {"topics": [{"name": name} for name in names], "allowAutoTopicCreation": False}
    known: dict[str, dict[int, PartitionReplicas]] = {}
    for topic in (await client.call(METADATA, body, high=9))["topics"]:
        check(topic["errorCode"], f"topic {topic['name']}")
        rows = topic["partitions"]
        known[topic["name"]] = {
            row["partitionIndex"]: PartitionReplicas(
                topic["name"], row["partitionIndex"], row["leaderId"], tuple(row["replicaNodes"])
            )
            for row in rows
        }
    for topic, index in requested:
        if index is not None and index not in known[topic]:
            raise UsageError(f"{topic}:{index}: the topic has {counted(len(known[topic]), 'partition')}")
    found = (known[topic].values() if index is None else (known[topic][index],) for topic, index in requested)
    return list(dict.fromkeys(place for places in found for place in places))


def order_of(place: PartitionReplicas, target: int | None) -> list[int]:
    """Return the replicas with the new leader in front. Raises UsageError."""
    if target is None:
        others = [node for node in place.replicas if node != place.leader]
        if not others:
            raise UsageError(f"{place.topic}[{place.number}] has no other replica: --to NODE gives it one")
        target = others[0]
    if target in place.replicas:
        return [target, *(node for node in place.replicas if node != target)]
    # As many copies as before: the new leader's in the place of the old one's.
    return [target, *(node for node in place.replicas if node != place.leader)]


async def reassign(client: Client, moves: list[tuple[PartitionReplicas, list[int]]]) -> None:
    if not moves:
        return
    topics: dict[str, list[dict[str, Any]]] = {}
    for place, order in moves:
        topics.setdefault(place.topic, []).append({"partitionIndex": place.number, "replicas": order})
    body = {"topics": [{"name": name, "partitions": rows} for name, rows in topics.items()], "timeoutMs": 30_000}
    answer = await client.call(ALTER_PARTITION_REASSIGNMENTS, body)
    check(answer["errorCode"], "the reassignment")
    for topic in answer["responses"]:
        for row in topic["partitions"]:
            check(row["errorCode"], f"{topic['name']}[{row['partitionIndex']}]", row["errorMessage"])
    while (await client.call(LIST_PARTITION_REASSIGNMENTS, {"timeoutMs": 30_000, "topics": None}))["topics"]:
        await asyncio.sleep(SETTLE_SECONDS)


async def elect(client: Client, places: list[PartitionReplicas]) -> None:
    """Elect the first replica of each partition as its leader. Repeats while a new replica is not in sync."""
    if not places:
        return
    topics: dict[str, list[int]] = {}
    for place in places:
        topics.setdefault(place.topic, []).append(place.number)
    rows = [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]

    async def work() -> None:
        answer = await client.call(ELECT_LEADERS, {"electionType": 0, "topicPartitions": rows, "timeoutMs": 30_000})
        check(answer.get("errorCode", 0), "the election")
        for name, row in results(answer):
            if row["errorCode"] != ELECTION_NOT_NEEDED:
                check(row["errorCode"], f"{name}[{row['partitionId']}]", row["errorMessage"])

    await client.retrying(work)


def results(answer: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for each in answer["replicaElectionResults"]:
        for row in each["partitionResult"]:
            yield each["topic"], row


def check(code: int, action: str, message: str | None = None) -> None:
    if code:
        raise BrokerError(code, error_name(code), f"{action}: {message}" if message else action)

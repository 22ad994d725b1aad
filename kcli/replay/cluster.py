"""The live cluster before a run: its topics found or made, coordinators ready, and where each connection leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.client.replay.target import find_topics, list_offsets
from kcli.errors import NetworkError
from kcli.replay.survey import Route, SeenTopic, Survey
from kcli.replay.topics import LiveTopics
from kcli.schemas.apikeys import FIND_COORDINATOR
from kcli.sessions.comparison import shown
from kcli.topic_names import CLUSTER_METADATA, INTERNAL, name_fault

__all__ = ["Destinations", "live_sizes", "prepare"]

READY_SECONDS = 30.0  # for a cluster's first coordinator, whose topic has to be made
PAUSE = 0.1
NOT_READY = (14, 15)  # COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE


@dataclass
class Destinations:
    """Where captured connections lead: to the coordinator or leader of what they are for, else by the broker's rank."""

    client: Client
    topics: LiveTopics
    survey: Survey
    coordinators: Mapping[tuple[int, str], Address]

    def nodes(self) -> dict[int, int]:
        """Live ids of brokers by captured id, by rank."""
        live = sorted(self.client.metadata.nodes)
        if not live:
            return {}
        return {captured: live[rank % len(live)] for rank, captured in enumerate(sorted(self.survey.nodes))}

    def address(self, connection: str, server: str, suffix: str) -> Address:
        """The live broker for a captured connection of the clients with that suffix."""
        nodes = [self.client.metadata.nodes[node] for node in sorted(self.client.metadata.nodes)] or list(
            self.client.bootstrap
        )
        if len(nodes) == 1:
            return nodes[0]
        route = self.survey.routes.get(connection)
        found = None if route is None else self.routed(route, suffix)
        if found is not None:
            return found
        servers = sorted(self.survey.servers)
        return nodes[servers.index(server) % len(nodes) if server in servers else 0]

    async def find_ids(self) -> None:
        """Take in the ids of topics that were made since. NetworkError."""
        await self.client.refresh(None)
        for name, topic in self.client.metadata.topics.items():
            self.topics.put(name, topic.id or "")

    def routed(self, route: Route, suffix: str) -> Address | None:
        """Where a coordinator or a leader is now; None: nowhere that is known."""
        if route.kind >= 0:
            return self.coordinators.get((route.kind, route.name + suffix))
        name = self.topics.live_name(self.topics.captured_name(route.name))
        leader = self.client.leader(name, route.partition)
        return None if leader is None else self.client.metadata.nodes.get(leader.node)


def live_sizes(survey: Survey, mapping: Mapping[str, str]) -> dict[str, int]:
    """How many partitions the live topics must have that are there before the run, by name."""
    sizes: dict[str, int] = {}
    for captured, seen in survey.needed().items():
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        if captured not in (*INTERNAL, CLUSTER_METADATA) and not is_left(seen) and not name_fault(name):
            sizes[name] = max(sizes.get(name, 0), seen.partitions)
    return sizes


async def prepare(
    client: Client,
    survey: Survey,
    mapping: Mapping[str, str],
    *,
    suffixes: Sequence[str],
    create: bool,
    notify: Callable[[str], None],
) -> tuple[LiveTopics, Destinations]:
    """Find or make what the captures' requests need. suffixes: of clients, behind their groups and transactions.


    NetworkError: a topic is not there, or has too few partitions.
    """
    topics = LiveTopics(survey.names, mapping)
    sizes = live_sizes(survey, mapping)
    await client.refresh([])
    await find_topics(client, sizes, create, notify)
    for name, topic in client.metadata.topics.items():
        topics.put(name, topic.id or "")
    await note_lacking(client, survey, topics, notify)
    coordinators: dict[tuple[int, str], Address] = {}
    for kind, key in sorted((kind, key + suffix) for kind, key in survey.coordinated for suffix in suffixes):
        address = await coordinator(client, kind, key)
        if address is not None:
            coordinators[kind, key] = address
    return topics, Destinations(client, topics, survey, coordinators)


async def note_lacking(client: Client, survey: Survey, topics: LiveTopics, notify: Callable[[str], None]) -> None:
    """Say once where fetches of the captures found records that the cluster does not have. NetworkError."""
    wanted = {
        (topics.live_name(name), index): seen.read[index]
        for name, seen in survey.needed().items()
        for index in seen.presumed
        if client.leader(topics.live_name(name), index) is not None
    }
    bounds = await list_offsets(client, wanted)
    lacking = [f"{name}[{index}]" for (name, index), offset in wanted.items() if bounds[name, index].latest <= offset]
    if lacking:
        notify(f"the cluster lacks records that the capture's fetches found, in {shown(lacking)} (--fill writes them)")


def is_left(seen: SeenTopic) -> bool:
    """Whether the replay itself makes a topic: by CreateTopics, or as a broker does for a client that asks for it."""
    return seen.is_late and (seen.is_made or seen.partitions == 1)


async def coordinator(client: Client, kind: int, key: str) -> Address | None:
    """Where a group or transaction is coordinated; None: nowhere. It waits for a cluster that has to make ready."""
    loop = asyncio.get_running_loop()
    until = loop.time() + READY_SECONDS
    while True:
        try:
            body = {"key": key, "keyType": kind, "coordinatorKeys": [key]}
            answer = await client.call(FIND_COORDINATOR, body)
        except NetworkError:
            return None
        found = (answer.get("coordinators") or [answer])[0]
        if not found["errorCode"]:
            return Address(found["host"], found["port"])
        if found["errorCode"] not in NOT_READY or loop.time() > until:
            return None
        await asyncio.sleep(PAUSE)

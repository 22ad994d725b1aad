"""The live cluster before a run: its topics found or made, coordinators ready, and where each connection leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.client.replay.target import Replicas, find_topics, list_offsets
from kcli.errors import NetworkError
from kcli.replay.survey import Route, SeenTopic, Survey
from kcli.replay.topics import LiveTopics
from kcli.schemas.apikeys import FIND_COORDINATOR
from kcli.sessions.comparison import shown
from kcli.topic_names import CLUSTER_METADATA, INTERNAL, name_fault

__all__ = ["Destinations", "live_replicas", "live_sizes", "prepare"]

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
        return by_rank(self.survey, self.client)

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


def by_rank(survey: Survey, client: Client) -> dict[int, int]:
    """Live ids of brokers by captured id: the lowest for the lowest."""
    live = sorted(client.metadata.nodes)
    return {captured: live[rank % len(live)] for rank, captured in enumerate(sorted(survey.nodes)) if live}


def live_replicas(survey: Survey, mapping: Mapping[str, str], client: Client) -> Replicas:
    """The nodes of partitions in topics that are made, so that the leaders are those of the capture; {}: one node."""
    nodes, live = by_rank(survey, client), sorted(client.metadata.nodes)
    if len(live) < 2:
        return {}
    by_address = {address: node for node, address in survey.nodes.items()}
    made: dict[str, list[list[int]]] = {}
    for captured, seen in survey.needed().items():
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        made[name] = []
        for index in range(seen.partitions):
            known = seen.replicas.get(index) or [by_address.get(seen.servers.get(index, ""), -1)]
            there = dict.fromkeys(nodes[each] for each in known if each in nodes)
            made[name].append(list(there) or [live[index % len(live)]])
    return made


def live_sizes(survey: Survey, mapping: Mapping[str, str], client: Client) -> dict[str, int]:
    """How many partitions the live topics must have that are there before the run, by name."""
    sizes: dict[str, int] = {}
    alone = len(client.metadata.nodes) < 2
    for captured, seen in survey.needed().items():
        name = mapping.get(captured) or survey.names.live_name(captured, mapping)
        if captured not in (*INTERNAL, CLUSTER_METADATA) and not is_left(seen, alone) and not name_fault(name):
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
    await client.refresh([])
    sizes = live_sizes(survey, mapping, client)
    await find_topics(client, sizes, create, notify, live_replicas(survey, mapping, client))
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


def is_left(seen: SeenTopic, alone: bool) -> bool:
    """Whether the replay itself makes a topic: by CreateTopics, or as a broker does for a client that asks for it.

    alone: there is one broker; of several any might lead what is made for a client.
    """
    return seen.is_late and (seen.is_made or (alone and seen.partitions == 1))


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

"""The live broker for each captured request: a coordinator, or a leader."""

import asyncio
from collections import Counter
from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.client.address import Address
from kcli.client.cluster import Client
from kcli.errors import NetworkError
from kcli.replay.topic_mapping import LiveTopics
from kcli.replay.traffic.survey import ConnectionPurpose, Survey, coordinator_keys, names_of, topic_text
from kcli.schemas.apikeys import FIND_COORDINATOR
from kcli.schemas.errors import error_code

READY_SECONDS = 30.0  # for a cluster's first coordinator, whose topic has to be created
RETRIES, PAUSE = 50, 0.1  # of a request that the cluster is not ready for; seconds
NOT_READY = (error_code("COORDINATOR_LOAD_IN_PROGRESS"), error_code("COORDINATOR_NOT_AVAILABLE"))
# Errors of a broker that is not the right one for a request, or no longer.
MOVED = frozenset(["NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"])


@dataclass
class Destinations:
    """The live brokers for the requests of all clients.

    A request that names nothing goes where its connection goes: to the coordinator or leader for its first request,
    else to the broker with the captured one's rank.

    coordinators: {(keyType of FindCoordinator, live key): address}; replicas: from `live_replicas`
    """

    client: Client
    topics: LiveTopics
    survey: Survey
    coordinators: MutableMapping[tuple[int, str], Address]
    replicas: Mapping[str, Sequence[Sequence[int]]]
    dialect: str | None = None

    def nodes(self) -> dict[int, int]:
        """Return {captured broker id: live broker id}, by rank."""
        return by_rank(self.survey, self.client)

    def address(self, exchange: Exchange, suffix: str) -> Address:
        """Return the live broker for a captured request. suffix: of the client's groups and transactions."""
        known = self.client.metadata.nodes
        nodes = [known[node] for node in sorted(known)] or list(self.client.bootstrap)
        if len(nodes) == 1:
            return nodes[0]
        found = self.of_request(exchange, suffix)
        if found is None and (route := self.survey.routes.get(exchange.connection)) is not None:
            found = self.routed(route, suffix)
        if found is not None:
            return found
        servers, server = sorted(self.survey.servers), exchange.link.server
        return nodes[servers.index(server) % len(nodes) if server in servers else 0]

    def of_request(self, exchange: Exchange, suffix: str) -> Address | None:
        """Return the coordinator of a request's group or transaction, or the leader of most of its partitions; None if
        it is not known.
        """
        named = names_of(exchange, self.dialect)
        if exchange.api_key != FIND_COORDINATOR:
            for key in coordinator_keys(exchange.api_key, exchange.request, named):
                return self.routed(ConnectionPurpose(*key), suffix)
        routes = (
            ConnectionPurpose(-1, topic_text(topic), index) for topic, index in named.partitions if index is not None
        )
        leaders = Counter(found for each in routes if (found := self.routed(each, suffix)) is not None)
        return max(leaders, key=leaders.__getitem__, default=None)

    def routed(self, route: ConnectionPurpose, suffix: str) -> Address | None:
        """Return the current address of a coordinator or a leader; None if it is not known."""
        if route.kind >= 0:
            return self.coordinators.get((route.kind, route.name + suffix))
        name = self.topics.live_name(self.topics.captured_name(route.name))
        leader = self.client.leader(name, route.partition)
        return None if leader is None else self.client.metadata.nodes.get(leader.node)

    async def find_ids(self) -> None:
        """Update the ids and the leaders of topics, including new topics. Raises NetworkError."""
        await self.client.refresh(None)
        for name, topic in self.client.metadata.topics.items():
            self.topics.put(name, topic.id or "")

    async def find_again(self, exchange: Exchange, suffix: str) -> None:
        """Update the brokers of the topics and groups in a request. Raises NetworkError."""
        await self.find_ids()
        named = names_of(exchange, self.dialect)
        for kind, key in coordinator_keys(exchange.api_key, exchange.request, named):
            address = await coordinator(self.client, kind, key + suffix)
            if address is not None:
                self.coordinators[kind, key + suffix] = address

    def placed(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Copy a live CreateTopics request, with partitions led by the brokers to which the captured connections
        lead.
        """
        return {**request, "topics": [self.assigned(each) for each in request["topics"]]}

    def assigned(self, topic: Mapping[str, Any]) -> dict[str, Any]:
        """Return a topic to create with its replicas, if the request leaves these to the cluster."""
        count, factor = topic["numPartitions"], topic["replicationFactor"]
        wanted = self.replicas.get(topic["name"], ())
        live = sorted(self.client.metadata.nodes)
        if topic["assignments"] or not 0 < len(wanted) <= count or not 0 < factor <= len(live):
            return dict(topic)
        made = []
        for index in range(count):
            first = wanted[index] if index < len(wanted) else [live[index % len(live)]]
            nodes = list(dict.fromkeys([*first, *live[index % len(live) :], *live]))[:factor]
            made.append({"partitionIndex": index, "brokerIds": nodes})
        return {**topic, "numPartitions": -1, "replicationFactor": -1, "assignments": made}


def by_rank(survey: Survey, client: Client) -> dict[int, int]:
    """Return {captured broker id: live broker id}, the lowest for the lowest."""
    live = sorted(client.metadata.nodes)
    return {captured: live[rank % len(live)] for rank, captured in enumerate(sorted(survey.nodes)) if live}


async def coordinator(client: Client, kind: int, key: str) -> Address | None:
    """Return the address of a group's or transaction's coordinator, None if there is none. Waits up to READY_SECONDS
    for a cluster that is not ready.
    """
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

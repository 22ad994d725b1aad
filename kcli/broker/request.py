"""A decoded request, and the protocols of all that its handler can reach."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kcli.broker.api_version import ApiVersion
from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.fetch.purgatory import CapturedMoment, Purgatory
from kcli.broker.metadata.controller import Controller
from kcli.broker.metadata.coordinators import Coordinators
from kcli.broker.metadata.log import MetadataLog
from kcli.broker.metadata.replicas import Replicas
from kcli.broker.metadata.topics import Topics
from kcli.broker.net.protocols import ListenerOptions
from kcli.broker.response import Outcome
from kcli.broker.security.acls import CLUSTER_NAME
from kcli.broker.security.login import Login
from kcli.broker.security.needs import DENIED, operation_of
from kcli.broker.security.security import Security
from kcli.broker.share.sessions import ShareSessions
from kcli.schemas.acl_codes import Operation, Resource
from kcli.topic_names import INDEX_FIELDS

if TYPE_CHECKING:
    from kcli.broker.control.client_request import ClientRequest
    from kcli.broker.groups.coordinator import Groups
    from kcli.broker.transactions.coordinator import Transactions
    from kcli.sessions.broker import BrokerSessions
    from kcli.sessions.draft import DraftBroker


class Client(Protocol):
    """The sender of a request. dialect: the one both sides agreed on; software: the client's name and version.
    listener: the one that it connected to. login: None on listeners without SASL.
    """

    dialect: str | None
    software: tuple[str, str]
    listener: str
    login: Login | None
    half_closed: asyncio.Event

    @property
    def name(self) -> str:
        """Return the client as "address:port"."""

    @property
    def host(self) -> str:
        """The client's address."""

    @property
    def principal(self) -> str:
        """Return the client's principal ("User:alice")."""

    @property
    def local_host(self) -> str:
        """The address by which the client reached this broker."""

    def mute(self, seconds: float) -> None:
        """Answer this client's next requests only after so many seconds."""

    def on_half_closed(self, woken: asyncio.Event) -> None:
        """Set this event, too, when the client ends its side."""


class Node(Protocol):
    """The broker node that serves a request: its fetch sessions, and the fetches that wait in it."""

    @property
    def id(self) -> int:
        """Its node.id."""

    @property
    def sessions(self) -> BrokerSessions:
        """Its fetch sessions (KIP-227)."""

    @property
    def drafts(self) -> DraftBroker:
        """Its fetch sessions of the KIP's third draft."""

    @property
    def purgatory(self) -> Purgatory:
        """The fetches that wait for records."""

    @property
    def share_sessions(self) -> ShareSessions:
        """Return the node's share sessions (KIP-932)."""

    @property
    def listeners(self) -> Mapping[str, ListenerOptions]:
        """Return where it listens, by the listener's name."""

    @property
    def log_levels(self) -> dict[str, str]:
        """Return the levels of its loggers, by name."""

    def set_log_levels(self, levels: Mapping[str, str | None]) -> None:
        """Set the levels of loggers; None: that of the root."""

    def evict_sessions(self) -> int:
        """Evict every fetch session; returns how many there were."""


class FaultRules(Protocol):
    """Rules that make requests fail (`faults`)."""

    @property
    def rules(self) -> Sequence[object]:
        """The rules, empty when no fault is wanted."""

    def error(self, request: Request, topic: str, partition: int, among: frozenset[int] | None) -> int:
        """Return the error code of the first rule that fires, 0 for none."""


class AnswerRules(Protocol):
    """Rules that answer requests (`answers`)."""

    def __hash__(self) -> int: ...

    @property
    def apis(self) -> frozenset[int]:
        """The keys of the APIs that rules answer."""

    def before(self, api_key: int, version: int, handle: Handler) -> Handler:
        """Return a handler that looks for a rule, and lets `handle` answer where there is none."""


class Services(Protocol):
    """The services of a broker to the handlers of all its nodes."""

    @property
    def configs(self) -> Configs:
        """The broker's configs."""

    @property
    def clock(self) -> Clock:
        """Return the broker's clock."""

    @property
    def topics(self) -> Topics:
        """Topics, partitions and their logs."""

    @property
    def replicas(self) -> Replicas:
        """Notifies waiting fetches."""

    @property
    def controller(self) -> Controller:
        """Makes changes to the cluster."""

    @property
    def groups(self) -> Groups:
        """The consumer groups."""

    @property
    def transactions(self) -> Transactions:
        """The transactions."""

    @property
    def coordinators(self) -> Coordinators:
        """Return the nodes that coordinate groups and transactions."""

    @property
    def metadata(self) -> MetadataLog:
        """The metadata log."""

    @property
    def security(self) -> Security:
        """Return who may do what."""

    @property
    def faults(self) -> FaultRules:
        """The fault rules."""

    @property
    def answers(self) -> AnswerRules | None:
        """The rules that answer requests, if there are any."""

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""

    @property
    def dialect(self) -> str | None:
        """The dialect spoken with clients that speak it too."""

    @property
    def release(self) -> str | None:
        """The Kafka release whose versions are served; None: all."""

    @property
    def hints(self) -> bool:
        """Return whether errors name the current leader (KIP-951)."""

    @property
    def session_shards(self) -> int:
        """The number of shards of a node's session cache."""

    def now(self) -> int:
        """Return ms since 1970."""

    def note(self, text: str) -> None:
        """Write a line to the broker's log."""

    def mention(self, text: str) -> None:
        """Write a line to the broker's log, the first time only."""

    def endpoints(self, reached: str, listener: str) -> list[dict[str, Any]]:
        """Return the nodes' addresses for a client that reached the broker by this host and listener."""

    def fetch_gate(self) -> Awaitable[CapturedMoment] | None:
        """Return the event that a fetch must wait for before it reads; None without any."""


class Request:
    """One request. body: as MessageCodec.read returns it; api: its API in its version, with the codecs. kept: its entry
    in the journal, None without a journal.
    """

    __slots__ = ("api", "body", "client", "client_id", "correlation_id", "kept", "node", "services", "version")

    def __init__(
        self,
        api: ApiVersion,
        body: dict[str, Any],
        correlation_id: int,
        client_id: str | None,
        client: Client,
        node: Node,
        services: Services,
    ) -> None:
        self.api, self.body, self.correlation_id, self.client_id = api, body, correlation_id, client_id or ""
        self.version = api.version
        self.kept: ClientRequest | None = None
        self.client, self.node, self.services = client, node, services

    @property
    def topics(self) -> Topics:
        """The broker's topics."""
        return self.services.topics

    @property
    def configs(self) -> Configs:
        """The broker's configs."""
        return self.services.configs

    @property
    def groups(self) -> Groups:
        """The broker's consumer groups."""
        return self.services.groups

    @property
    def transactions(self) -> Transactions:
        """The broker's transactions."""
        return self.services.transactions

    @property
    def controller(self) -> Controller:
        """Creates, changes and deletes topics, and moves leaders."""
        return self.services.controller

    @property
    def replicas(self) -> Replicas:
        """Notifies waiting fetches of writes."""
        return self.services.replicas

    @property
    def metadata(self) -> MetadataLog:
        """The cluster's metadata log."""
        return self.services.metadata

    def now(self) -> int:
        """Return ms since 1970, by the broker's clock."""
        return self.services.now()

    def endpoints(self) -> list[dict[str, Any]]:
        """Return the nodes of the cluster, at addresses that this client can reach."""
        return self.services.endpoints(self.client.local_host, self.client.listener)

    def fault(self, topic: str = "", partition: int = -1, among: frozenset[int] | None = None) -> int:
        """Return the error code for the whole request, or for a partition in it: of a fault rule, or because the client
        may not do that; 0: none.

        among: consider only these codes.
        """
        faults = self.services.faults
        code = faults.error(self, topic, partition, among) if faults.rules else 0
        return code or (self.denial(Resource.TOPIC, topic) if topic else self.denial(Resource.CLUSTER, CLUSTER_NAME))

    def group_refusal(self, group_id: str) -> int:
        """Return the error code where the client may not use a group, or this node does not coordinate it; 0: none."""
        code = self.denial(Resource.GROUP, group_id)
        return code or self.services.coordinators.group_refusal(self.node.id, group_id)

    def denial_of_group(self, group_id: str | None) -> int:
        """Return the error code where the client may not use a group; 0: it may."""
        return self.denial(Resource.GROUP, group_id) if group_id else 0

    def transaction_refusal(self, name: str) -> int:
        """Return the error code where the client may not use a transactional id, or this node does not coordinate it;
        0: none.
        """
        code = self.denial(Resource.TRANSACTIONAL_ID, name)
        return code or self.services.coordinators.transaction_refusal(self.node.id, name)

    def denial(self, kind: Resource, name: str) -> int:
        """Return the error code if the client lacks the API's permission for a resource; 0: it has it."""
        if self.services.security.authorizer is None:
            return 0
        operation = operation_of(self.api.key, kind)
        return 0 if operation is None or self.may(operation, kind, name) else DENIED[kind]

    def may(self, operation: Operation, kind: Resource = Resource.CLUSTER, name: str = CLUSTER_NAME) -> bool:
        """Return whether the client may do something, by default with the cluster."""
        authorizer = self.services.security.authorizer
        return authorizer is None or authorizer.allows(self.client.principal, self.client.host, operation, kind, name)

    def may_with_any(self, operation: Operation, kind: Resource) -> bool:
        """Return whether the client may do something with some resource of a type."""
        authorizer = self.services.security.authorizer
        who = self.client.principal, self.client.host
        return authorizer is None or authorizer.allows_any(*who, operation, kind)

    def topic_names_asked(self) -> list[str]:
        """Return the names of the topics that the request names, each once."""
        rows = (*(self.body.get("topics") or ()), *(self.body.get("topicData") or ()))
        found = (each for each in rows if isinstance(each, dict))
        names = (each.get("name") or each.get("topic") or self.topic_name(each.get("topicId")) for each in found)
        return list(dict.fromkeys(name for name in names if name))

    def places(self) -> Iterator[tuple[str, int]]:
        """Yield the (topic, partition) pairs that the request names; partition -1: the topic as a whole."""
        for topic in (*(self.body.get("topics") or ()), *(self.body.get("topicData") or ())):
            if not isinstance(topic, dict):
                continue
            name = topic.get("name") or topic.get("topic") or self.topic_name(topic.get("topicId"))
            parts = topic.get("partitions") or topic.get("partitionData") or topic.get("partitionIndexes") or ()
            if not parts:
                yield name, -1
            for each in parts:
                yield name, each if isinstance(each, int) else index_of(each)

    def each_partition(
        self, field: str, answer: Callable[[Request, str, dict[str, Any]], dict[str, Any]]
    ) -> dict[str, Any]:
        """Make a response with the request's topics and partitions, in order.

        field: holds a topic's name. answer: makes a partition's row of (request, topic's name, its row there).
        """
        return {
            "topics": [
                {field: topic[field], "partitions": [answer(self, topic[field], each) for each in topic["partitions"]]}
                for topic in self.body["topics"]
            ]
        }

    def topic_name(self, topic_id: str | None) -> str:
        """Return the name of the topic with this id; "" for an unknown one."""
        topic = self.topics.by_id.get(topic_id or "")
        return topic.name if topic is not None else ""


Handler = Callable[[Request], Outcome]


def index_of(row: dict[str, Any]) -> int:
    """Return a partition's index, under whichever name the API has it."""
    return next((int(row[name]) for name in INDEX_FIELDS if name in row), -1)

"""A decoded request, and the protocols of the services that its handler uses."""

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
from kcli.broker.partition import Partition
from kcli.broker.response import Outcome
from kcli.broker.security.acls import CLUSTER_NAME
from kcli.broker.security.login import Login
from kcli.broker.security.needs import DENIED, operation_of
from kcli.broker.security.security import Security
from kcli.broker.share.sessions import ShareSessions
from kcli.schemas import apikeys as keys
from kcli.schemas.acl_codes import Operation, Resource
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import Isolation
from kcli.topic_names import INDEX_FIELDS

if TYPE_CHECKING:
    from kcli.broker.control.client_request import ClientRequest
    from kcli.broker.groups.coordinator import Groups
    from kcli.broker.transactions.coordinator import Transactions
    from kcli.sessions.broker import BrokerSessions
    from kcli.sessions.draft import DraftBroker


class Client(Protocol):
    """The sender of a request. dialect: the message definitions that both sides agreed on, None for Apache's; software:
    the client's (name, version); listener: the name of the listener; login: None on listeners without SASL.
    """

    dialect: str | None
    software: tuple[str, str]
    listener: str
    login: Login | None
    half_closed: asyncio.Event

    @property
    def name(self) -> str:
        """The client as "address:port"."""

    @property
    def host(self) -> str:
        """The client's address."""

    @property
    def principal(self) -> str:
        """The client's principal, such as "User:alice"."""

    @property
    def local_host(self) -> str:
        """The address by which the client reached this broker."""

    def mute(self, seconds: float) -> None:
        """Answer this client's next requests only after so many seconds."""

    def on_half_closed(self, woken: asyncio.Event) -> None:
        """Set this event when the client closes its side of the connection."""


class Node(Protocol):
    """The node that serves a request."""

    id: int  # the node.id
    rack: str | None  # its broker.rack
    purgatory: Purgatory  # the fetches that wait for records
    share_sessions: ShareSessions  # the share sessions (KIP-932)
    listeners: dict[str, ListenerOptions]  # the listeners by name, with their ports
    log_levels: dict[str, str]  # the levels of loggers, by name

    @property
    def sessions(self) -> BrokerSessions:
        """The fetch sessions (KIP-227)."""

    @property
    def drafts(self) -> DraftBroker:
        """The fetch sessions of KIP-227's third draft."""

    def set_log_levels(self, levels: Mapping[str, str | None]) -> None:
        """Set the levels of loggers, by name; None for the root's level."""

    def evict_sessions(self) -> int:
        """Evict all fetch sessions; return their number."""


class FaultRules(Protocol):
    """Rules that make requests fail (`faults`)."""

    @property
    def rules(self) -> Sequence[object]:
        """The rules, empty if there are none."""

    def error(self, request: Request, topic: str, partition: int, among: frozenset[int] | None) -> int:
        """Return the error code of the first rule that fires, 0 for none."""


class AnswerRules(Protocol):
    """Rules that answer requests (`mock_rules`)."""

    def __hash__(self) -> int: ...

    @property
    def apis(self) -> frozenset[int]:
        """The keys of the APIs that rules answer."""

    def before(self, api_key: int, version: int, handle: Handler) -> Handler:
        """Return a handler that answers by the first matching rule, and calls `handle` if there is none."""


class Services(Protocol):
    """The services of a broker for the handlers of all its nodes."""

    configs: Configs
    clock: Clock
    topics: Topics  # the topics with their partitions and logs
    replicas: Replicas  # the logs' replicas, which notify waiting fetches
    controller: Controller  # the controller, which changes topics, configs and leaders
    coordinators: Coordinators  # the coordinators of groups and transactions
    metadata: MetadataLog
    security: Security  # the authorizer, logins, quotas and TLS contexts
    cluster_id: str
    dialect: str | None  # the message definitions for clients that use them, None for Apache's
    release: str | None  # the Kafka release whose API versions are served, None for all
    hints: bool  # whether error responses have the current leader (KIP-951)
    session_shards: int  # the number of shards of a node's session cache

    @property
    def groups(self) -> Groups:
        """The consumer groups."""

    @property
    def transactions(self) -> Transactions:
        """The transactions."""

    @property
    def faults(self) -> FaultRules:
        """The fault rules."""

    @property
    def answers(self) -> AnswerRules | None:
        """The rules that answer requests, if there are any."""

    def now(self) -> int:
        """Return ms since 1970."""

    def note(self, text: str) -> None:
        """Write a line to the broker's log."""

    def mention(self, text: str) -> None:
        """Write a line to the broker's log, the first time only."""

    def endpoints(self, reached: str, listener: str) -> list[dict[str, Any]]:
        """Return the nodes' addresses for a client that reached the broker by this host and listener."""

    def fetch_gate(self) -> Awaitable[CapturedMoment] | None:
        """Return an event that a fetch waits for before it reads, None for no wait."""


# The requests that Kafka's controller drops when their timeoutMs is over before it comes to them.
TIMED = frozenset([
    keys.CREATE_TOPICS, keys.DELETE_TOPICS, keys.CREATE_PARTITIONS, keys.ELECT_LEADERS,
    keys.ALTER_PARTITION_REASSIGNMENTS,
])  # fmt: skip


class Request:
    """A request. body: as decoded by MessageCodec.read; api: the API in the request's version; kept: its entry in the
    journal, None without a journal.
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
        """The controller, which changes topics, configs and leaders."""
        return self.services.controller

    @property
    def replicas(self) -> Replicas:
        """The logs' replicas, which notify waiting fetches of writes."""
        return self.services.replicas

    @property
    def metadata(self) -> MetadataLog:
        """The cluster's metadata log."""
        return self.services.metadata

    @property
    def reads_committed(self) -> bool:
        """True: the request reads only records of committed transactions."""
        return self.body.get("isolationLevel") == Isolation.READ_COMMITTED

    def now(self) -> int:
        """Return ms since 1970, by the broker's clock."""
        return self.services.now()

    def endpoints(self) -> list[dict[str, Any]]:
        """Return the rows of the running nodes, with addresses that this client can reach."""
        return self.services.endpoints(self.client.local_host, self.client.listener)

    def fault(self, topic: str = "", partition: int = -1, among: frozenset[int] | None = None) -> int:
        """Return the error code for the whole request, or for a topic or partition in it: that of a fault rule, or of a
        missing permission; 0 for none.

        among: the only codes of fault rules to look for, None for all.
        """
        faults = self.services.faults
        code = faults.error(self, topic, partition, among) if faults.rules else 0
        code = code or self.expired()
        return code or (self.denial(Resource.TOPIC, topic) if topic else self.denial(Resource.CLUSTER, CLUSTER_NAME))

    def expired(self) -> int:
        """Return the error code of a request to the controller that leaves it no time, 0 for others."""
        late = self.api.key in TIMED and self.body.get("timeoutMs", 1) <= 0
        return error_code("REQUEST_TIMED_OUT") if late else 0

    def led_partition(
        self, topic: str, index: int, epoch: int = -1, *, may_follow: bool = False
    ) -> tuple[Partition | None, int]:
        """Return a partition, None if there is none, and the error code if this node can't answer about it; 0 for none.

        epoch: the leader epoch that the client knows; -1: it names none. may_follow: a follower may answer, too.
        """
        partition = self.topics.find((topic, index))
        if partition is None:
            return None, self.denial(Resource.TOPIC, topic) or error_code("UNKNOWN_TOPIC_OR_PARTITION")
        return partition, self.fault(topic, index) or partition.refusal(self.node.id, epoch, may_follow=may_follow)

    def group_refusal(self, group_id: str) -> int:
        """Return the error code if the client may not use a group, or this node does not coordinate it; 0 for none."""
        code = self.denial(Resource.GROUP, group_id)
        return code or self.services.coordinators.group_refusal(self.node.id, group_id)

    def denial_of_group(self, group_id: str | None) -> int:
        """Return the error code if the client may not use a group; 0 for none."""
        return self.denial(Resource.GROUP, group_id) if group_id else 0

    def transaction_refusal(self, name: str) -> int:
        """Return the error code if the client may not use a transactional id, or this node does not coordinate it; 0
        for none.
        """
        code = self.denial(Resource.TRANSACTIONAL_ID, name)
        return code or self.services.coordinators.transaction_refusal(self.node.id, name)

    def denial(self, kind: Resource, name: str) -> int:
        """Return the error code if the client lacks the permission that the API needs for a resource; 0 for none."""
        if self.services.security.authorizer is None:
            return 0
        operation = operation_of(self.api.key, kind)
        return 0 if operation is None or self.may(operation, kind, name) else DENIED[kind]

    def may(self, operation: Operation, kind: Resource = Resource.CLUSTER, name: str = CLUSTER_NAME) -> bool:
        """Return whether the client is authorized for an operation on a resource, by default the cluster."""
        authorizer = self.services.security.authorizer
        return authorizer is None or authorizer.allows(self.client.principal, self.client.host, operation, kind, name)

    def may_with_any(self, operation: Operation, kind: Resource) -> bool:
        """Return whether the client is authorized for an operation on any resource of a type."""
        authorizer = self.services.security.authorizer
        owner = self.client.principal, self.client.host
        return authorizer is None or authorizer.allows_any(*owner, operation, kind)

    def topic_names_asked(self) -> list[str]:
        """Return the names of the topics that the request names, each once."""
        rows = (*(self.body.get("topics") or ()), *(self.body.get("topicData") or ()))
        found = (each for each in rows if isinstance(each, dict))
        names = (each.get("name") or each.get("topic") or self.topic_name(each.get("topicId")) for each in found)
        return list(dict.fromkeys(name for name in names if name))

    def places(self) -> Iterator[tuple[str, int]]:
        """Yield the (topic, partition) pairs that the request names; partition -1 for a whole topic."""
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

        field: the name of the field with a topic's name. answer: returns a partition's row from the request, the
        topic's name and the partition's row in the request.
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
    """Return a partition's index in a row of any API, -1 if it has none."""
    return next((int(row[name]) for name in INDEX_FIELDS if name in row), -1)

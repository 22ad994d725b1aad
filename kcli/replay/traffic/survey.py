"""Surveys captures before a replay: the topics, groups and coordinators that it needs on a cluster."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.field_paths import Named, names_in
from kcli.client.address import Address
from kcli.replay.topic_mapping import TopicNames
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.fields import FieldPlan, plan_of
from kcli.replay.traffic.rounds import Round
from kcli.schemas.apikeys import (
    CREATE_TOPICS,
    FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    METADATA,
    PRODUCE,
    SHARE_ACKNOWLEDGE,
    SHARE_FETCH,
)
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import CoordinatorType
from kcli.topic_names import INTERNAL

Body = Mapping[str, Any]
UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE = error_code("UNKNOWN_TOPIC_OR_PARTITION"), error_code("LEADER_NOT_AVAILABLE")
# Requests that go to the leader of partitions, even if they name a group or transaction.
OF_LEADERS = frozenset([PRODUCE, SHARE_FETCH, SHARE_ACKNOWLEDGE])


class ConnectionPurpose(NamedTuple):
    """The purpose of a connection, from its first request that shows it: a coordinator's key, or a partition.

    kind: FindCoordinator's keyType, -1 for a partition; name: the key, or the captured topic by name or id
    """

    kind: int
    name: str
    partition: int = -1


@dataclass
class SeenTopic:
    """A captured topic.

    partitions: the least number that it has; is_late: it did not exist at first, and requests that are made again
    create it; is_made: by CreateTopics

    replicas: {partition: captured nodes at first, the leader before the others}; servers: {partition: broker that
    served it first}; read: {partition: lowest offset of records that fetches returned}; produced: {partition: lowest
    offset of records that requests made again appended}
    """

    partitions: int = 0
    is_late: bool = False
    is_made: bool = False
    replicas: dict[int, list[int]] = field(default_factory=dict)
    servers: dict[int, str] = field(default_factory=dict)
    read: dict[int, int] = field(default_factory=dict)
    produced: dict[int, int] = field(default_factory=dict)

    @property
    def presumed(self) -> set[int]:
        """Return the partitions in which fetches found records from before the capture's own requests."""
        return {index for index, offset in self.read.items() if offset < self.produced.get(index, offset + 1)}


@dataclass
class Survey:
    """A survey of the exchanges that a replay makes again.

    topics: {captured name or id: topic} of the topics that the capture shows to exist; requested: topics that the
    requests name; connections: {connection: number of requests}; routes: {connection: purpose}; left_out: {reason:
    number of exchanges}

    coordinated: (keyType, key) of groups and transactions; rounds: {round: number of members that joined together};
    nodes: {captured id: address that brokers announce}; servers: addresses that requests were sent to
    """

    names: TopicNames = field(default_factory=TopicNames)
    topics: dict[str, SeenTopic] = field(default_factory=dict)
    requested: set[str] = field(default_factory=set)
    connections: Counter[str] = field(default_factory=Counter)
    routes: dict[str, ConnectionPurpose] = field(default_factory=dict)
    coordinated: set[tuple[int, str]] = field(default_factory=set)
    rounds: dict[Round, int] = field(default_factory=dict)
    nodes: dict[int, str] = field(default_factory=dict)
    servers: set[str] = field(default_factory=set)
    left_out: Counter[str] = field(default_factory=Counter)
    requests: int = 0
    first_ns: int = 0

    def needed(self) -> dict[str, SeenTopic]:
        """Return {captured name: topic} of the topics that the requests need; an id without a name stands for
        itself.
        """
        found: dict[str, SeenTopic] = {}
        for each in self.requested:
            name = self.names.names.get(each, each)
            seen = [self.topics[key] for key in {each, name} if key in self.topics and self.topics[key].partitions]
            for one in seen:
                known = found.setdefault(name, SeenTopic())
                known.partitions = max(known.partitions, one.partitions)
                known.is_late, known.is_made = known.is_late or one.is_late, known.is_made or one.is_made
                known.replicas |= one.replicas
                known.servers |= one.servers
                known.read |= one.read
                known.produced |= one.produced
        return found


def survey(exchanges: Iterable[Exchange], choice: Choice, dialect: str | None = None) -> Survey:
    """Survey exchanges, which come in the order of their responses."""
    made = Survey()
    for each in exchanges:
        reason = choice.reason(each)
        take(made, each, dialect, wanted=reason is None)
        if reason:
            made.left_out[reason] += 1
    return made


def take(made: Survey, exchange: Exchange, dialect: str | None, *, wanted: bool) -> None:
    """Add an exchange. wanted: it is made again; others only show topics and brokers."""
    request, response = exchange.request, exchange.response
    if request is None:
        return
    made.names.learn(exchange.api_key, request, response)
    for body in (request, response or {}):
        learn_annotated(made.names, body)
    if response is not None:
        see(made, exchange, response, dialect, wanted=wanted)
    if not wanted:
        return
    made.requests += 1
    made.first_ns = min(made.first_ns or exchange.request_ns, exchange.request_ns)
    made.connections[exchange.connection] += 1
    made.servers.add(exchange.link.server)
    named = names_of(exchange, dialect)
    made.requested.update(topic_text(topic) for topic in named.topics)
    keys = coordinator_keys(exchange.api_key, request, named)
    made.coordinated.update(keys)
    if exchange.connection not in made.routes and exchange.api_key != FIND_COORDINATOR:
        if keys:
            made.routes[exchange.connection] = ConnectionPurpose(*keys[0])
            return
        for topic, index in named.partitions:
            name = topic_text(topic)
            # The leaders of internal topics do not determine where a connection goes.
            if index is not None and made.names.names.get(name, name) not in INTERNAL:
                made.routes[exchange.connection] = ConnectionPurpose(-1, name, index)
                break


def names_of(exchange: Exchange, dialect: str | None) -> Named:
    """Return the topics, groups and other names in a captured request."""
    named = Named({}, {}, {})
    names_in(catalog(dialect).known(exchange.api_key).request, dialect, exchange.request, named)
    return named


def topic_text(topic: str | tuple[str]) -> str:
    """Return a topic's name or id as text. A tuple has an id."""
    return topic if isinstance(topic, str) else topic[0]


def learn_annotated(names: TopicNames, body: Body) -> None:
    """Learn names beside ids (`_topicName`) in any message."""
    for item in body.values():
        if isinstance(item, list) and item and isinstance(item[0], dict) and "topicId" in item[0]:
            for each in item:
                if each.get("_topicName"):
                    names.names.setdefault(each["topicId"], each["_topicName"])


def coordinator_keys(api_key: int, request: Body, named: Named) -> list[tuple[int, str]]:
    """Return (keyType, key) of the groups or transactions whose coordinator a request goes to."""
    if api_key in OF_LEADERS:
        return []
    if api_key == FIND_COORDINATOR:
        keys = request.get("coordinatorKeys") or [request.get("key")]
        return [(request.get("keyType", 0), key) for key in keys if key and request.get("keyType", 0) in (0, 1)]
    transaction = request.get("transactionalId") or request.get("v3AndBelowTransactionalId")
    if transaction and "topics" not in request:
        return [(CoordinatorType.TRANSACTION, transaction)]
    return [(CoordinatorType.GROUP, group) for group in named.groups if group]


def see(made: Survey, exchange: Exchange, response: Body, dialect: str | None, *, wanted: bool) -> None:
    """Learn topics and brokers from a response. wanted: its request is sent again, and may create a topic again."""
    if exchange.api_key == METADATA:
        made.nodes |= {each["nodeId"]: str(Address(each["host"], each["port"])) for each in response["brokers"]}
        for topic in response["topics"]:
            see_metadata(made, topic, wanted=wanted)
    elif exchange.api_key == CREATE_TOPICS:
        for topic in response["topics"]:
            if not topic["errorCode"]:
                seen = made.topics.setdefault(topic["name"], SeenTopic(is_late=wanted))
                seen.is_made = seen.is_made or (wanted and seen.is_late)
    elif exchange.api_key == JOIN_GROUP and response["members"]:
        made.rounds[exchange.request["groupId"], response["generationId"]] = len(response["members"])
    see_partitions(made, exchange, response, dialect, wanted=wanted)


def see_partitions(made: Survey, exchange: Exchange, response: Body, dialect: str | None, *, wanted: bool) -> None:
    """Learn partitions from a response: their number, the brokers that serve them, and the first offsets of records."""
    plan = plan_of(catalog(dialect).known(exchange.api_key).response, dialect)
    for name, index, part in partitions_in(response, plan, ""):
        seen = made.topics.setdefault(name, SeenTopic())
        seen.partitions = max(seen.partitions, index + 1)
        if exchange.api_key in (FETCH, PRODUCE):
            seen.servers.setdefault(index, exchange.link.server)
        offset = part.get("baseOffset", -1)
        if wanted and offset >= 0:
            seen.produced[index] = min(seen.produced.get(index, offset), offset)
        records = part.get("records")
        if records and exchange.api_key == FETCH:
            offset = max(int.from_bytes(bytes(records[:8]), "big", signed=True), 0)
            seen.read[index] = min(seen.read.get(index, offset), offset)


def see_metadata(made: Survey, topic: Body, *, wanted: bool) -> None:
    name = topic.get("name") or topic.get("topicId")
    if not name:
        return
    if topic["errorCode"] in (UNKNOWN_TOPIC, LEADER_NOT_AVAILABLE):
        made.topics.setdefault(name, SeenTopic(is_late=wanted))
    elif not topic["errorCode"]:
        seen = made.topics.setdefault(name, SeenTopic())
        seen.partitions = max(seen.partitions, len(topic["partitions"]))
        for part in topic["partitions"]:
            leader = part["leaderId"]
            others = [each for each in part["replicaNodes"] or () if each != leader]
            if leader >= 0:
                seen.replicas.setdefault(part["partitionIndex"], [leader, *others])


def partitions_in(value: Body, plan: FieldPlan, topic: str) -> Iterator[tuple[str, int, Body]]:
    """Yield (topic, index, entry) of each partition without an error in a response."""
    scopes = {part: value[name] for part, name in plan.scopes if value.get(name) not in (None, "")}
    topic = scopes.get("topic", topic)
    index = scopes.get("partition")
    if topic and index is not None and index >= 0 and value.get("errorCode") == 0:
        yield topic, index, value
    for name, below in plan.fields.items():
        if isinstance(below, FieldPlan):
            item = value.get(name)
            for each in item if isinstance(item, list) else (item,) if item else ():
                yield from partitions_in(each, below, topic)

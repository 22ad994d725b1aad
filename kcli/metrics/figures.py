"""Counts what a `FactSource` reads: by API, client and broker; by topic; lag by group; retransmissions; findings.

Memory does not grow with the traffic: names beyond a limit are counted as "other" (`kcli.metrics.bounded`). One thread
updates the figures; others read them while they hold `lock`.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple

from kcli.capture.captured_time import CapturedTime
from kcli.capture.latency_buckets import bucket_of
from kcli.capture.statistics import Figures
from kcli.finding import Finding
from kcli.metrics.bounded import Names, Series
from kcli.rules.captured_times import WAITING_APIS

MOST_CLIENTS, MOST_BROKERS, MOST_TOPICS, MOST_GROUPS, MOST_ERRORS = 200, 100, 500, 200, 200
MOST_SERIES = 5000  # series of one kind
MOST_CONNECTIONS = 20_000  # connections whose client is remembered
MOST_POSITIONS = 50_000  # partitions of consumers whose lag is remembered
SILENT_S = 300.0  # after so many seconds without a request, a consumer has no lag any more
WINDOW_S = 10.0  # seconds that the latest figures cover
USED = (
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "group_calls_said", "commits_said",
    "topic_names", "tcp", "undecodable",
)  # fmt: skip

# Upper bounds of latencies in histograms, in seconds.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

CLIENT, IDLE, REPLICATION = "client", "idle", "replication"  # any other; empty Fetch; of brokers


class ExchangeFacts(NamedTuple):
    """The columns of `exchange_facts` that are counted."""

    connection: str
    server: str
    client_id: str | None
    api: str | None
    api_key: int
    correlation_id: int
    request_bytes: int
    response_bytes: int | None
    latency_ms: float | None
    errors: Sequence[str] | None
    replica_id: int | None
    max_wait_ms: int | None
    completed_ns: int


@dataclass(slots=True)
class Load(Figures):
    """The requests counted for one key. seconds: the sum of the latencies without waits; slots: the number of latencies
    up to each of `BOUNDS` and above the one before; names: errors by name.
    """

    seconds: float = 0.0
    slots: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    names: Counter[str] = field(default_factory=Counter)

    def count(self, request_bytes: int, response_bytes: int, own_ms: float | None, errors: Sequence[str]) -> None:
        """Count one exchange. own_ms: its latency without the wait that the request asks for; None: unknown."""
        self.exchanges += 1
        self.request_bytes += request_bytes
        self.response_bytes += response_bytes
        if errors:
            self.errors += 1
            self.names.update(errors)
        if own_ms is not None:
            latency = int(own_ms * 1000)
            self.least = min(self.least, latency) if self.buckets else latency
            self.most = max(self.most, latency)
            self.buckets[bucket_of(latency)] += 1
            self.seconds += own_ms / 1000
            self.slots[bisect_left(BOUNDS, own_ms / 1000)] += 1

    @property
    def errors_by_name(self) -> dict[str, int]:
        """Errors by name, the most frequent first."""
        return dict(sorted(self.names.items(), key=lambda each: (-each[1], each[0])))

    def join(self, other: Load) -> None:
        """Add the counts of another load."""
        self.merge(other)
        self.seconds += other.seconds
        self.slots = [*map(add, self.slots, other.slots)]
        self.names.update(other.names)


@dataclass(slots=True)
class TopicLoad(Load):
    """The requests counted for a topic; the bytes are those of records."""

    records: int = 0

    def join(self, other: Load) -> None:
        Load.join(self, other)
        if isinstance(other, TopicLoad):
            self.records += other.records


class Position(NamedTuple):
    """The position of a consumer in a partition."""

    client: str
    lag: int
    at: float


class Counts:
    """The figures of a period. loads: by (API, client, broker, kind); topics: by (topic, API, client)."""

    def __init__(self) -> None:
        self.loads: Series[Load] = Series(Load, MOST_SERIES)
        self.topics: Series[TopicLoad] = Series(TopicLoad, MOST_SERIES)

    def join(self, other: Counts) -> None:
        """Add other counts."""
        for key, load in other.loads.items():
            self.loads.at(*key).join(load)
        for key, topic in other.topics.items():
            self.topics.at(*key).join(topic)


class LiveFigures:
    """All figures since the start (`total`), and those of the latest seconds (`latest`).

    findings: those from the latest check of the rules. settled: the time of the latest figures, by `clock`; None:
    nothing was read yet.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.lock = threading.Lock()
        self.total = Counts()
        self.recent: deque[tuple[float, Counts]] = deque()
        self.clients, self.brokers = Names(MOST_CLIENTS), Names(MOST_BROKERS)
        self.topics, self.groups, self.errors = Names(MOST_TOPICS), Names(MOST_GROUPS), Names(MOST_ERRORS)
        self.errors_by: Series[Counter[str]] = Series(Counter, MOST_SERIES)  # by (API, client, broker)
        self.connections: dict[str, tuple[str, str]] = {}  # (client, broker)
        self.opened: Series[Counter[str]] = Series(Counter, MOST_SERIES)  # by (client, broker)
        self.resent: Series[Counter[str]] = Series(Counter, MOST_SERIES)  # of ended connections, by (client, broker)
        self.resending: dict[tuple[str, str], int] = {}  # of open connections, by (client, broker)
        self.replicas: set[str] = set()  # connections on which brokers replicate
        self.group_of: dict[str, str] = {}  # by client
        self.topic_of: dict[str, str] = {}  # by id
        self.positions: dict[tuple[str, str, int], Position] = {}  # by (group or client, topic, partition)
        self.seen: dict[str, float] = {}  # the time of each client's last request
        self.events: Counter[str] = Counter()
        self.findings: Sequence[Finding] = ()
        self.judged = False  # whether `findings` was ever set
        self.started = clock()
        self.settled: float | None = None
        self.pauses: Sequence[tuple[int, int]] = ()  # pauses between files, see CapturedTime
        self.first_ns = self.last_ns = 0  # when the first and the latest exchange were complete
        self._waiting: dict[str, list[Any]] = {}

    # --- called by the thread that reads

    def put(self, table: str, batch: Any) -> None:
        """Take rows. They are counted by the next `settle`; until then their memory must stay valid."""
        if table in USED:
            self._waiting.setdefault(table, []).append(batch)

    def settle(self, resending: Iterable[tuple[str, str, int]] = ()) -> None:
        """Count the rows that are waiting. resending: (one end, other end, retransmitted segments) of open
        connections.
        """
        waiting, self._waiting = self._waiting, {}
        now = self.clock()
        with self.lock:
            made = Counts()
            self._learn(waiting)
            answers = self._count_exchanges(waiting, made, now)
            self._count_topics(waiting, made, answers)
            self._follow_positions(waiting, now)
            self._count_resent(waiting, resending)
            for rows in read(waiting, "undecodable", "event"):
                self.events.update(event for (event,) in rows)
            self.total.join(made)
            self.recent.append((now, made))
            while self.recent[0][0] <= now - WINDOW_S:
                self.recent.popleft()
            self.settled = now

    def judge(self, findings: Sequence[Finding], topics: Iterable[tuple[str, str]] = ()) -> None:
        """Set the present findings, and learn names of topics by their ids."""
        with self.lock:
            self.findings, self.judged = tuple(findings), True
            self._name_topics(topics)

    def _name_topics(self, named: Iterable[tuple[str, str]]) -> None:
        """Learn the names of topics. Figures counted under an id are moved to the name."""
        for topic_id, topic in named:
            if topic_id in self.topic_of or len(self.topic_of) >= MOST_POSITIONS:
                continue
            name = self.topic_of[topic_id] = self.topics.of(topic)
            for counts in (self.total, *(each for _, each in self.recent)):
                for key in [key for key in counts.topics if key[0] == topic_id]:
                    counts.topics.at(name, *key[1:]).join(counts.topics.pop(key))
            for place in [place for place in self.positions if place[1] == topic_id]:
                self.positions[place[0], name, place[2]] = self.positions.pop(place)

    def _learn(self, waiting: dict[str, list[Any]]) -> None:
        """Learn the names of topics by their ids, and the groups of clients."""
        for rows in read(waiting, "topic_names", "topic_id", "topic"):
            self._name_topics(rows)
        for table in ("group_calls_said", "commits_said"):
            for rows in read(waiting, table, "client_id", "group_id"):
                for client, group in rows:
                    if group and len(self.group_of) < MOST_POSITIONS:
                        self.group_of[self.clients.of(client)] = self.groups.of(group)

    def _count_exchanges(self, waiting: dict[str, list[Any]], made: Counts, now: float) -> dict[Any, float | None]:
        """Count exchanges. Return the latencies of Produce, Fetch and ShareFetch requests by connection and correlation
        id.
        """
        full = {
            (connection, number)
            for rows in read(waiting, "fetch_partitions", "connection", "correlation_id", "records_bytes")
            for connection, number, size in rows
            if size
        }
        answers: dict[Any, float | None] = {}
        for rows in read(waiting, "exchange_facts", *ExchangeFacts._fields):
            for row in map(ExchangeFacts._make, rows):
                request = row.connection, row.correlation_id
                own = own_ms(row.api, row.latency_ms, row.max_wait_ms)
                if row.api in ("PRODUCE", "FETCH", "SHARE_FETCH"):
                    answers[request] = own
                self._count_exchange(row, made, own, request in full)
                self.seen[self.clients.of(row.client_id)] = now
        return answers

    def _count_exchange(self, row: ExchangeFacts, made: Counts, own: float | None, has_records: bool) -> None:
        """Count one exchange. own: its latency without waits. has_records: it is a Fetch whose response has records."""
        client, broker = self._client_of(row.connection, row.client_id, row.server)
        api, kind = row.api or f"API {row.api_key}", CLIENT
        if api == "FETCH":
            kind = self._kind_of_fetch(row.connection, row.replica_id, not row.errors and not has_records)
        named = [self.errors.of(each) for each in row.errors or ()]
        made.loads.at(api, client, broker, kind).count(row.request_bytes, row.response_bytes or 0, own, named)
        if named:
            self.errors_by.at(api, client, broker).update(named)
        self.first_ns = min(self.first_ns or row.completed_ns, row.completed_ns)
        self.last_ns = max(self.last_ns, row.completed_ns)

    def _kind_of_fetch(self, link: str, replica: int | None, is_idle: bool) -> str:
        """Return the kind of a fetch, and remember the connections of replicas."""
        if replica is None or replica < 0:
            return IDLE if is_idle else CLIENT
        if len(self.replicas) < MOST_CONNECTIONS:
            self.replicas.add(link)
        return REPLICATION

    def _client_of(self, link: str, client: str | None, server: str) -> tuple[str, str]:
        """Return the names of a connection's client and broker. A new connection is counted."""
        found = self.clients.of(client), self.brokers.of(server)
        if link not in self.connections:
            if len(self.connections) >= MOST_CONNECTIONS:
                self.connections.clear()
            self.opened.at(*found)["opened"] += 1
        self.connections[link] = found
        return found

    def _count_topics(self, waiting: dict[str, list[Any]], made: Counts, answers: dict[Any, float | None]) -> None:
        """Count requests and records by topic; an exchange counts once for each of its topics."""
        self._count_partitions(waiting, made, answers)
        self._count_batches(waiting, made, answers)

    def _count_partitions(self, waiting: dict[str, list[Any]], made: Counts, answers: dict[Any, float | None]) -> None:
        """Count requests by topic, once for each topic however many of its partitions they name, without those of
        replicas.
        """
        for table, api in (("produce_partitions", "PRODUCE"), ("fetch_partitions", "FETCH")):
            once: set[Any] = set()
            columns = ("connection", "client_id", "correlation_id", "topic", "topic_id", "error", "records_bytes")
            for rows in read(waiting, table, *columns):
                for link, client, number, topic, topic_id, error, size in rows:
                    if link in self.replicas:
                        continue
                    name = self._topic(topic, topic_id)
                    load = made.topics.at(name, api, self.clients.of(client))
                    if (link, number, name) not in once:
                        once.add((link, number, name))
                        load.count(0, 0, answers.get((link, number)), ())
                    load.request_bytes += size or 0 if api == "PRODUCE" else 0
                    load.response_bytes += size or 0 if api == "FETCH" else 0
                    if error:
                        load.errors += 1
                        load.names[self.errors.of(error)] += 1

    def _count_batches(self, waiting: dict[str, list[Any]], made: Counts, answers: dict[Any, float | None]) -> None:
        shared: set[Any] = set()
        names = ("connection", "client_id", "correlation_id", "api", "topic", "topic_id", "count", "size_in_bytes")
        for rows in read(waiting, "record_batches", *names):
            for link, client, number, api, topic, topic_id, count, size in rows:
                if link in self.replicas:
                    continue
                name = self._topic(topic, topic_id)
                load = made.topics.at(name, api, self.clients.of(client))
                load.records += count or 0
                if api == "SHARE_FETCH":  # it has no table of partitions; its batches name the topics
                    load.response_bytes += size or 0
                    if (link, number, name) not in shared:
                        shared.add((link, number, name))
                        load.count(0, 0, answers.get((link, number)), ())

    def _topic(self, name: str | None, topic_id: str | None) -> str:
        return self.topics.of(name or self.topic_of.get(topic_id or "", topic_id))

    def _follow_positions(self, waiting: dict[str, list[Any]], now: float) -> None:
        """Record the lag of consumers; forget clients that have been silent for SILENT_S."""
        for rows in read(
            waiting, "fetch_partitions", "connection", "client_id", "topic", "topic_id", "partition", "lag"
        ):
            for link, who, topic, topic_id, partition, lag in rows:
                if lag is None or lag < 0 or link in self.replicas:
                    continue
                client = self.clients.of(who)
                owner = self.group_of.get(client, client)
                key = owner, self._topic(topic, topic_id), partition
                if key in self.positions or len(self.positions) < MOST_POSITIONS:
                    self.positions[key] = Position(client, lag, now)
        silent = {client for client, at in self.seen.items() if at < now - SILENT_S}
        if silent:
            self.positions = {key: each for key, each in self.positions.items() if each.client not in silent}
            for client in silent:
                del self.seen[client]

    def _count_resent(self, waiting: dict[str, list[Any]], resending: Iterable[tuple[str, str, int]]) -> None:
        """Count retransmitted segments on Kafka connections."""
        for rows in read(waiting, "tcp", "connection", "c_resent", "s_resent"):
            for link, of_client, of_server in rows:
                known = self.connections.pop(link, None)
                if known is not None and of_client + of_server:
                    self.resent.at(*known)["resent"] += of_client + of_server
        self.resending = {}
        for connection, other, count in resending:
            known = self.connections.get(f"{connection}-{other}") or self.connections.get(f"{other}-{connection}")
            if known is not None:
                self.resending[known] = self.resending.get(known, 0) + count

    # --- called by any thread, which holds the lock

    def latest(self) -> Counts:
        """Return the figures of the latest seconds."""
        made = Counts()
        for _, each in self.recent:
            made.join(each)
        return made

    def latest_seconds(self) -> float:
        """Return how many seconds the latest figures cover."""
        return max(min(WINDOW_S, self.clock() - self.started), 0.001)

    def total_seconds(self) -> float:
        """Return how many seconds all figures cover, by the times of packets."""
        return max(CapturedTime(self.first_ns, self.last_ns, self.pauses).seconds(), 0.001)

    def lags(self) -> dict[tuple[str, str, str], int]:
        """Return the lag in records by (group, client, topic); the group is "" if it is unknown."""
        found: Counter[tuple[str, str, str]] = Counter()
        for (owner, topic, _), each in self.positions.items():
            found[owner if each.client in self.group_of else "", each.client, topic] += each.lag
        return found

    def retransmissions(self) -> dict[tuple[str, ...], int]:
        """Return the number of retransmitted segments by (client, broker)."""
        found: Counter[tuple[str, ...]] = Counter({key: each["resent"] for key, each in self.resent.items()})
        found.update(self.resending)
        return found


def own_ms(api: str | None, latency_ms: float | None, max_wait_ms: int | None) -> float | None:
    """Return a latency without the wait that the request asks for; None if it waits for others, or there is no
    response, or only one that was captured before the request.
    """
    if latency_ms is None or latency_ms < 0 or api in WAITING_APIS:
        return None
    return max(0.0, latency_ms - (max_wait_ms or 0))


def read(waiting: dict[str, list[Any]], table: str, *columns: str) -> Iterable[Iterable[tuple[Any, ...]]]:
    """Return the rows of each batch of a table, with these columns."""
    for batch in waiting.get(table, ()):
        yield zip(*(values_of(batch.column(name)) for name in columns), strict=True)


def values_of(column: Any) -> list[Any]:
    """Return the values of a column; repeated texts share one object."""
    import pyarrow

    if not pyarrow.types.is_dictionary(column.type):
        return column.to_pylist()  # type: ignore[no-any-return]
    words = column.dictionary.to_pylist()
    return [None if place is None else words[place] for place in column.indices.to_pylist()]

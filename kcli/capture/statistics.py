"""Counts exchanges by group, for `kcli stats`.

Latencies are counted in a histogram (see `latency_buckets`). Memory does not grow with the capture: beyond MOST_GROUPS
groups, all others are counted as one.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.io.file_marks import UNKNOWN, FileTimes
from kcli.capture.kafka.clock import SECOND, instant
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.record_fields import WITH_RECORDS, record_fields
from kcli.capture.latency_buckets import bucket_of, middle_of
from kcli.capture.sinks import Sink
from kcli.capture.tables.field_paths import GROUP, INDEX, TOPIC, Named, names_in, scans
from kcli.core.codec.values import uuid_bytes
from kcli.core.columns.exchange_counts import ExchangeCounts, records_in
from kcli.jsontext import loads
from kcli.schemas.apikeys import PRODUCE
from kcli.schemas.errors import error_name
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID

COLUMNS = (
    "api", "version", "client", "broker", "connection", "topic", "partition", "group", "error", "file", "second",
    "minute", "interval",
)  # fmt: skip
# only groups by these columns have connections of their own
LINKED = frozenset({"client", "broker", "connection", "file"})
MOST_GROUPS = 10_000
MOST_CONNECTIONS = 100_000  # most connections with figures of TCP
# the most groups for one exchange: FEW_COMBINED, and MOST_COMBINED for each of its values
FEW_COMBINED, MOST_COMBINED = 64, 16
WIDTHS = {"second": SECOND, "minute": 60 * SECOND, "interval": 10 * SECOND}  # of times, in nanoseconds
OTHERS = "others"  # stands for error codes beyond those counted by name


@dataclass(slots=True)
class Figures:
    """Sums over the exchanges of a group. least, most: latencies in µs; buckets: exchanges by latency bucket.

    produced: records of the `produces` Produce requests; fetched: records in responses to the `fetches` Fetches and
    ShareFetches, `empty` of which had none. links: connections; None if not counted, or too many.
    """

    exchanges: int = 0
    errors: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    least: int = 0
    most: int = 0
    buckets: Counter[int] = field(default_factory=Counter)
    produces: int = 0
    produced: int = 0
    fetches: int = 0
    fetched: int = 0
    empty: int = 0
    codes: Counter[int | None] = field(default_factory=Counter)
    links: set[str] | None = None

    def add(self, exchange: Exchange, codes: Sequence[int]) -> None:
        """Count one exchange. Its latency is unknown if the response was captured before the request."""
        latency = -1 if exchange.response_ns is None else (exchange.response_ns - exchange.request_ns) // 1000
        size = exchange.response_bytes or 0
        buckets = Counter({bucket_of(latency): 1} if latency >= 0 else {})
        one = Figures(1, bool(codes), exchange.request_bytes, size, latency, latency, buckets, codes=Counter(codes))
        one.add_records(exchange)
        self.merge(one)

    def add_records(self, exchange: Exchange) -> None:
        """Count the records of one exchange."""
        if exchange.api_key not in WITH_RECORDS:
            return
        if exchange.cut.request is not None if exchange.api_key == PRODUCE else exchange.response is None:
            return
        sizes = [(len(each.data), records_in(each.data)) for each in record_fields(exchange)]
        records = sum(count for _, count in sizes)
        if exchange.api_key == PRODUCE:
            self.produces, self.produced = 1, records
        else:
            self.fetches, self.fetched, self.empty = 1, records, not self.errors and not any(size for size, _ in sizes)

    def merge(self, other: Figures) -> None:
        """Add the counts of another group."""
        if other.buckets:
            self.least = min(self.least, other.least) if self.buckets else other.least
            self.most = max(self.most, other.most)
        self.exchanges += other.exchanges
        self.errors += other.errors
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.produces += other.produces
        self.produced += other.produced
        self.fetches += other.fetches
        self.fetched += other.fetched
        self.empty += other.empty
        self.buckets.update(other.buckets)
        self.codes.update(other.codes)
        if other.links:
            self.links = other.links | self.links if self.links else other.links

    def percentiles(self, shares: Sequence[float]) -> list[float | None]:
        """Return the latencies (ms) below which these shares of the responses are. shares: ascending. None without a
        response.
        """
        count = sum(self.buckets.values())
        if not count:
            return [None] * len(shares)
        made: list[float | None] = []
        ordered = iter(sorted(self.buckets.items()))
        passed, middle = 0, 0
        for share in shares:
            rank = max(1, math.ceil(share * count))
            while passed < rank:
                bucket, number = next(ordered)
                passed, middle = passed + number, middle_of(bucket)
            made.append(min(max(middle, self.least), self.most) / 1000)
        return made

    @property
    def records_per_request(self) -> float | None:
        """The mean number of records in a Produce; in a group without one, in a Fetch's response; None without
        either.
        """
        if self.produces:
            return self.produced / self.produces
        return self.fetched / self.fetches if self.fetches else None

    @property
    def empty_share(self) -> float | None:
        """The share of Fetches whose response has no records; None without a Fetch."""
        return self.empty / self.fetches if self.fetches else None

    @property
    def max_ms(self) -> float | None:
        """The longest latency (ms); None without a response."""
        return self.most / 1000 if self.buckets else None

    @property
    def errors_by_name(self) -> dict[str, int]:
        """The number of exchanges by error, most frequent first; an exchange with several errors counts for each."""
        named = [(OTHERS if code is None else error_name(code), number) for code, number in self.codes.items()]
        return dict(sorted(named, key=lambda each: (-each[1], each[0])))


class TcpFigures(NamedTuple):
    """Figures of TCP for connections. round_trip_ms: the least of their handshakes, None if none was captured.
    retransmissions: segments with bytes that were captured before. opened: the number of captured handshakes.
    """

    round_trip_ms: float | None
    retransmissions: int
    opened: int


# The figures of one connection, plain as there are many: the round trip in ns (-1 if unknown); retransmissions;
# handshakes.
LinkTcp = tuple[int, int, int]


def joined(found: Iterable[LinkTcp]) -> LinkTcp:
    """Return the sum of several connections' figures, with the least round trip."""
    trips, resent, opened = zip(*found, strict=True)
    return min((trip for trip in trips if trip >= 0), default=-1), sum(resent), sum(opened)


class StatisticsRow(NamedTuple):
    """group: values by column; None for the groups beyond MOST_GROUPS. tcp: of the group's connections; None if
    unknown.
    """

    group: dict[str, Any] | None
    figures: Figures
    tcp: TcpFigures | None = None


class StatisticsSink(Sink):
    """Counts exchanges by group. added: groups counted by other processes."""

    def __init__(self, by: Sequence[str], interval: int = WIDTHS["interval"]) -> None:
        """Prepare to count. by: columns out of COLUMNS; "partition" includes its topic. interval: ns, for
        "interval".
        """
        wanted = [name for each in by for name in (("topic", "partition") if each == "partition" else (each,))]
        self.columns = tuple(dict.fromkeys(wanted))
        self.by = tuple(name for name in self.columns if name != "topic" or "partition" not in self.columns)
        self.widths = WIDTHS | {"interval": interval}
        self.linked = LINKED.issuperset(self.columns)
        roles = {"topic": {TOPIC}, "partition": {TOPIC, INDEX}, "group": {GROUP}}
        self.roles = frozenset(role for name in self.by for role in roles.get(name, ()))
        if self.linked or "connection" in self.columns:
            self.connection_end = self.note_end

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Let the core count, if it can apply the filter."""
        self.capture, self.bodies, chosen = capture, capture.bodies, capture.chosen
        self.groups: dict[tuple[Any, ...] | None, Figures] = {}
        self.added: list[tuple[tuple[Any, ...] | None, Figures]] = []
        self.files = FileTimes()
        self.tcp: dict[str, LinkTcp] = {}
        self.kept = self.links = 0
        self.too_many = False  # there are too many connections to name those of each group
        self.counts: Any = None
        if chosen.topic is None and chosen.is_plain and chosen.where is None:
            self.counts = ExchangeCounts(self.bodies, self.by, self.widths, self.linked, self.scans, chosen)
        self.compiled = self.counts

    def next_file(self, number: int, last_ns: int | None) -> None:
        if last_ns is not None:
            self.files.enter(number, last_ns)
        if self.counts is not None:
            self.counts.next_file(number, self.files.changed, self.files.at)

    @property
    def passed(self) -> int:
        """The number of counted exchanges."""
        return self.kept + (0 if self.counts is None else int(self.counts.counted))

    def scans(self, api_key: int, version: int) -> Any:
        """Return the same as `kcli.capture.tables.field_paths.scans`, for the roles that columns need."""
        return () if not self.roles else scans(api_key, version, self.roles, self.bodies.dialect)

    def note_end(self, connection: str, round_trip: int, retransmissions: int) -> None:
        """Note the TCP figures of a connection. round_trip: ns; -1: unknown."""
        tcp = self.tcp
        if len(tcp) >= MOST_CONNECTIONS and connection not in tcp:
            self.too_many = True
            return
        made = round_trip, retransmissions, 1 if round_trip >= 0 else 0
        if (known := tcp.setdefault(connection, made)) is not made:
            tcp[connection] = joined((known, made))

    # Exchanges as values

    def exchange(self, exchange: Exchange) -> None:
        """Count an exchange in each of its groups."""
        self.kept += 1
        codes = exchange.error_codes or []
        named = self.named(exchange)
        none = {"partition": (None, None)}
        values = [self.values(name, exchange, codes, named) or [none.get(name, (None,))] for name in self.by]
        keys = itertools.product(*values)
        for key in itertools.islice(keys, FEW_COMBINED + MOST_COMBINED * sum(map(len, values))):
            self.count(tuple(itertools.chain.from_iterable(key)), exchange, codes)
        if next(keys, None) is not None:
            self.count(None, exchange, codes)

    def count(self, key: tuple[Any, ...] | None, exchange: Exchange, codes: Sequence[int]) -> None:
        """Count an exchange in one group."""
        figures = self.figures(key)
        figures.add(exchange, codes)
        if self.linked and exchange.connection not in (figures.links or ()):
            self.links += 1
            self.too_many = self.too_many or self.links > MOST_CONNECTIONS
            if not self.too_many:
                figures.links = figures.links or set()
                figures.links.add(exchange.connection)

    def figures(self, key: tuple[Any, ...] | None) -> Figures:
        """Return the figures of a group, or those of the rest if there are too many groups."""
        known = self.groups.get(key)
        if known is None:
            key = key if len(self.groups) < MOST_GROUPS else None
            known = self.groups.setdefault(key, Figures())
        return known

    def named(self, exchange: Exchange) -> Named:
        """Return the names in request and response that columns need."""
        found = Named({}, {}, {})
        api = self.bodies.api(exchange.api_key)
        if self.roles and api is not None:
            names_in(api.request, self.bodies.dialect, exchange.request or None, found)
            names_in(api.response, self.bodies.dialect, exchange.response, found)
        return found

    def values(self, name: str, exchange: Exchange, codes: list[int], named: Named) -> list[tuple[Any, ...]]:
        """Return an exchange's values of a column, each as a part of a group's key."""
        match name:
            case "topic":
                return [(topic,) for topic in named.topics]
            case "partition":
                return [*named.partitions]
            case "group":
                return [(group,) for group in named.groups]
            case "error":
                return [(code,) for code in codes]
            case "second" | "minute" | "interval":
                return [(exchange.request_ns // self.widths[name],)]
            case "file":
                return [(self.file_of(exchange),)]
            case "api":
                return [(exchange.api_key,)]
            case "version":
                return [(exchange.api_version,)]
            case "client":
                return [(exchange.client_id,)]
            case "broker":
                return [(exchange.link.server,)]
            case _:
                return [(exchange.connection,)]

    # Results

    def rows(self) -> list[StatisticsRow]:
        """Return a row for each group, by time if that is a column, else the largest first; the rest is last."""
        made: dict[tuple[Any, ...] | None, Figures] = {}
        for key, figures in [*self.counted(), *self.groups.items()]:
            shown = None if key is None else tuple(map(self.shown, self.key_columns, key))
            made.setdefault(shown, Figures()).merge(figures)
        times = [place for place, name in enumerate(self.key_columns) if name in self.widths]

        def order(each: tuple[tuple[Any, ...] | None, Figures]) -> tuple[Any, ...]:
            key = each[0] or ()
            at = [key[place] for place in times if key]
            return each[0] is None, at, -each[1].exchanges, [str(value) for value in key]

        return [self.row(self.in_columns(key), figures) for key, figures in sorted(made.items(), key=order)]

    def row(self, group: dict[str, Any] | None, figures: Figures) -> StatisticsRow:
        """Return a group's row."""
        if "connection" in self.columns:
            links = {(group or {}).get("connection", "")}
        else:
            links = set() if self.too_many else figures.links or set()
        known = [found for found in map(self.tcp.get, links) if found is not None]
        if not known:
            return StatisticsRow(group, figures)
        trip, resent, opened = joined(known)
        return StatisticsRow(group, figures, TcpFigures(trip / 1e6 if trip >= 0 else None, resent, opened))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns of a group's key: `by`, with the topic in front of a partition."""
        return tuple(name for each in self.by for name in (("topic", each) if each == "partition" else (each,)))

    def in_columns(self, key: tuple[Any, ...] | None) -> dict[str, Any] | None:
        """Return a group's key by column, in the order of the given columns."""
        if key is None:
            return None
        values = dict(zip(self.key_columns, key, strict=True))
        return {name: values[name] for name in self.columns}

    def counted(self) -> Iterator[tuple[tuple[Any, ...] | None, Figures]]:
        """Yield the groups counted by the core and by other processes."""
        yield from self.added
        for key, *sums, codes, links in [] if self.counts is None else self.counts.take_groups():
            if sums[0]:
                self.too_many = self.too_many or links is None
                figures = Figures(*sums)
                figures.buckets, figures.codes = Counter(figures.buckets), Counter(codes)
                figures.links = set(links) if links else None
                yield key, figures

    def file_of(self, exchange: Exchange) -> int:
        """Return the number of an exchange's file; see FileMarks."""
        early = exchange.response_ns is None and exchange.request_ns <= self.files.changed
        return self.files.at(exchange.request_ns) if early else self.capture.number

    def shown(self, column: str, value: Any) -> Any:
        """Return a key's value as it is shown."""
        if column == "api":
            return self.bodies.name(value) or str(value)
        if column in self.widths:
            width = self.widths[column]
            return f"{instant(value * width)[: 23 if width % SECOND else 19]}Z"
        if column == "file":
            return None if value == UNKNOWN else self.capture.entered_names[value]
        if column == "error":
            return None if value is None else error_name(value)
        if isinstance(value, tuple):
            known = self.bodies.names.get(uuid_bytes(value[0]))
            return loads(known) if known is not None else CLUSTER_METADATA if value[0] == METADATA_ID else value[0]
        return value

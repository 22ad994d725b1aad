"""Exchanges of captures, counted by group: what `kcli stats` shows.

Latencies go to a histogram whose buckets grow with them, as HdrHistogram's: a percentile is the middle of the bucket
that holds the exchange of that rank, and at most 1/128 off. Memory does not grow with the capture: beyond MOST_GROUPS
groups the rest is counted as one, the others.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.capture.kafka.clock import instant
from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sink import Sink
from kcli.capture.tables.field_paths import GROUP, INDEX, TOPIC, Named, names_in, scans
from kcli.core.codec.values import uuid_bytes
from kcli.jsontext import loads
from kcli.schemas.errors import error_name
from kcli.schemas.secrets import METADATA_ID
from kcli.topic_names import CLUSTER_METADATA

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder

COLUMNS = ("api", "version", "client", "broker", "connection", "topic", "partition", "group", "error", "minute")
MOST_GROUPS = 10_000
MOST_CONNECTIONS = 100_000  # of which it is known what TCP says of them
FEW_COMBINED, MOST_COMBINED = 64, 16  # groups that one exchange is counted in: so many, and more for each value it has
MINUTE = 60_000_000_000  # nanoseconds
STEPS = 64  # buckets of an octave
OTHERS = "others"  # error codes beyond those that are counted by name


def bucket_of(microseconds: int) -> int:
    """The bucket of a latency."""
    if microseconds < STEPS:
        return microseconds
    exponent = microseconds.bit_length() - 1
    return (exponent - 5) * STEPS + ((microseconds >> (exponent - 6)) & (STEPS - 1))


def middle_of(bucket: int) -> int:
    """What a bucket's latencies count as, in microseconds."""
    if bucket < STEPS:
        return bucket
    octave, step = divmod(bucket, STEPS)
    width = 1 << (octave - 1)
    return (STEPS + step) * width + (width - 1) // 2


@dataclass(slots=True)
class Figures:
    """Sums over a group's exchanges. least, most: latencies in microseconds; buckets: how many have which."""

    exchanges: int = 0
    errors: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    least: int = 0
    most: int = 0
    buckets: Counter[int] = field(default_factory=Counter)
    codes: Counter[int | None] = field(default_factory=Counter)

    def add(self, exchange: Exchange, codes: Sequence[int]) -> None:
        """Count one exchange."""
        answered = exchange.response_ns
        latency = 0 if answered is None else max(0, answered - exchange.request_ns) // 1000
        size = exchange.response_bytes or 0
        buckets = Counter() if answered is None else Counter({bucket_of(latency): 1})
        one = Figures(1, bool(codes), exchange.request_bytes, size, latency, latency, buckets, Counter(codes))
        self.merge(one)

    def merge(self, other: Figures) -> None:
        """Count what another has counted, too."""
        if other.buckets:
            self.least = min(self.least, other.least) if self.buckets else other.least
            self.most = max(self.most, other.most)
        self.exchanges += other.exchanges
        self.errors += other.errors
        self.request_bytes += other.request_bytes
        self.response_bytes += other.response_bytes
        self.buckets.update(other.buckets)
        self.codes.update(other.codes)

    def percentiles(self, shares: Sequence[float]) -> list[float | None]:
        """The latency in ms below which lie those shares (ascending) of the answers; None without an answer."""
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
    def max_ms(self) -> float | None:
        """The longest latency; None without an answer."""
        return self.most / 1000 if self.buckets else None

    @property
    def errors_by_name(self) -> dict[str, int]:
        """How many exchanges had which error, the most frequent first; one with several counts for each."""
        named = [(OTHERS if code is None else error_name(code), number) for code, number in self.codes.items()]
        return dict(sorted(named, key=lambda each: (-each[1], each[0])))


class TcpFigures(NamedTuple):
    """What TCP says of a connection. round_trip_ms: of its handshake, None where that was not seen. retransmissions:
    segments with bytes that had come before."""

    round_trip_ms: float | None
    retransmissions: int

    def joined(self, other: TcpFigures) -> TcpFigures:
        """Of two connections between the same ends."""
        trips = [each.round_trip_ms for each in (self, other) if each.round_trip_ms is not None]
        return TcpFigures(min(trips, default=None), self.retransmissions + other.retransmissions)


class StatisticsRow(NamedTuple):
    """group: by column; None: what is beyond MOST_GROUPS. tcp: of a group's connection; None: not known."""

    group: dict[str, Any] | None
    figures: Figures
    tcp: TcpFigures | None = None


class StatisticsSink(Sink):
    """Counts exchanges by group. added: groups that others have counted."""

    def __init__(self, by: Sequence[str]) -> None:
        """by: out of COLUMNS; "partition" has its topic in front of it."""
        wanted = [name for each in by for name in (("topic", "partition") if each == "partition" else (each,))]
        self.columns = tuple(dict.fromkeys(wanted))
        self.by = tuple(name for name in self.columns if name != "topic" or "partition" not in self.columns)
        roles = {"topic": {TOPIC}, "partition": {TOPIC, INDEX}, "group": {GROUP}}
        self.roles = frozenset(role for name in self.by for role in roles.get(name, ()))
        if "connection" in self.columns:
            self.connection_end = self.note_end

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        """Count in the core where that can tell what is wanted."""
        self.bodies, chosen = capture.bodies, capture.chosen
        self.groups: dict[tuple[Any, ...] | None, Figures] = {}
        self.added: list[tuple[tuple[Any, ...] | None, Figures]] = []
        self.tcp: dict[str, TcpFigures] = {}
        self.kept = 0
        self.counts: Any = None
        if chosen.topic is None and chosen.is_plain and chosen.where is None:
            from kcli.core.columns.exchange_counts import ExchangeCounts

            self.counts = ExchangeCounts(self.bodies, self.by, self.scans, chosen)
        self.compiled = self.counts

    @property
    def passed(self) -> int:
        """How many exchanges were counted."""
        return self.kept + (0 if self.counts is None else int(self.counts.counted))

    def scans(self, api_key: int, version: int) -> Any:
        """As `kcli.capture.tables.field_paths.scans`: what the sink looks for."""
        return scans(api_key, version, self.roles, self.bodies.dialect)

    def note_end(self, connection: str, round_trip: int, retransmissions: int) -> None:
        """Note what TCP says of a connection. round_trip: ns, -1: not known."""
        made = TcpFigures(round_trip / 1e6 if round_trip >= 0 else None, retransmissions)
        known = self.tcp.get(connection)
        if known is not None or len(self.tcp) < MOST_CONNECTIONS:
            self.tcp[connection] = made if known is None else known.joined(made)

    # Exchanges as values

    def exchange(self, exchange: Exchange) -> None:
        """Count an exchange in each of its groups."""
        self.kept += 1
        codes = list(dict.fromkeys(error_codes(exchange.response or {})))
        named = self.named(exchange)
        none = {"partition": (None, None)}
        values = [self.values(name, exchange, codes, named) or [none.get(name, (None,))] for name in self.by]
        keys = itertools.product(*values)
        for key in itertools.islice(keys, FEW_COMBINED + MOST_COMBINED * sum(map(len, values))):
            self.figures(tuple(itertools.chain.from_iterable(key))).add(exchange, codes)
        if next(keys, None) is not None:
            self.figures(None).add(exchange, codes)

    def figures(self, key: tuple[Any, ...] | None) -> Figures:
        """Those of a group; of the others where there are too many groups."""
        known = self.groups.get(key)
        if known is None:
            key = key if len(self.groups) < MOST_GROUPS else None
            known = self.groups.setdefault(key, Figures())
        return known

    def named(self, exchange: Exchange) -> Named:
        """What both sides of an exchange name, as far as that is counted by."""
        found = Named({}, {}, {})
        api = self.bodies.api(exchange.api_key)
        if self.roles and api is not None:
            names_in(api.request, self.bodies.dialect, exchange.request or None, found)
            names_in(api.response, self.bodies.dialect, exchange.response, found)
        return found

    def values(self, name: str, exchange: Exchange, codes: list[int], named: Named) -> list[tuple[Any, ...]]:
        """Those of a column that an exchange has, each as a part of a group's key."""
        match name:
            case "topic":
                return [(topic,) for topic in named.topics]
            case "partition":
                return [*named.partitions]
            case "group":
                return [(group,) for group in named.groups]
            case "error":
                return [(code,) for code in codes]
            case "minute":
                return [(exchange.request_ns // MINUTE,)]
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

    # What came of it

    def rows(self) -> list[StatisticsRow]:
        """A row for each group: by minute where that is asked for, else the biggest first; the others at the end."""
        made: dict[tuple[Any, ...] | None, Figures] = {}
        for key, figures in [*self.counted(), *self.groups.items()]:
            shown = None if key is None else tuple(map(self.shown, self.key_columns, key))
            made.setdefault(shown, Figures()).merge(figures)
        minute = self.key_columns.index("minute") if "minute" in self.key_columns else None

        def order(each: tuple[tuple[Any, ...] | None, Figures]) -> tuple[Any, ...]:
            key = each[0] or ()
            at = key[minute] if minute is not None and key else ""
            return each[0] is None, at, -each[1].exchanges, [str(value) for value in key]

        return [self.row(self.in_columns(key), figures) for key, figures in sorted(made.items(), key=order)]

    def row(self, group: dict[str, Any] | None, figures: Figures) -> StatisticsRow:
        """A group's row."""
        return StatisticsRow(group, figures, self.tcp.get((group or {}).get("connection", "")))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Of a group's key: as `by`, a partition's topic in front of it."""
        return tuple(name for each in self.by for name in (("topic", each) if each == "partition" else (each,)))

    def in_columns(self, key: tuple[Any, ...] | None) -> dict[str, Any] | None:
        """A group's key by column, in the order that was asked for."""
        if key is None:
            return None
        values = dict(zip(self.key_columns, key, strict=True))
        return {name: values[name] for name in self.columns}

    def counted(self) -> Iterator[tuple[tuple[Any, ...] | None, Figures]]:
        """What the core and others have counted."""
        yield from self.added
        for key, count, errors, asked, answered, least, most, buckets, codes in (
            [] if self.counts is None else self.counts.take_groups()
        ):
            if count:
                yield key, Figures(count, errors, asked, answered, least, most, Counter(buckets), Counter(codes))

    def shown(self, column: str, value: Any) -> Any:
        """A key's value as people know it."""
        if column == "api":
            return self.bodies.name(value) or str(value)
        if column == "minute":
            return f"{instant(value * MINUTE)[:19]}Z"
        if column == "error":
            return None if value is None else error_name(value)
        if isinstance(value, tuple):
            known = self.bodies.names.get(uuid_bytes(value[0]))
            return loads(known) if known is not None else CLUSTER_METADATA if value[0] == METADATA_ID else value[0]
        return value

"""Sessions as statistics that can be compared: those of a capture, and those of a live broker.

recorder = Recorder("session 118273", client_id="checkout-1")
recorder.add(exchange, names)              # a kcli.sessions.trace.FetchExchange, captured or live
differences = compare(recorder.report(), other.report(), level="shape")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from kcli.errors import UsageError
from kcli.schemas.errors import error_name
from kcli.sessions.figures import Latencies
from kcli.sessions.rules import NO_SESSION, Kind, kind_of
from kcli.sessions.trace import FetchExchange

__all__ = [
    "LEVELS",
    "Difference",
    "Level",
    "PartitionReport",
    "Recorder",
    "ResponseReport",
    "SessionReport",
    "compare",
    "compare_all",
    "shown",
]

Level = Literal["strict", "shape", "none"]
LEVELS: tuple[Level, ...] = ("strict", "shape", "none")
# Errors that mean that a session is no more, or is not what the fetcher thinks.
FAULTS = (70, 71, 106)
SHOWN = 5


class PartitionReport(NamedTuple):
    """One partition of a response; the topic by name where that is known. Bytes of records."""

    topic: str
    partition: int
    error: int
    records_bytes: int
    high_watermark: int

    @property
    def name(self) -> str:
        """ "topic[partition]"."""
        return f"{self.topic}[{self.partition}]"


@dataclass(frozen=True, slots=True)
class ResponseReport:
    """One fetch. kind: "full", "incremental", or "close" (epoch -1 with a session).

    error: of the whole response; None when there was none. in_session: the response granted or continued a session.
    asked: how many partitions the request named, forgotten ones included. latency_ms None: unknown.
    """

    kind: str
    error: int | None
    in_session: bool
    asked: int
    partitions: tuple[PartitionReport, ...]
    request_bytes: int
    response_bytes: int
    latency_ms: float | None

    @property
    def records_bytes(self) -> int:
        """Bytes of records, over all partitions."""
        return sum(part.records_bytes for part in self.partitions)


@dataclass(slots=True)
class SessionReport:
    """One session, or the fetches of a client that has none. label: how its owner names it; errors by Kafka's name."""

    label: str
    client_id: str = ""
    replica_id: int = -1
    version: int = -1
    kinds: Counter[str] = field(default_factory=Counter)
    granted: int = 0
    empty: int = 0
    lost: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    partition_errors: Counter[tuple[str, str]] = field(default_factory=Counter)
    wanted: set[str] = field(default_factory=set)
    delivered: Counter[str] = field(default_factory=Counter)
    answered_partitions: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    records_bytes: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    responses: list[ResponseReport] = field(default_factory=list)

    @property
    def fetches(self) -> int:
        """How many fetches, of all kinds."""
        return self.kinds.total()

    def as_dict(self) -> dict[str, Any]:
        """Figures for JSON and for tables; latencies in ms, bytes on the wire."""
        answers = max(1, self.fetches - self.lost)
        return {
            "session": self.label,
            "clientId": self.client_id,
            "replicaId": self.replica_id,
            "apiVersion": self.version,
            "fetches": self.fetches,
            "full": self.kinds["full"],
            "incremental": self.kinds["incremental"],
            "close": self.kinds["close"],
            "granted": self.granted,
            "emptyPolls": self.empty,
            "unanswered": self.lost,
            "errors": dict(self.errors),
            "sessionFaults": dict(self.faults),
            "partitionErrors": {f"{name} {error}": count for (name, error), count in self.partition_errors.items()},
            "partitions": len(self.wanted),
            "partitionsDelivered": len(self.delivered),
            "partitionsPerResponse": round(self.answered_partitions / answers, 2),
            "requestBytes": self.request_bytes,
            "responseBytes": self.response_bytes,
            "bytesPerResponse": round(self.response_bytes / answers, 1),
            "recordsBytes": self.records_bytes,
            "latencyMs": self.latencies.summary(),
        }


class Recorder:
    """Makes a report, fetch by fetch. keep: each response too, as `compare` with "strict" needs them."""

    def __init__(self, label: str, *, client_id: str = "", replica_id: int = -1, keep: bool = True) -> None:
        self._report = SessionReport(label, client_id, replica_id)
        self.keep = keep

    def add(self, x: FetchExchange, names: Mapping[str, str]) -> ResponseReport:
        """Take in a fetch; names: topic ids to names."""
        made = respond(x, names)
        report = self._report
        report.version = x.version
        report.kinds[made.kind] += 1
        report.wanted.update(f"{names.get(topic, topic)}[{index}]" for (topic, index), _ in x.asked)
        report.request_bytes += x.request_bytes
        if made.error is None:
            report.lost += 1
        else:
            self._answer(made, x)
        if self.keep:
            report.responses.append(made)
        return made

    def report(self) -> SessionReport:
        """The figures so far."""
        return self._report

    def _answer(self, made: ResponseReport, x: FetchExchange) -> None:
        report = self._report
        report.response_bytes += made.response_bytes
        report.granted += made.in_session and made.kind == "full"
        report.answered_partitions += len(made.partitions)
        if made.error:
            report.errors[error_name(made.error)] += 1
        if made.error in FAULTS:
            report.faults[error_name(made.error)] += 1
        for part in made.partitions:
            if part.error:
                report.partition_errors[part.name, error_name(part.error)] += 1
            if part.records_bytes:
                report.delivered[part.name] += part.records_bytes
                report.records_bytes += part.records_bytes
        report.empty += not made.error and not made.records_bytes
        if x.response_ns is not None:
            report.latencies.add(x.response_ns - x.ns)


def respond(x: FetchExchange, names: Mapping[str, str]) -> ResponseReport:
    kind = kind_of(x.session_epoch)
    closes = kind is Kind.FINAL and x.session_id != NO_SESSION
    parts = tuple(
        PartitionReport(names.get(topic, topic), index, reported[0], reported[4], reported[1])
        for (topic, index), reported in x.reported
    )
    return ResponseReport(
        "incremental" if kind is Kind.INCREMENTAL else "close" if closes else "full",
        x.error if x.answered else None,
        bool(x.granted) and not x.error,
        len(x.asked) + len(x.forgotten),
        parts,
        x.request_bytes,
        x.response_bytes,
        None if x.response_ns is None else (x.response_ns - x.ns) / 1e6,
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a live session and the captured one; fetch: its number, None for the whole session."""

    session: str
    what: str
    captured: Any
    live: Any
    fetch: int | None = None

    def __str__(self) -> str:
        at = f", fetch {self.fetch}" if self.fetch is not None else ""
        return f"{self.session}{at}: {self.what}: captured {self.captured}, live {self.live}"

    def as_dict(self) -> dict[str, Any]:
        """Its line of JSON."""
        return {
            "session": self.session,
            "fetch": self.fetch,
            "what": self.what,
            "captured": self.captured,
            "live": self.live,
        }


def compare(captured: SessionReport, live: SessionReport, level: Level = "shape") -> list[Difference]:
    """How the live session differs.

    shape: the same kinds of fetches over the same partitions, a session where there was one, records of each partition
        that had any, and no error or session fault that the capture does not have; sizes, timing, the number of
        partitions in a response and what only a full session cache brings about (no session, 70) may differ
    strict: besides, each response has the same error, and the same partitions with the same errors and bytes
    none: nothing is compared
    """
    if level not in LEVELS:
        raise UsageError(f"{level}: no level of comparison (there are: {', '.join(LEVELS)})")
    if level == "none":
        return []
    found = list(compare_shape(captured, live))
    if level == "strict":
        found += compare_responses(captured, live)
    return found


def compare_all(
    captured: Sequence[SessionReport], live: Sequence[SessionReport], level: Level = "shape"
) -> list[Difference]:
    """Sessions by their labels; one that is missing on either side is a difference."""
    if level == "none":
        return []
    lives = {report.label: report for report in live}
    found = []
    for report in captured:
        other = lives.pop(report.label, None)
        if other is None:
            found.append(Difference(report.label, "the session", f"{report.fetches} fetches", "none"))
        else:
            found += compare(report, other, level)
    found += [Difference(label, "the session", "none", f"{report.fetches} fetches") for label, report in lives.items()]
    return found


def compare_shape(captured: SessionReport, live: SessionReport) -> Iterable[Difference]:
    label = captured.label
    for kind in ("full", "incremental", "close"):
        if captured.kinds[kind] != live.kinds[kind]:
            yield Difference(label, f"{kind} fetches", captured.kinds[kind], live.kinds[kind])
    if captured.granted and not live.granted:
        yield Difference(label, "sessions granted", captured.granted, live.granted)
    for name in sorted(live.errors.keys() - captured.errors.keys()):
        yield Difference(label, f"responses with {name}", 0, live.errors[name])
    for partition, name in sorted(live.partition_errors.keys() - captured.partition_errors.keys()):
        yield Difference(label, f"{name} of {partition}", 0, live.partition_errors[partition, name])
    if captured.wanted != live.wanted:
        only = sorted(captured.wanted - live.wanted), sorted(live.wanted - captured.wanted)
        yield Difference(label, "partitions asked for by one side only", shown(only[0]), shown(only[1]))
    silent = sorted(captured.delivered.keys() - live.delivered.keys())
    if silent:
        yield Difference(label, f"records of {shown(silent)}", sum(captured.delivered[name] for name in silent), 0)
    if live.lost > captured.lost:
        yield Difference(label, "fetches without an answer", captured.lost, live.lost)


def compare_responses(captured: SessionReport, live: SessionReport) -> Iterable[Difference]:
    for number, (one, other) in enumerate(zip(captured.responses, live.responses, strict=False)):
        if (one.kind, one.error) != (other.kind, other.error):
            yield Difference(captured.label, "kind and error", (one.kind, one.error), (other.kind, other.error), number)
        elif one.in_session != other.in_session:
            yield Difference(captured.label, "in a session", one.in_session, other.in_session, number)
        else:
            yield from compare_partitions(captured.label, number, one, other)


def compare_partitions(label: str, number: int, one: ResponseReport, other: ResponseReport) -> Iterable[Difference]:
    ones = {part.name: (part.error, part.records_bytes) for part in one.partitions}
    others = {part.name: (part.error, part.records_bytes) for part in other.partitions}
    if ones.keys() != others.keys():
        only = sorted(ones.keys() - others.keys()), sorted(others.keys() - ones.keys())
        yield Difference(label, "partitions of one response only", shown(only[0]), shown(only[1]), number)
    for name in ones.keys() & others.keys():
        if ones[name] != others[name]:
            yield Difference(label, f"error and bytes of {name}", ones[name], others[name], number)


def shown(names: Sequence[str]) -> str:
    """The first few names."""
    rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + rest if names else "none"

"""Statistics of a session's fetches, captured or live, that `kcli.sessions.comparison` compares.

recorder = Recorder("session 118273", client_id="checkout-1")
recorder.add(exchange, names)              # a kcli.sessions.fetch_exchange.FetchExchange
recorder.report().as_dict()
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.schemas.errors import error_name
from kcli.sessions.epochs import EPOCH_MISMATCH, ID_NOT_FOUND, NO_SESSION, TOPIC_ID_MISMATCH
from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.latency_histogram import LatencyHistogram
from kcli.sessions.rules import Kind, kind_of

# Errors of a session that is gone, or in another state than the fetcher's.
FAULTS = (ID_NOT_FOUND, EPOCH_MISMATCH, TOPIC_ID_MISMATCH)


class PartitionReport(NamedTuple):
    """One partition of a response. topic: its name if that is known, else its id; records_bytes: bytes of records."""

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
    """One fetch.

    kind: "full", "incremental", or "close" (epoch -1 with a session)
    error: of the whole response; None without a response
    in_session: the response granted or continued a session
    asked: number of partitions that the request named, including forgotten ones
    latency_ms: None if unknown
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
    """One session, or the fetches of a client without one. label: its name for the caller; errors: by Kafka's names."""

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
    latencies: LatencyHistogram = field(default_factory=LatencyHistogram)
    responses: list[ResponseReport] = field(default_factory=list)

    @property
    def fetches(self) -> int:
        """Return the number of fetches of all kinds."""
        return self.kinds.total()

    def as_dict(self) -> dict[str, Any]:
        """Return figures for JSON and tables: latencies in ms, bytes on the wire."""
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
    """Makes a report, fetch by fetch. keep: keep each response, too, which `compare` needs for "strict"."""

    def __init__(self, label: str, *, client_id: str = "", keep: bool = True) -> None:
        self._report = SessionReport(label, client_id)
        self.keep = keep

    def add(self, x: FetchExchange, names: Mapping[str, str]) -> ResponseReport:
        """Add a fetch. names: {topic id: name}."""
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
        """Return the report of all fetches up to now."""
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

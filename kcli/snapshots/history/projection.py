"""The growth of a metadata log, and the time of its next snapshot and retention at that rate.

A controller takes a snapshot when so many bytes were written since the last one, or when that is so old and there is
anything new (`SnapshotGenerator`). It deletes its oldest snapshot, and the log before the next one, when that is too
old, or log and snapshots together are too large (`KafkaMetadataLog.maybeClean`); the newest snapshot stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcli.snapshots.reading.log_spans import LogSpan

DAY = 86_400_000  # ms
# Kafka's properties, with their defaults.
DEFAULTS = {
    "metadata.log.max.record.bytes.between.snapshots": 20 << 20,
    "metadata.log.max.snapshot.interval.ms": 3_600_000,
    "metadata.log.segment.bytes": 1 << 30,
    "metadata.log.segment.ms": 7 * DAY,
    "metadata.max.retention.bytes": 100 << 20,
    "metadata.max.retention.ms": 7 * DAY,
    "controller.snapshot.minimum.records": 0,  # KIP-630's, which Apache Kafka does not have; 0: no such rule
    "max.replication.lag.ms": 7 * DAY,
}


@dataclass(frozen=True, slots=True)
class Snapshots:
    """Those that are there. size: bytes of all; newest_size; oldest_ms, newest_ms: of their last records, None: not
    known, or there is none; count."""

    count: int = 0
    size: int = 0
    newest_size: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Projection:
    """Times in ms; None: never, or not to be known.

    by_bytes, by_age: the next snapshot; folder_per_day: bytes that log and snapshots grow by; full: when they reach
    metadata.max.retention.bytes; expires: when the oldest snapshot is metadata.max.retention.ms old
    """

    by_bytes: int | None
    by_age: int | None
    folder_per_day: int | None
    full: int | None
    expires: int | None


def per_day(amount: float, log: LogSpan) -> int | None:
    """Return an amount of the whole log as one a day; None for a log of no time."""
    if log.first_ms is None or log.last_ms is None or log.last_ms <= log.first_ms:
        return None
    return round(amount * DAY / (log.last_ms - log.first_ms))


def growth_by_type(log: LogSpan) -> list[tuple[str, int, int, int | None]]:
    """Return (type, records, bytes, bytes a day), the largest first."""
    rows = [(name, records, size, per_day(size, log)) for name, (records, size) in log.types.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def project(log: LogSpan, since: Sequence[LogSpan], snapshots: Snapshots, properties: dict[str, int]) -> Projection:
    """Predict the next snapshot and retention from the log's mean growth. since: its spans after the
    newest snapshot.
    """
    rate = per_day(log.size, log)
    limit, interval = (properties[name] for name in list(DEFAULTS)[:2])
    left = limit - sum(span.size for span in since)
    by_bytes = after(log.last_ms, left, rate)
    by_age = None if not interval or snapshots.newest_ms is None else snapshots.newest_ms + interval
    often = 0.0 if not rate else rate / max(limit, 1)
    often = max(often, DAY / interval) if rate and interval else often
    folder = None if rate is None else round(rate + often * snapshots.newest_size)
    room = properties["metadata.max.retention.bytes"] - log.size - snapshots.size
    keeps = properties["metadata.max.retention.ms"]
    expires = None if snapshots.oldest_ms is None or keeps < 0 else snapshots.oldest_ms + keeps
    full = after(log.last_ms, room, folder) if properties["metadata.max.retention.bytes"] >= 0 else None
    return Projection(by_bytes, by_age, folder, full, expires)


def after(start: int | None, room: int, rate: int | None) -> int | None:
    """Return when `room` more bytes will have come, at `rate` bytes a day."""
    if start is None or not rate:
        return None
    return start + max(room, 0) * DAY // rate

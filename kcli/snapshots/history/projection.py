"""Predicts a metadata log's growth, and when its next snapshot and retention are due at that rate.

A controller takes a snapshot when enough bytes were written since the last one, or when the last one is old enough and
anything was written since (`SnapshotGenerator`). It deletes its oldest snapshot, and the log before the next one, when
that snapshot is too old, or log and snapshots together are too large (`KafkaMetadataLog.maybeClean`). The newest
snapshot always stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from kcli.snapshots.reading.log_spans import LogSpan
from kcli.snapshots.rules.policy import MAX_BYTES, MAX_INTERVAL

DAY = 86_400_000  # ms


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots of a folder.

    count; size: bytes of all; newest_size: bytes; oldest_ms, newest_ms: timestamps of their last records; None if not
    known, or if there is no snapshot
    """

    count: int = 0
    size: int = 0
    newest_size: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Projection:
    """Predicted times in ms; None: never, or not known.

    by_bytes, by_age: the next snapshot; folder_per_day: bytes by which log and snapshots grow; full: when they reach
    metadata.max.retention.bytes; expires: when the oldest snapshot is metadata.max.retention.ms old
    """

    by_bytes: int | None
    by_age: int | None
    folder_per_day: int | None
    full: int | None
    expires: int | None


def per_day(amount: float, log: LogSpan) -> int | None:
    """Convert an amount of the whole log to one of a day. Returns None if the log's timestamps span no time."""
    if log.first_ms is None or log.last_ms is None or log.last_ms <= log.first_ms:
        return None
    return round(amount * DAY / (log.last_ms - log.first_ms))


def growth_by_type(log: LogSpan) -> list[tuple[str, int, int, int | None]]:
    """Return (type, records, bytes, bytes a day) of each record type, the largest first."""
    rows = [(name, records, size, per_day(size, log)) for name, (records, size) in log.types.items()]
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def project(log: LogSpan, since: Sequence[LogSpan], snapshots: Snapshots, properties: dict[str, int]) -> Projection:
    """Predict the next snapshot and retention from the log's mean growth.

    since: the log's spans after the newest snapshot; properties: values for the keys of `policy.DEFAULTS`
    """
    rate = per_day(log.size, log)
    limit, interval = properties[MAX_BYTES], properties[MAX_INTERVAL]
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
    """Return the time (ms) when `room` more bytes will have been written, at `rate` bytes a day. None if nothing
    grows.
    """
    if start is None or not rate:
        return None
    return start + max(room, 0) * DAY // rate

"""A metadata log in spans between given offsets: the bytes of its records by type."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kcli.errors import DecodeError, InputError
from kcli.records.control import CONTROL_TYPES
from kcli.snapshots.reading.decoding import Decoder
from kcli.snapshots.reading.framing import Batch, Fault, batches, release
from kcli.snapshots.reading.walk import opened, walk

FRAME = 3  # bytes before a metadata record: frame version, type and version


@dataclass(slots=True)
class LogSpan:
    """The part of the log from an offset up to the next span.

    size: bytes of its batches; records: number of their offsets; types: {"PARTITION_RECORD": [records, bytes]}

    first_ms, last_ms: of the batches' timestamps; epoch: of the last batch; end: the offset after it
    """

    start: int
    size: int = 0
    records: int = 0
    types: dict[str, list[int]] = field(default_factory=dict)
    first_ms: int | None = None
    last_ms: int | None = None
    epoch: int = -1
    end: int | None = None


def log_spans(boundaries: Iterable[int]) -> list[LogSpan]:
    """Return empty spans, one from each of these offsets on."""
    return [LogSpan(start) for start in sorted(set(boundaries))]


def count_segment(
    spans: Sequence[LogSpan], data: memoryview, decoder: Decoder, problems: list[str], mapped: object = None
) -> tuple[int, Fault | None]:
    """Add the batches of a segment to the spans that they end in, up to the first fault in the framing.

    mapped: see `release`; problems: gets a text for each batch that can't be opened. Returns the offset after the last
    batch, 0 without any, and the fault, None without one.
    """
    starts, end = [span.start for span in spans], 0
    for batch in batches(data):
        if isinstance(batch, Fault):
            return end, batch
        span = spans[max(bisect_right(starts, batch.last_offset) - 1, 0)]
        span.size += batch.size
        span.records += batch.last_offset + 1 - batch.base_offset
        if batch.base_timestamp >= 0 and span.first_ms is None:
            span.first_ms = batch.base_timestamp
        span.last_ms = max(span.last_ms or 0, batch.append_timestamp)
        span.epoch, span.end = batch.leader_epoch, (end := batch.last_offset + 1)
        try:
            count_types(span, opened(data, batch), batch, decoder)
        except InputError as error:
            problems.append(f"at byte {batch.position}: {error}")
        release(mapped, batch.position, batch.end)
    return end, None


def count_types(span: LogSpan, records: memoryview, batch: Batch, decoder: Decoder) -> None:
    for _, key, _, start, end, problem in walk(records, batch):
        if key is None:
            name = problem
        elif batch.is_control:
            name = CONTROL_TYPES.get(key, f"control type {key}")
        else:
            name = decoder.type_names.get(key, f"type {key}")
        row = span.types.setdefault(name, [0, 0])
        row[0] += 1
        row[1] += end - start + (0 if batch.is_control else FRAME)


def total(spans: Iterable[LogSpan]) -> LogSpan:
    """Return several spans, in order, joined to one."""
    found = LogSpan(-1)
    for span in spans:
        found.start = span.start if found.start < 0 else found.start
        found.size += span.size
        found.records += span.records
        for name, (records, size) in span.types.items():
            row = found.types.setdefault(name, [0, 0])
            row[0] += records
            row[1] += size
        if span.end is not None:
            found.first_ms = span.first_ms if found.first_ms is None else found.first_ms
            found.last_ms, found.epoch, found.end = span.last_ms, span.epoch, span.end
    return found


def header_time(data: memoryview) -> int | None:
    """Return the timestamp (ms) of the last log record in a snapshot, from its header; None without a readable
    header.
    """
    first = next(batches(data), None)
    if not isinstance(first, Batch) or not first.is_control:
        return None
    try:
        records = opened(data, first)
        _, key, _, start, end, _ = next(iter(walk(records, first)))
        found = Decoder().read_control(key, records[start:end]) if key is not None else {}
    except (StopIteration, InputError, DecodeError):
        return None
    time = found.get("lastContainedLogTimestamp")
    return int(time) if time is not None else None

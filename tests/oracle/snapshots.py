"""The interpreted twins of the core's readers of snapshots and metadata logs."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from kcli.core.codec.varints import read_unsigned, read_zigzag
from kcli.snapshots.reading import walk as reading
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.walk import Row


def by_oracle() -> contextlib.AbstractContextManager[Any]:
    """Have records read by the oracle: all of them are decoded and counted in Python."""
    return patch.object(reading, "Walk", walk)


def walk_batch(records: memoryview, batch: Batch) -> Iterator[Row]:
    """Yield the records of a batch's opened body."""
    return walk(records, batch.base_offset, batch.record_count, batch.is_control)


def walk(records: memoryview, base_offset: int, record_count: int, is_control: bool, *_: object) -> Iterator[Row]:
    """Yield what the core's Walk yields that is given nothing to apply records to."""
    at, end = 0, len(records)
    for place in range(max(record_count, 0)):
        try:
            at, offset_delta, key, value, headers = cut_record(records, at)
        except ValueError:
            yield base_offset, None, None, at, end, "record"
            return
        offset = base_offset + offset_delta
        if value is None:
            yield offset, None, None, at, at, "null-value"
        elif is_control:
            yield control_row(records, offset, key, value)
        elif value[0] == value[1]:
            yield offset, None, None, at, at, "empty-value"
        else:
            row = framed_row(records, offset, key, value, headers, at)
            yield row if row[5] or offset_delta == place else (*row[:5], "offset")
    if at != end:
        yield base_offset, None, None, at, end, "surplus"


Span = tuple[int, int]


def cut_record(data: memoryview, at: int) -> tuple[int, int, Span | None, Span | None, int]:
    """(end, offset delta, key span, value span, header count) of the record at `at`; ValueError: its lengths lie."""
    size, at = read_zigzag(data, at, len(data), 5)
    if size < 1 or size > len(data) - at:
        raise ValueError
    stop = at + size
    _, at = read_zigzag(data, at + 1, stop, 10)
    offset_delta, at = read_zigzag(data, at, stop, 5)
    key, at = sized(data, at, stop)
    value, at = sized(data, at, stop)
    headers, at = read_zigzag(data, at, stop, 5)
    if headers < 0:
        raise ValueError
    for _ in range(headers):
        name, at = sized(data, at, stop)
        if name is None:
            raise ValueError
        _, at = sized(data, at, stop)
    if at != stop:
        raise ValueError
    return stop, offset_delta, key, value, headers


def control_row(data: memoryview, offset: int, key: Span | None, value: Span) -> Row:
    if key is None or key[1] - key[0] < 4:
        return offset, None, None, *value, "control-key"
    version, kind = (int.from_bytes(data[at : at + 2]) for at in (key[0], key[0] + 2))
    return offset, kind, version, *value, ""


def framed_row(data: memoryview, offset: int, key: Span | None, value: Span, headers: int, after: int) -> Row:
    at, end = value
    kind = version = 0
    try:
        frame, at = read_unsigned(data, at, end, 5)
        if frame == 1:
            kind, at = read_unsigned(data, at, end, 5)
            version, at = read_unsigned(data, at, end, 5)
    except ValueError:
        return offset, None, None, value[0], after, "frame"
    if frame != 1:
        problem = "frame-version"
    elif max(kind, version) > 32767:
        problem = "frame-range"
    else:
        problem = "key" if key is not None else "headers" if headers else ""
    return offset, kind, version, at, end, problem


def sized(data: memoryview, at: int, end: int) -> tuple[Span | None, int]:
    """The span behind a varint length; None for null (-1)."""
    size, at = read_zigzag(data, at, end, 5)
    if size < -1 or size > end - at:
        raise ValueError
    return (None, at) if size < 0 else ((at, at + size), at + size)


class StateCounts:
    """Counts partitions by state while a log changes them, as `kcli.core.snapshots.snapshot.StateCounts` does."""

    def __init__(self, counts: list[int]) -> None:
        self.counts, self.most = [*counts], [*counts]
        self.moves: dict[tuple[bytes, int], list[int | None]] = {}
        self.records = self.size = 0
        self.time: int | None = None

    def begin(self) -> None:
        """Begin to count the most partitions anew."""
        self.most = [*self.counts]

    def shift(self, before: int, after: int) -> None:
        """Count a partition whose state changes. before, after: bits in the order of `counts`."""
        for state, count in enumerate(self.counts):
            now = self.counts[state] = count + (after >> state & 1) - (before >> state & 1)
            self.most[state] = max(self.most[state], now)

    def move(self, topic: bytes, partition: int) -> None:
        """Count another leader of a partition, or none."""
        row = self.moves.setdefault((topic, partition), [0, None])
        row[:] = (row[0] or 0) + 1, self.time

"""Down-conversion of whole batches on the grammar: what `kcli.core.records.downconvert` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kcli.errors import InputError
from tests.oracle.records.framing import DONE as WHOLE
from tests.oracle.records.framing import Frame, read_frame
from tests.oracle.records.record_values import Problem, Row, open_set, read_messages, read_records, write_message

if TYPE_CHECKING:
    from typing_extensions import Buffer

DONE, DAMAGED, UNSUPPORTED, BROKEN = 0, 1, 2, 3
APPEND_TIME, CONTROL, ZSTD = 8, 32, 4
LEGACY_NULL, OFFSET_ORDER, TIMESTAMP = 14, 12, 13


class BrokenError(Exception):
    """A batch that can't be converted, with the problem of it."""


class Converter:
    """As `kcli.core.records.downconvert.Converter`."""

    def __init__(
        self,
        magic: int,
        first_offset: int,
        decompress: Callable[[int, Buffer, int], Buffer],
        compress: Callable[[int, Buffer, int], Buffer],
        counting: bool = False,
    ) -> None:
        self.magic, self.first_offset, self.counting = magic, first_offset, counting
        self.decompress, self.compress = decompress, compress
        self.out = bytearray()
        self.problem: Problem | InputError | None = None
        self.records = self.headers_lost = self.planned = 0
        self.estimated = False

    def size(self) -> int:
        """Bytes that were converted and not yet taken."""
        return len(self.out)

    def text(self) -> memoryview:
        """The bytes that were converted."""
        return memoryview(bytes(self.out))

    def take(self) -> bytes:
        """Return the converted bytes, and drop them."""
        data = bytes(self.out)
        self.out.clear()
        return data

    def clear(self) -> None:
        """Drop the converted bytes."""
        self.out = bytearray()

    def convert(self, data: Buffer, start: int, stop: int) -> tuple[int, int]:
        """Convert the batches of a chunk (as kcli.core.records.downconvert does)."""
        view = memoryview(data)
        while start < stop:
            status, frame = read_frame(view, start, stop)
            if status != WHOLE or frame is None:
                return DAMAGED, start
            if frame.codec == ZSTD and not (frame.magic >= 2 and frame.attributes & CONTROL):
                return UNSUPPORTED, start
            try:
                self.put(self.entry(frame, view[start : start + frame.size]))
            except BrokenError as error:
                self.problem = error.args[0]
                return BROKEN, start
            except InputError as error:
                self.problem = error
                return BROKEN, start
            start += frame.size
        return DONE, start

    def put(self, data: bytes) -> None:
        """Add bytes to what was converted, unless they are only counted."""
        if not self.counting:
            self.out += data

    def entry(self, frame: Frame, entry: memoryview) -> bytes:
        """What an entry becomes: itself where its magic is old enough, nothing for a control batch, else messages."""
        if frame.magic >= 2 and frame.attributes & CONTROL:
            return b""
        if frame.magic <= self.magic:
            self.planned += len(entry)
            return bytes(entry)
        if frame.magic >= 2 and frame.count == 0:
            return b""
        data = self.payload(frame)
        rows = [row for row in self.rows(frame, data) if frame.codec or row[0] >= self.first_offset]
        self.check(rows)
        if not rows:
            return b""
        self.records += len(rows)
        self.headers_lost += sum(bool(row[4]) for row in rows)
        flags = frame.attributes & APPEND_TIME if self.magic else 0
        base = rows[0][0] if frame.codec and self.magic else 0
        inner = b"".join(write_message(row[0] - base, self.magic, flags, *row[1:4]) for row in rows)
        if not frame.codec:
            self.planned += len(inner)
            return inner
        self.estimated = True
        self.planned += 34 + len(inner) * len(frame.payload or b"") // max(len(data), 1)
        time = frame.max_timestamp if flags else max(-1, *(row[1] for row in rows))
        folded = bytes(memoryview(self.compress(frame.codec, inner, self.magic)))
        return write_message(rows[-1][0], self.magic, flags | frame.codec, time, None, folded)

    def payload(self, frame: Frame) -> memoryview:
        """The records of a batch, or the value of a message, decompressed."""
        if frame.magic < 2 and frame.broken:
            raise BrokenError((frame.broken, 0, 0, frame.value_size, frame.size))
        if frame.payload is None:
            if frame.codec:
                raise BrokenError((LEGACY_NULL, 0, 0, frame.codec, 0))
            return memoryview(b"")
        if not frame.codec:
            return frame.payload
        return memoryview(self.decompress(frame.codec, frame.payload, frame.magic))

    def rows(self, frame: Frame, data: memoryview) -> list[Row]:
        """The records of an entry. BrokenError: one can't be read."""
        problem: Problem | None = None
        if frame.magic >= 2:
            appended = bool(frame.attributes & APPEND_TIME)
            time = frame.max_timestamp if appended else frame.base_timestamp
            rows, problem = read_records(data, frame.count, frame.base_offset, time, appended)
        elif frame.codec:
            problem = open_set(frame, data)[2]
            rows, _ = read_messages(data, frame.magic, frame.attributes, frame.base_offset, frame.max_timestamp)
        else:
            value = None if frame.payload is None else bytes(frame.payload)
            rows = [(frame.base_offset, frame.max_timestamp, frame.key, value, ())]
        if problem is not None:
            raise BrokenError(problem)
        return rows

    def check(self, rows: list[Row]) -> None:
        """BrokenError for offsets that do not rise, or that no message can hold."""
        before: int | None = None
        for index, (offset, time, *_rest) in enumerate(rows):
            if before is not None and offset <= before:
                raise BrokenError((OFFSET_ORDER, index, 0, offset, before))
            if time < -1:
                raise BrokenError((TIMESTAMP, index, 0, time, 0))
            before = offset


def chunk_end(data: Buffer, start: int, size: int, chunk: int) -> tuple[int, int]:
    """Where a chunk of at most so many bytes ends, or the one batch that is longer: (status, end), as the core's."""
    view, at = memoryview(data), start
    while True:
        status, frame = read_frame(view, at, size)
        if frame is None:
            return status, at
        if at > start and at + frame.size - start > chunk:
            return DONE, at
        at += frame.size


def find_offset(data: Buffer, start: int, size: int, offset: int) -> tuple[bool, int]:
    """The first entry whose last offset reaches `offset`: (whether there is one, where), as the core's."""
    view = memoryview(data)
    while True:
        _status, frame = read_frame(view, start, size)
        if frame is None:
            return False, start
        if frame.last_offset >= offset:
            return True, start
        start += frame.size

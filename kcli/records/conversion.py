"""Down-converts batches to magic 0 or 1, lazily and in chunks (KIP-283).

This module cuts the source into chunks. core/records/downconvert.h converts a batch (Kafka's RecordsUtil.downConvert).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kcli.core.records import batches as frames
from kcli.core.records import downconvert as core
from kcli.core.records.problems import REASONS
from kcli.errors import DecodeError, InputError
from kcli.records.chunks import ReadInto
from kcli.records.codecs import compress, decompress
from kcli.records.damage import describe, has_odd_magic

if TYPE_CHECKING:
    from typing_extensions import Buffer

CHUNK_BYTES = 128 * 1024

# The error that Kafka returns to a consumer that does not support zstd.
UNSUPPORTED = "UNSUPPORTED_COMPRESSION_TYPE (76)"


class UnsupportedCompressionError(InputError):
    """A zstd batch can't be converted: magic 0 and 1 have no such codec, and batches are not compressed again with
    another one.
    """


@dataclass(frozen=True, slots=True)
class Slice:
    """`size` bytes of a source from `start` on. read(into, position): returns the number of bytes read."""

    read: ReadInto
    start: int
    size: int

    @classmethod
    def of(cls, data: Buffer) -> Slice:
        """Return bytes in memory as a slice."""
        view = memoryview(data).cast("B")

        def read(into: memoryview, position: int) -> int:
            part = view[position : position + len(into)]
            into[: len(part)] = part
            return len(part)

        return cls(read, 0, len(view))

    def read_at(self, into: memoryview, position: int) -> int:
        """Read into a buffer from a position in the source, up to the slice's end. Returns the number of bytes read, 0
        at the end.
        """
        left = self.start + self.size - position
        return self.read(into[: max(left, 0)], position) if left > 0 else 0


@dataclass(slots=True)
class Conversion:
    """Conversion of one slice, chunk by chunk. The counts cover the batches converted so far."""

    source: Slice
    magic: int
    first_offset: int = 0
    chunk_bytes: int = CHUNK_BYTES
    counting: bool = False  # nothing is written: `converter.planned` and `most_held` count the bytes
    converter: core.Converter = field(init=False)
    position: int = field(init=False)
    data: bytearray = field(init=False)
    have: int = field(init=False, default=0)
    trailing: str = field(init=False, default="")
    most_held: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.converter = core.Converter(self.magic, self.first_offset, decompress, compress, self.counting)
        self.position = self.source.start
        self.data = bytearray(max(min(self.chunk_bytes, self.source.size), 64))

    def chunks(self, chunk_bytes: int | None = None) -> Iterator[memoryview]:
        """Yield the converted chunks, each made of whole batches of at most `chunk_bytes`, but at least one.

        A chunk's bytes are valid until the next chunk. A chunk without a record is left out. A batch that is cut at the
        end is left out; `trailing` says so. Raises UnsupportedCompressionError, DecodeError; then `converter.text()`
        has the part of the chunk that was converted.
        """
        limit = self.chunk_bytes if chunk_bytes is None else chunk_bytes
        while end := self.next_chunk(limit):
            self.converter.clear()
            before = self.converter.planned
            status, at = self.converter.convert(self.data, 0, end)
            if self.counting:
                self.most_held = max(self.most_held, end + self.converter.planned - before)
            if status != core.DONE:
                raise self.error(status, at)
            self.drop(end)
            if self.converter.size():
                yield self.converter.text()

    def next_chunk(self, limit: int) -> int:
        """Fill the buffer. Returns the number of bytes of the next chunk in it, 0 at the end. Raises DecodeError for
        bytes that are not a batch.
        """
        while True:
            whole = self.fill()
            status, end = core.chunk_end(self.data, 0, self.have, limit)
            if end:
                return end
            if status == frames.PARTIAL and not whole:
                self.data.extend(bytes(len(self.data)))
                continue
            if status == frames.PARTIAL and not has_odd_magic(self.data, self.have, 0):
                self.trailing = (
                    f"{self.have} bytes at 0x{self.position:x} are the beginning of a batch, and were left out"
                )
            elif status != frames.END:
                raise self.error(core.DAMAGED, 0)
            return 0

    def fill(self) -> bool:
        """Read more bytes. Returns whether the slice has ended."""
        view = memoryview(self.data)
        while self.have < len(self.data):
            n = self.source.read_at(view[self.have :], self.position + self.have)
            if n == 0:
                return True
            self.have += n
        return self.position + self.have >= self.source.start + self.source.size

    def drop(self, size: int) -> None:
        """Drop bytes at the start of the buffer."""
        self.position += size
        self.have -= size
        self.data[: self.have] = self.data[size : size + self.have]

    def error(self, status: int, at: int) -> InputError:
        """Return the error for a batch that the kernel could not convert, with its position in the source."""
        where = self.position + at
        if status == core.UNSUPPORTED:
            has = f"compressed with zstd, which magic {self.magic} does not have"
            return UnsupportedCompressionError(f"the batch at 0x{where:x} is {has}: {UNSUPPORTED}")
        problem = self.converter.problem
        if status == core.DAMAGED or problem is None:
            code, _end, _begun = frames.whole(self.data, at, self.have)
            return DecodeError("", where, f"no batch at 0x{where:x}: {describe(self.data, self.have, at, code)}")
        if isinstance(problem, InputError):
            return DecodeError("records", where, f"{problem} (in the batch at 0x{where:x})")
        code, record, _at, declared, actual = problem
        suffix, reason = REASONS[code]
        path = "records" if suffix is None else f"records[{record}]{suffix}"
        return DecodeError(path, where, f"{reason.format(says=declared, here=actual)} (in the batch at 0x{where:x})")


def down_convert(
    data: Buffer | Slice, magic: int, *, chunk_bytes: int = CHUNK_BYTES, first_offset: int = 0
) -> Iterator[bytes]:
    """Yield the batches of a buffer or slice as messages of `magic` 0 or 1, chunk by chunk.

    first_offset: records below it are left out of uncompressed batches. Raises UnsupportedCompressionError at a zstd
    batch, DecodeError at a damaged one, after the batches before it.
    """
    conversion = Conversion(data if isinstance(data, Slice) else Slice.of(data), magic, first_offset, chunk_bytes)
    try:
        for chunk in conversion.chunks():
            yield bytes(chunk)
    except InputError:
        yield conversion.converter.take()
        raise

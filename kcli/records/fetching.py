"""The bytes that a broker sends for one partition of a fetch with down-conversion: exactly the size stated first.

Kafka's LazyDownConversionRecords names max(bytes before, bytes of the first batch after conversion); what is longer is
cut anywhere, what is shorter is filled with overflow messages, which a consumer takes for a batch that is not all there
(LazyDownConversionRecordsSend). The text of KIP-283 has whole batches up to the size, then one message that says
2147483647 bytes: tail "kip".

Two faults of Kafka's are not copied: where the first batches vanish, its first remaining one is sent twice; a zstd
batch with more than 131072 bytes left to fill breaks the send off.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcli.core.records import batches as frames
from kcli.core.records import downconvert as core
from kcli.errors import DecodeError, UsageError
from kcli.records.conversion import CHUNK_BYTES, Conversion, Slice, UnsupportedCompressionError
from kcli.records.entries import LEAST_ENTRY, entry_size

# LazyDownConversionRecordsSend: the least an answer with batches has, and the most that is made at once.
LEAST_OVERFLOW = 12
OVERFLOW_BYTES = 128 * 1024


def cut_slice(source: Slice, fetch_size: int, first_offset: int = 0) -> Slice:
    """Return the slice that a broker reads for a fetch: from the batch that holds first_offset, at most fetch_size
    bytes but at least one batch. Empty for an offset beyond the end.
    """
    position = source.start
    if first_offset > 0:
        found = find_offset(source, first_offset)
        if found is None:
            return Slice(source.read, source.start + source.size, 0)
        position = found
    left = source.start + source.size - position
    header = bytearray(LEAST_ENTRY)
    whole = 0
    if source.read_at(memoryview(header), position) == len(header):
        whole = entry_size(header)
    least = whole if 0 < whole <= left else 0
    return Slice(source.read, position, min(max(fetch_size, least), left))


def find_offset(source: Slice, offset: int) -> int | None:
    """Return where the first batch begins whose last offset is at or above `offset`, by headers alone."""
    position, end = source.start, source.start + source.size
    data = bytearray(CHUNK_BYTES)
    while position < end:
        have = source.read_at(memoryview(data), position)
        found, at = core.find_offset(data, 0, have, offset)
        if found:
            return position + at
        if at == 0:
            size = entry_size(data)
            if have < LEAST_ENTRY or size <= have or position + size > end:
                return None
            data = bytearray(size)
            continue
        position += at
    return None


@dataclass(slots=True)
class FetchSend:
    """The answer for one partition: `size` is known at once, iterating gives exactly that many bytes.

    The first batch has to be converted to know it. Of a fetch of many partitions all wait for the socket together, so
    only a small one is kept till then; a long one (more than a chunk) is converted again when its turn comes.

    source: what `cut_slice` gave. Raises UnsupportedCompressionError, DecodeError if the first batch can't be
    converted: there is nothing to send. DecodeError while iterating: a damaged batch behind the first. forgiving: such
    a batch ends the records instead, as one of zstd does: the next fetch begins with it, and fails.
    """

    source: Slice
    magic: int
    first_offset: int = 0
    chunk_bytes: int = CHUNK_BYTES
    tail: str = "kafka"
    forgiving: bool = False
    size: int = field(init=False)
    first: bytes = field(init=False)
    begin: int = field(init=False)
    empty: bool = field(init=False)

    def __post_init__(self) -> None:
        if self.tail not in ("kafka", "kip"):
            raise UsageError(f"tail {self.tail!r}: kafka or kip expected")
        conversion = self.convert_from(self.source.start)
        first = next(conversion.chunks(0), b"")
        self.empty = not first
        if first:
            self.size = max(self.source.size, len(first))
        else:
            self.size = LEAST_OVERFLOW if conversion.position > self.source.start else 0
        kept = len(first) <= self.chunk_bytes
        self.first = bytes(first) if kept else b""
        self.begin = conversion.position if kept else self.source.start

    def convert_from(self, position: int) -> Conversion:
        """Begin to convert at the batch that has the offset wanted."""
        rest = Slice(self.source.read, position, self.source.start + self.source.size - position)
        return Conversion(rest, self.magic, max(self.first_offset, 0), self.chunk_bytes)

    def __iter__(self) -> Iterator[bytes]:
        left = self.size
        for part in self.parts():
            sent = self.fit(part, left)
            if sent:
                yield sent
            left -= len(sent)
            if not left or len(sent) < len(part):
                break
        yield from self.overflow(left)

    def parts(self) -> Iterator[bytes | memoryview]:
        """Yield the chunks to send, in order: bytes that were converted, then padding to the announced size."""
        if self.empty:
            return
        conversion = self.convert_from(self.begin)
        yield self.first or next(conversion.chunks(0))
        try:
            yield from conversion.chunks()
        except UnsupportedCompressionError:
            return
        except DecodeError:
            if not self.forgiving:
                raise

    def fit(self, part: bytes | memoryview, left: int) -> bytes:
        """Return what of a part is sent with `left` bytes to go: as it is cut by Kafka, or its whole messages."""
        if len(part) > left and self.tail == "kip":
            _status, left, _begun = frames.whole(part, 0, left)
        return bytes(part[:left])

    def overflow(self, left: int) -> Iterator[bytes]:
        """Fill the bytes that are left."""
        if left and self.tail == "kip":
            yield from fill(struct.pack(">qi", -1, 0x7FFFFFFF), left)
            return
        while left > 0:
            part = min(left, OVERFLOW_BYTES)
            head = struct.pack(">qi", -1, max(min(left + 1, 0x7FFFFFFF), frames.HEADER_SIZE))
            yield from fill(head, part)
            left -= part


def fill(head: bytes, size: int) -> Iterator[bytes]:
    """Yield `head`, then zeroes up to `size` bytes, in parts; cut when even the head is longer."""
    yield head[:size]
    size -= len(head)
    while size > 0:
        yield bytes(min(size, OVERFLOW_BYTES))
        size -= OVERFLOW_BYTES

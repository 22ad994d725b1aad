"""The bytes that a broker sends for one partition of a fetch with down-conversion: exactly the size stated first.

Kafka's LazyDownConversionRecords states max(bytes before, bytes of the first batch after conversion). Longer records
are cut anywhere. Shorter ones are filled up with overflow messages, which a consumer takes for an incomplete batch
(LazyDownConversionRecordsSend). In the text of KIP-283 whole batches are sent up to the size, then one message with a
size of 2147483647 bytes: tail "kip".

Two faults of Kafka are not copied: if the first batches become empty, it sends the first remaining one twice; a zstd
batch with more than 131072 bytes left to fill breaks off the send.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcli.core.records import batches as frames
from kcli.core.records import downconvert as core
from kcli.errors import DecodeError, UsageError
from kcli.records.conversion import CHUNK_BYTES, Conversion, Slice, UnsupportedCompressionError
from kcli.records.entries import LEAST_ENTRY, entry_size

# LazyDownConversionRecordsSend: the least bytes of records that have batches, and the most that are made at once.
LEAST_OVERFLOW = 12
OVERFLOW_BYTES = 128 * 1024


def cut_slice(source: Slice, fetch_size: int, first_offset: int = 0) -> Slice:
    """Return the slice that a broker reads for a fetch: from the batch with first_offset on, at most fetch_size bytes
    but at least one batch. It is empty for an offset beyond the end.
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
    """Return the position of the first batch whose last offset is at or above `offset`, by headers alone; None if there
    is none.
    """
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
    """The response for one partition: `size` is known at once, and iterating yields exactly that many bytes.

    The size depends on the first batch, which therefore is converted at once. In a fetch of many partitions all
    responses wait for the socket together. So only a small first batch is kept until then; one longer than a chunk is
    converted again when it is sent.

    source: from `cut_slice`. Raises UnsupportedCompressionError, DecodeError if the first batch can't be converted,
    because then there is nothing to send. Iterating raises DecodeError at a damaged batch after the first. forgiving:
    such a batch ends the records instead, as one of zstd does; the next fetch begins with it, and fails.
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
        """Return the conversion of the rest of the source from a position on."""
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
        """Yield the converted chunks to send, in order; `__iter__` cuts them and fills up to the announced size."""
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
        """Return the part that is sent if `left` bytes are left: cut anywhere, as in Kafka, or for tail "kip" its whole
        messages.
        """
        if len(part) > left and self.tail == "kip":
            _status, left, _begun = frames.whole(part, 0, left)
        return bytes(part[:left])

    def overflow(self, left: int) -> Iterator[bytes]:
        """Yield the messages that fill the bytes that are left."""
        if left and self.tail == "kip":
            yield from fill(struct.pack(">qi", -1, 0x7FFFFFFF), left)
            return
        while left > 0:
            part = min(left, OVERFLOW_BYTES)
            head = struct.pack(">qi", -1, max(min(left + 1, 0x7FFFFFFF), frames.HEADER_SIZE))
            yield from fill(head, part)
            left -= part


def fill(head: bytes, size: int) -> Iterator[bytes]:
    """Yield `head`, then zeroes up to `size` bytes, in parts. A head longer than that is cut."""
    yield head[:size]
    size -= len(head)
    while size > 0:
        yield bytes(min(size, OVERFLOW_BYTES))
        size -= OVERFLOW_BYTES

"""Replaces the contents of record batches: keys, values and headers. Every size and all else stays.

The contents of a batch are overwritten in place. A compressed batch is decompressed, and compressed again to the same
size by the same codec (`kcli.redact.folding`). Checksums are computed again; a wrong one stays wrong.
"""

from collections.abc import Callable

from kcli.core.codec.varints import read_zigzag
from kcli.core.records.batches import CRC_AT, CRC_START, HEADER_SIZE, LEAST_LENGTH, LENGTH_END, MAGIC_AT, SIZE_AT
from kcli.core.records.blanking import fill_records
from kcli.core.records.crc import crc32, crc32c
from kcli.errors import InputError
from kcli.grammar.batches import MESSAGE_HEADS
from kcli.records.batches import CODEC_MASK, CONTROL
from kcli.records.recognition import begins_batch
from kcli.records.unfolding import Unfolding
from kcli.redact.folding import recompressed

BLANK = b"\xff"  # replaces what is left out
FILL = b"x"  # replaces each byte of keys, values and headers
COUNT_AT = HEADER_SIZE - 4
ATTRIBUTES_AT = MAGIC_AT + 1  # in magic 0 and 1
MESSAGE_ATTRIBUTES = 0x0F  # bits of it that a message may have
CHECKSUM = (slice(LENGTH_END, MAGIC_AT), slice(LENGTH_END, MAGIC_AT), slice(CRC_AT, CRC_START))  # by magic
MARKER = 6  # bytes of a transaction marker
DEEPEST = 2  # depth of message sets in message sets


class BatchRedactor:
    """Replaces the contents of records. emptied: the number of batches of which only the header could be kept."""

    def __init__(self, control: Callable[[int, bytes], bytes]) -> None:
        """Prepare to redact batches. control(type, value): returns the value of a control record without names."""
        self.control = control
        self.emptied = 0
        self.unfold = Unfolding(shared=True)

    def records(self, data: bytes, depth: int = 1) -> bytes:
        """Redact a field or chunk of batches of any magic, in as many bytes. Bytes outside of batches are blanked; so
        are the batches after those that use up the decompression limit of a message.
        """
        if depth == 1:
            self.unfold = Unfolding(shared=True)
        out = bytearray(BLANK * len(data))
        at = 0
        while len(data) - at > MAGIC_AT:
            size, magic = int.from_bytes(data[at + SIZE_AT : at + LENGTH_END], "big", signed=True), data[at + MAGIC_AT]
            if magic > 2 or size < LEAST_LENGTH[magic]:
                break
            end = at + LENGTH_END + size
            head = HEADER_SIZE if magic == 2 else MESSAGE_HEADS[magic].sizeof()
            was_valid = end <= len(data) and checksum(data[at:end]) == stored_checksum(data[at:end])
            if not was_valid and not may_be_header(data[at : at + head]):
                break
            if end > len(data):
                # Cut off, as the last batch of a Fetch may be: its checksum still belongs to the original contents.
                out[at : at + head] = data[at : at + head]
                crc = CHECKSUM[magic]
                out[at + crc.start : at + crc.stop] = BLANK * (crc.stop - crc.start)
                break
            entry = bytearray(data[at:end])
            if magic == 2:
                self.batch(entry)
            else:
                self.message(entry, head, depth)
            entry[CHECKSUM[magic]] = (checksum(entry) ^ (not was_valid)).to_bytes(4, "big")
            out[at:end] = entry
            at = end
        return bytes(out)

    # Magic 2

    def batch(self, entry: bytearray) -> None:
        """Redact a complete batch of magic 2 in place, but for its checksum."""
        attributes = int.from_bytes(entry[CRC_START : CRC_START + 2], "big")
        count = int.from_bytes(entry[COUNT_AT:HEADER_SIZE], "big", signed=True)
        entry[HEADER_SIZE:] = self.payload(
            bytes(entry[HEADER_SIZE:]),
            attributes & CODEC_MASK,
            2,
            lambda data: (self.fill_markers if attributes & CONTROL else fill_records)(data, count),
        )

    def payload(self, data: bytes, codec: int, magic: int, redact: Callable[[bytearray], None]) -> bytes:
        """Redact a stored payload in as many bytes. Blank it if it can't be read, or does not fit."""
        try:
            content = bytearray(self.unfold(codec, data, magic))
        except InputError:
            return BLANK * len(data)
        redact(content)
        if not codec:
            return bytes(content)
        made = recompressed(codec, data, bytes(content), magic)
        self.emptied += made is None
        return BLANK * len(data) if made is None else made

    def fill_markers(self, data: bytearray, count: int) -> None:
        """Replace the contents of control records, in place. Bytes that are not a record, and all after them, become
        blank.
        """
        at = 0
        try:
            for _ in range(max(count, 0)):
                size, start = read_zigzag(data, at)
                end = start + size
                if not 0 <= size <= len(data) - start or not size:
                    break
                self.fill_marker(data, start + 1, end)
                at = end
        except ValueError:
            pass
        data[at:] = BLANK * (len(data) - at)

    def fill_marker(self, data: bytearray, at: int, end: int) -> None:
        """Replace the contents of one control record. at: the position after its attributes. Raises ValueError if it is
        not a valid record.
        """
        _, at = read_zigzag(data, at, end, 10)
        _, at = read_zigzag(data, at, end)
        key, at = span(data, at, end)
        value, at = span(data, at, end)
        self.fill_control(data, key, value)
        headers, at = read_zigzag(data, at, end)
        for _ in range(headers):
            for _ in range(2):
                part, at = span(data, at, end)
                fill(data, part)
        if at != end:
            raise ValueError("a record that ends elsewhere")

    def fill_control(self, data: bytearray, key: slice, value: slice) -> None:
        """Replace the contents of a control record. The key stays: it is the record's version and type."""
        kind = int.from_bytes(data[key.start + 2 : key.start + 4], "big", signed=True)
        fill(data, slice(key.start + 4, max(key.stop, key.start + 4)))
        if kind in (0, 1):
            fill(data, slice(value.start + MARKER, max(value.stop, value.start + MARKER)))
        else:
            data[value] = self.control(kind, bytes(data[value]))

    # Magic 0 and 1

    def message(self, entry: bytearray, head: int, depth: int) -> None:
        """Redact a complete message of magic 0 or 1 in place, with the messages inside it, but for its checksum."""
        magic, codec = entry[MAGIC_AT], entry[ATTRIBUTES_AT] & CODEC_MASK
        at = head
        for part in ("key", "value"):
            size = int.from_bytes(entry[at : at + 4], "big", signed=True)
            at += 4
            if size > len(entry) - at:
                break
            inner = slice(at, at + max(size, 0))
            if part == "value" and codec and depth < DEEPEST:
                entry[inner] = self.payload(bytes(entry[inner]), codec, magic, lambda data: self.fill_set(data, depth))
            else:
                fill(entry, inner)
            at = inner.stop
        entry[at:] = BLANK * (len(entry) - at)

    def fill_set(self, data: bytearray, depth: int) -> None:
        """Redact a message set inside a message, in place."""
        data[:] = self.records(bytes(data), depth + 1)


def checksum(entry: bytes | bytearray) -> int:
    """Compute the checksum of a complete batch or message."""
    if entry[MAGIC_AT] == 2:
        return crc32c(memoryview(entry)[CRC_START:])
    return crc32(memoryview(entry)[MAGIC_AT:])


def stored_checksum(entry: bytes | bytearray) -> int:
    """Return the checksum in the header of a batch or message."""
    return int.from_bytes(entry[CHECKSUM[entry[MAGIC_AT]]], "big")


def may_be_header(head: bytes) -> bool:
    """Return whether bytes may be the header of a batch or message, where no checksum proves it: numbers in contents
    would stay as those of a header. A field of records need not begin with a batch: a chunk of a snapshot (KIP-630)
    begins anywhere.
    """
    magic = head[MAGIC_AT]
    times = {0: (), 1: (MAGIC_AT + 2,), 2: (CRC_START + 6, CRC_START + 14)}[magic]
    fits = begins_batch(head) if magic == 2 else head[:2] == bytes(2) and head[ATTRIBUTES_AT] <= MESSAGE_ATTRIBUTES
    return fits and all(head[at : at + 2] in (bytes(2), b"\xff\xff") for at in times)


def span(data: bytearray, at: int, end: int) -> tuple[slice, int]:
    """Return the slice of bytes whose length is at `at`, and the position after it. Raises ValueError if it goes beyond
    `end`.
    """
    size, at = read_zigzag(data, at, end)
    stop = at + max(size, 0)
    if stop > end:
        raise ValueError("a field that goes beyond its record")
    return slice(at, stop), stop


def fill(data: bytearray, part: slice) -> None:
    part = slice(part.start, max(part.start, min(part.stop, len(data))))
    data[part] = FILL * (part.stop - part.start)

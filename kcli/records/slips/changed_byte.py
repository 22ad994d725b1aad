"""Finds the one byte that changed after the checksum was computed, and its former value, from the CRC-32C.

A CRC is linear: the difference of the two checksums is that of the wrong byte, shifted by the bytes after it. Shifted
back byte by byte, it becomes a difference of eight bits at that byte, and hardly ever elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from kcli.core.records.batches import CRC_AT, CRC_START
from kcli.core.records.crc import crc32c
from kcli.grammar.slips.search import Hint
from kcli.records.batches import scan
from kcli.records.secrets import is_secret_value
from kcli.records.slips.parts import Parts, oddness_of, replaced

POLYNOMIAL = 0x82F63B78  # of CRC-32C, its lowest bit first
LOW = (1 << 24) - 1


@cache
def backward() -> list[tuple[int, int]]:
    """Return (byte that was shifted out, CRC table's entry for it) by the upper byte of a checksum."""
    found = [(0, 0)] * 256
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        found[value >> 24] = byte, value
    return found


def changed_byte_hints(batch: bytes, parts: Parts) -> Iterator[Hint]:
    """Yield hints on the one byte with which the batch is right: of the bytes under the checksum, or of the checksum
    itself. Of a batch with a secret only the position is shown.
    """
    right = crc32c(batch[CRC_START:])
    difference = right ^ parts.crc
    places = [*changed_bytes(batch, difference)] if difference else []
    frames = [(at, batch[:at] + bytes([batch[at] ^ bits]) + batch[at + 1 :]) for at, bits in places]
    differing = [place for place, byte in enumerate(difference.to_bytes(4, "big")) if byte]
    if len(differing) == 1:
        frames.append((CRC_AT + differing[0], replaced(batch, "crc", right)))
    for at, frame in frames:
        if oddness_of(frame) is not None:
            words, now = f"with the byte {frame[at]:02x}", f"it is {batch[at]:02x}"
            if has_secret(frame):
                words, now = "with another byte", "which one is not told, as the batch has a secret"
            yield Hint("changed byte", at, words, now, frame, 0.0)


def has_secret(batch: bytes) -> bool:
    """Return whether a record's value in a right batch is a secret."""
    return any(is_secret_value(record.value or b"") for each in scan(batch) for record in each.records())


def changed_bytes(batch: bytes, difference: int) -> Iterator[tuple[int, int]]:
    """Yield (position, bits that differ) of each byte whose change alone makes this difference of checksums."""
    table = backward()
    for at in range(len(batch) - 1, CRC_START - 1, -1):
        byte, value = table[difference >> 24]
        difference = (((difference ^ value) & LOW) << 8) | byte
        if difference < 256:
            yield at, difference

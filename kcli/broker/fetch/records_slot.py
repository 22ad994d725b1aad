"""Records in a response without copying them: the codec encodes everything else, and leaves a slot for them.

Where records come from a file the codec gets a placeholder instead: 16 random bytes. The
encoded body is cut at the placeholders; each with its length is replaced by the records and theirs.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from kcli.broker.response import EncodedBody, Lazy, Piece
from kcli.core.codec.varints import write_unsigned

SLOT = secrets.token_bytes(16)
# Bytes. Shorter slices are read and copied: cheaper than a piece of their own.
INLINE = 16 * 1024


class RecordsSlots:
    """The records fields of one response, in order. filled: what goes into the slots."""

    def __init__(self) -> None:
        self.filled: list[Lazy] = []

    def field(self, records: Lazy | None) -> bytes:
        """Return the value of a records field: short records themselves, a slot for longer ones."""
        if records is None or records.size == 0:
            return b""
        if records.size <= INLINE:
            return b"".join(records)
        self.filled.append(records)
        return SLOT


def fill_slots(
    body: bytes, records: Iterable[Lazy], flexible: bool, value: dict[str, Any] | None = None
) -> EncodedBody:
    """Replace each slot of the body by the next records. flexible: lengths are compact; value: the value that is
    encoded.
    """
    pieces: list[Piece] = []
    start = 0
    prefix = 1 if flexible else 4
    for each in records:
        at = body.index(SLOT, start)
        pieces.append(body[start : at - prefix] + length_of(each.size, flexible))
        pieces.append(each)
        start = at + len(SLOT)
    pieces.append(body[start:])
    return EncodedBody(pieces, value)


def length_of(size: int, flexible: bool) -> bytes:
    """Encode the length before a records field: int32, or an unsigned varint of one more."""
    return write_unsigned(size + 1) if flexible else size.to_bytes(4, "big")

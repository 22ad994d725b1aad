"""Records in a response without a copy: the codec encodes everything else and leaves slots for the records.

For records from a file the codec gets a placeholder of 16 random bytes. The encoded body is cut at the placeholders,
and each of them with its length is replaced by the records with theirs.
"""

import secrets
from collections.abc import Iterable
from typing import Any

from kcli.broker.response import EncodedBody, Lazy, Piece
from kcli.core.codec.varints import write_unsigned

SLOT = secrets.token_bytes(16)
# Bytes. Slices up to this size are copied, as that costs less than a piece of their own.
INLINE = 16 * 1024


class RecordsSlots:
    """The records fields of one response, in order. filled: the records for the slots."""

    def __init__(self) -> None:
        self.filled: list[Lazy] = []

    def field(self, records: Lazy | None) -> bytes:
        """Return the value of a records field: the bytes of short records, a slot for longer ones."""
        if records is None or records.size == 0:
            return b""
        if records.size <= INLINE:
            return b"".join(records)
        self.filled.append(records)
        return SLOT


def fill_slots(
    body: bytes, records: Iterable[Lazy], flexible: bool, value: dict[str, Any] | None = None
) -> EncodedBody:
    """Replace each slot of an encoded body by the next records. flexible: lengths are compact; value: the decoded body,
    which the result keeps.
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
    """Encode the length before a records field: an int32, or (flexible) an unsigned varint of length + 1."""
    return write_unsigned(size + 1) if flexible else size.to_bytes(4, "big")

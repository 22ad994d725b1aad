"""Responses with records that are not copied: the codec writes everything else, and the records' place is cut open.

Where records come from a file the codec is given a mark instead, 16 random bytes that nobody else can know. The encoded
body is cut at the marks, each with its length replaced by that of the records.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from kcli.broker.request import EncodedBody, Lazy, Piece
from kcli.core.varints import write_unsigned

__all__ = ["INLINE", "SLOT", "fill_slots"]

SLOT = secrets.token_bytes(16)
# Shorter slices are read and copied: cheaper than a piece of their own.
INLINE = 16 * 1024


def fill_slots(body: bytes, records: Iterable[Lazy], flexible: bool) -> EncodedBody:
    """The body with each mark replaced by the next records; flexible: lengths are compact."""
    pieces: list[Piece] = []
    start = 0
    prefix = 1 if flexible else 4
    for each in records:
        at = body.index(SLOT, start)
        pieces.append(body[start : at - prefix] + length_of(each.size, flexible))
        pieces.append(each)
        start = at + len(SLOT)
    pieces.append(body[start:])
    return EncodedBody(pieces)


def length_of(size: int, flexible: bool) -> bytes:
    """The length in front of a records field: int32, or an unsigned varint of one more."""
    return write_unsigned(size + 1) if flexible else size.to_bytes(4, "big")

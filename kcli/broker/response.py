"""Results of a handler: a value for the codec, or an encoded body with records from files in it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Protocol


class Lazy(Protocol):
    """Bytes made while they are sent: a slice of a file, or its converted form."""

    @property
    def size(self) -> int:
        """The number of bytes that it yields in all."""
        ...

    def __iter__(self) -> Iterator[bytes]: ...


Piece = bytes | Lazy


class HangUpError(Exception):
    """The broker closes the connection and sends no response; the text says why."""


class EncodedBody:
    """The body of a response in pieces, to be sent one after the other. value: the body before encoding, for the
    journal.
    """

    __slots__ = ("pieces", "value")

    def __init__(self, pieces: Sequence[Piece], value: dict[str, Any] | None = None) -> None:
        self.pieces, self.value = pieces, value


# The body as a value or in pieces; None: there is no response (Produce with acks=0).
Answer = dict[str, Any] | EncodedBody | None
Outcome = Answer | Awaitable[Answer]

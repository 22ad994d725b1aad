"""Results of a handler: a response's body as a value for the codec, or encoded, with records from files."""

from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, Protocol


class Lazy(Protocol):
    """Bytes that are read or converted while they are sent, such as a slice of a file."""

    size: int  # the number of all bytes

    def __iter__(self) -> Iterator[bytes]: ...


Piece = bytes | Lazy


class HangUpError(Exception):
    """The broker closes the connection without a response. The text is the reason."""


class EncodedBody:
    """The encoded body of a response in pieces. value: the body before encoding, for the journal."""

    __slots__ = ("pieces", "value")

    def __init__(self, pieces: Sequence[Piece], value: dict[str, Any] | None = None) -> None:
        self.pieces, self.value = pieces, value


# The body as a value or in pieces; None if there is no response (Produce with acks 0).
Answer = dict[str, Any] | EncodedBody | None
Outcome = Answer | Awaitable[Answer]

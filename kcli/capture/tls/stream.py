"""One direction of a connection with TLS: bytes that make no whole record yet, its keys, and what is missing."""

from __future__ import annotations

from kcli.capture.events import Kind
from kcli.capture.tls.handshake import Messages
from kcli.capture.tls.protection import Protection
from kcli.grammar.tls import HEADER

__all__ = ["TlsEnd"]


class TlsEnd:
    """One direction: bytes that make no whole record yet, keys, and what is missing.

    sealed: its records are protected from here on. gap: bytes that are missing or make no record, before the next one
    that opens (None: unknown how many); searching: there are some.
    """

    def __init__(self, started: bool) -> None:
        self.buffer = bytearray()
        self.messages = Messages()
        self.ns = self.received = self.vain = self.guessed = 0
        self.sealed = False
        self.searching = not started
        self.gap: int | None = 0
        self.loss: tuple[Kind, str] | None = None
        self.keys: Protection | None = None
        self.following: Protection | None = None

    def plain_size(self, gap: int | None, missing: int | None) -> int | None:
        """Bytes of data in so many `missing` records, of `gap` bytes; None: that can't be told."""
        if self.keys is None or gap is None or missing is None or self.keys.suite.cipher == "CBC":
            return None
        size = gap - missing * (HEADER + self.keys.cipher.overhead)
        return size if size >= 0 else None

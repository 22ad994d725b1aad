"""One direction of a connection with TLS: bytes that make no whole record yet, its keys, and what is missing."""

from __future__ import annotations

from kcli.capture.events import Kind
from kcli.capture.tls.handshake import Messages
from kcli.capture.tls.protection import Protection
from kcli.grammar.tls import LARGEST_RECORD

__all__ = ["HEADER", "START", "TlsEnd", "is_header", "next_header"]

HEADER = 5  # bytes of a record's header
START = b"\x17\x03\x03"  # of a header behind the handshake


class TlsEnd:
    """One direction: bytes that make no whole record yet, keys, and what is missing.

    sealed: its records are protected from here on. skip: bytes of a damaged record still to come. gap: bytes that are
    missing or make no record, before the next one that opens (None: unknown how many); searching: there are some.
    """

    def __init__(self, started: bool) -> None:
        self.buffer = bytearray()
        self.messages = Messages()
        self.ns = self.received = self.skip = self.vain = self.guessed = 0
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


def is_header(data: bytearray, at: int) -> bool:
    """Whether a record's header may stand here (5 bytes are there)."""
    size = int.from_bytes(data[at + 3 : at + 5], "big")
    return 20 <= data[at] <= 23 and data[at + 1] == 3 and data[at + 2] <= 4 and size <= LARGEST_RECORD


def next_header(data: bytearray, at: int, sealed: bool) -> int:
    """The place of the next header from `at` on, of data where records are protected; -1: none."""
    if sealed:
        return data.find(START, at)
    for place in range(at, max(at, len(data) - 2)):
        if 20 <= data[place] <= 23 and data[place + 1] == 3 and data[place + 2] <= 4:
            return place
    return -1

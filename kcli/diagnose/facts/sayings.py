"""What requests and their answers say, read once for all that say the same.

Heartbeats, Metadata, commits without news, transactions of the same partitions: byte for byte they repeat. What a maker
puts of the first is kept under a number, and each exchange is a row of numbers; `prepared` joins the two.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from kcli.diagnose.facts.definitions import DIAGNOSIS_FACTS
from kcli.schemas import apikeys
from kcli.tables.arrays import instants, integers
from kcli.tables.definition import schema_of

KEPT, KEPT_BYTES = 1 << 16, 1 << 25  # sayings, links, and bytes of sayings, that are remembered
ROWS = 50_000  # exchanges that wait to be put at once
NUMBERS = 5  # of an exchange
# Whose rows are of the connection, not of what is said.
NEVER = frozenset({apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE})


class Sayings:
    """Numbers what is said. put, put_batch: take rows of tables."""

    def __init__(self, put: Callable[[str, tuple[Any, ...]], None], put_batch: Callable[[str, Any], None]) -> None:
        self.put, self.put_batch = put, put_batch
        self.known: dict[tuple[bytes, bytes, bytes, bytes | None], int] = {}
        self.links: dict[bytes, int] = {}
        self.size = self.last = self.last_link = 0
        self.number = 0  # of what was said last
        self.calls = array("q")

    def is_new(self, key: int, link: bytes, request: bytes, response: bytes | None) -> bool:
        """Return whether a server was not asked and did not answer the same before; its number is `number`."""
        answer = None if response is None else response[4:]
        said = request[:4], request[8:], link.partition(b"-")[0], answer
        found = None if key in NEVER else self.known.get(said)
        if found is not None:
            self.number = found
            return False
        self.last += 1
        self.number = self.known[said] = self.last
        self.size += len(request) + len(answer or b"")
        if len(self.known) > KEPT or self.size > KEPT_BYTES:
            self.known.clear()
            self.size = 0
        return True

    def note(self, link: bytes, request: bytes, ns: int, answered: int | None) -> None:
        """Put an exchange that said what was said last."""
        number = self.links.get(link)
        if number is None:
            if len(self.links) > KEPT:
                self.links.clear()
            number = self.links[link] = self.last_link = self.last_link + 1
            connection = link.decode()
            self.put("called_links", (number, connection, *connection.split("-", 1)))
        correlation = int.from_bytes(request[4:8], "big", signed=True)
        self.calls.extend((self.number, number, correlation, ns, answered or ns))
        if len(self.calls) >= NUMBERS * ROWS:
            self.flush()

    def put_said(self, table: str, row: tuple[Any, ...]) -> None:
        """Put a row of what is said now, without those columns that are the exchange's."""
        self.put(f"{table}_said", (self.number, row[4], row[6], *row[8:]))

    def flush(self) -> None:
        """Put the exchanges that wait."""
        import numpy
        import pyarrow

        if self.calls:
            saying, link, correlation, ns, completed = numpy.frombuffer(self.calls, numpy.int64).reshape(-1, NUMBERS).T
            arrays = [
                integers(saying, "int64"), integers(link, "int64"), integers(correlation, "int32"), instants(ns),
                integers(completed, "int64"),
            ]  # fmt: skip
            self.put_batch("called", pyarrow.record_batch(arrays, schema=schema_of(DIAGNOSIS_FACTS["called"].columns)))
            self.calls = array("q")

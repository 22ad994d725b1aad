"""Requests and their responses, read once for all that are the same.

Heartbeats, Metadata, commits without news, transactions of the same partitions: byte for byte they repeat. What a maker
puts of the first is kept under a number, and each exchange is a row of numbers; `kcli.tables.rule_facts.calls_query`
joins the two.
"""

from __future__ import annotations

import os
from array import array
from typing import Any

from kcli.schemas import apikeys
from kcli.tables.arrays import instants, integers
from kcli.tables.definition import schema_of
from kcli.tables.rule_facts import RULE_FACTS

KEPT, KEPT_BYTES = 1 << 16, 1 << 25  # sayings, links, and bytes of sayings, that are remembered
NUMBERS = 5  # of an exchange
# Whose rows are of the connection, not of what is said.
NEVER = frozenset({apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE})
RANDOM = 32  # bits that tell the numbers of one process from those of others


class Sayings:
    """Numbers what is said, and the connections that say it."""

    def __init__(self) -> None:
        self.known: dict[tuple[bytes, bytes, bytes, bytes | None], int] = {}
        self.links: dict[bytes, int] = {}
        self.size = 0
        self.number = 0  # of what was said last
        self.last = self.last_link = int.from_bytes(os.urandom(RANDOM // 8)) << (62 - RANDOM)
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

    def said(self, table: str, row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """Return (table, row) of what is said now: without those columns that are the exchange's."""
        return f"{table}_said", (self.number, row[4], row[6], *row[8:])

    def note(self, link: bytes, request: bytes, ns: int, answered: int | None) -> tuple[Any, ...] | None:
        """Keep an exchange that said what was said last. Return the row of its connection, where it is a new one."""
        number, new = self.links.get(link), None
        if number is None:
            if len(self.links) > KEPT:
                self.links.clear()
            number = self.links[link] = self.last_link = self.last_link + 1
            connection = link.decode()
            new = (number, connection, *connection.split("-", 1))
        correlation = int.from_bytes(request[4:8], "big", signed=True)
        self.calls.extend((self.number, number, correlation, ns, answered or ns))
        return new

    def take(self) -> Any:
        """Return the exchanges since it was asked before, as a record batch of `called`; None: there are none."""
        import numpy
        import pyarrow

        if not self.calls:
            return None
        saying, link, correlation, ns, completed = numpy.frombuffer(self.calls, numpy.int64).reshape(-1, NUMBERS).T
        self.calls = array("q")
        arrays = [
            integers(saying, "int64"), integers(link, "int64"), integers(correlation, "int32"), instants(ns),
            integers(completed, "int64"),
        ]  # fmt: skip
        return pyarrow.record_batch(arrays, schema=schema_of(RULE_FACTS["called"].columns))

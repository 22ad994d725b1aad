"""Requests with their responses, read once for all that are identical.

Heartbeats, Metadata, and transactions of the same partitions repeat byte for byte, commits except for their offsets.
The rows of the first ("saying") are stored under a number, and each exchange is a row of numbers that refers to them;
`kcli.tables.rule_facts.calls_query` joins the two.
"""

import os
from collections.abc import Iterable
from typing import Any

from kcli.core.columns.exchange_columns import SayingNumbers
from kcli.pipeline.writing import stored_schema
from kcli.schemas import apikeys
from kcli.tables.arrays import Among, instants, integers, lists, strings
from kcli.tables.definition import schema_of
from kcli.tables.rule_facts import RULE_FACTS

NUMBERS = 6  # numbers in the row of an exchange
# Their rows depend on the connection, not only on the message.
NEVER = frozenset({apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE})
RANDOM = 32  # bits in which the numbers of different processes differ


def random_start() -> int:
    """Return the number from which this process counts."""
    return int.from_bytes(os.urandom(RANDOM // 8)) << (62 - RANDOM)


class Sayings:
    """The sayings of exchanges of these APIs, as numbered by the core."""

    def __init__(self, apis: Iterable[int]) -> None:
        self.numbers = SayingNumbers(apis, NEVER, random_start())

    def said(self, table: str, row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """Return (table, row) for the current message, without the columns of the exchange."""
        return f"{table}_said", (self.numbers.number, row[4], row[6], *row[8:])

    def add_offsets(self, offsets: Iterable[int]) -> None:
        """Add the offsets of the current message, an OffsetCommit, unless the core has read them."""
        if self.numbers.lacks_offsets:
            self.numbers.add_offsets([*offsets])

    def take(self) -> Any:
        """Return the exchanges since the last call as a record batch of `called`; None if there are none."""
        import numpy
        import pyarrow

        calls, offsets = self.numbers.take()
        if not calls:
            return None
        saying, link, correlation, ns, completed, count = numpy.frombuffer(calls, numpy.int64).reshape(-1, NUMBERS).T
        committed = integers(numpy.frombuffer(offsets, numpy.int64), "int64")
        arrays = [
            integers(saying, "int64"), integers(link, "int64"), integers(correlation, "int32"), instants(ns),
            integers(completed, "int64"), lists(committed, count.clip(0), count < 0),
        ]  # fmt: skip
        return pyarrow.record_batch(arrays, schema=schema_of(RULE_FACTS["called"].columns))

    def take_links(self) -> Any:
        """Return the connections since the last call that are new, as a batch of `called_links`; None if there are
        none.
        """
        import numpy
        import pyarrow

        first, links, clients, server_of, servers = self.numbers.take_links()
        if not server_of:
            return None
        each = numpy.arange(len(server_of) // 4)
        arrays = [
            integers(first + each, "int64"), Among(strings(links), each).dictionary(),
            Among(strings(servers), numpy.frombuffer(server_of, numpy.int32)).dictionary(),
            Among(strings(clients), each).dictionary(),
        ]  # fmt: skip
        return pyarrow.record_batch(arrays, schema=stored_schema("called_links"))

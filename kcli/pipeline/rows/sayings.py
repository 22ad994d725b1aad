"""Requests and their responses, read once for all identical ones.

Heartbeats, Metadata, commits without news, transactions of the same partitions: byte for byte they repeat. The rows of
the first are kept under a number, and each exchange is a row of numbers; `kcli.tables.rule_facts.calls_query` joins the
two.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from kcli.core.columns.exchange_columns import SayingNumbers
from kcli.pipeline.writing import stored_schema
from kcli.schemas import apikeys
from kcli.tables.arrays import Among, instants, integers, strings
from kcli.tables.definition import schema_of
from kcli.tables.rule_facts import RULE_FACTS

NUMBERS = 5  # of an exchange
# Tables with rows of the connection, not of a message.
NEVER = frozenset({apikeys.SASL_HANDSHAKE, apikeys.SASL_AUTHENTICATE})
RANDOM = 32  # bits that tell the numbers of one process from those of others


def random_start() -> int:
    """Return the number at which a process begins to count."""
    return int.from_bytes(os.urandom(RANDOM // 8)) << (62 - RANDOM)


class Sayings:
    """The sayings of exchanges of these APIs, as the core numbers them."""

    def __init__(self, apis: Iterable[int]) -> None:
        self.numbers = SayingNumbers(apis, NEVER, random_start())

    def said(self, table: str, row: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
        """Return (table, row) of the current message: without the exchange's columns."""
        return f"{table}_said", (self.numbers.number, row[4], row[6], *row[8:])

    def take(self) -> Any:
        """Return the exchanges since it was asked before, as a record batch of `called`; None: there are none."""
        import numpy
        import pyarrow

        calls = self.numbers.take()
        if not calls:
            return None
        saying, link, correlation, ns, completed = numpy.frombuffer(calls, numpy.int64).reshape(-1, NUMBERS).T
        arrays = [
            integers(saying, "int64"), integers(link, "int64"), integers(correlation, "int32"), instants(ns),
            integers(completed, "int64"),
        ]  # fmt: skip
        return pyarrow.record_batch(arrays, schema=schema_of(RULE_FACTS["called"].columns))

    def take_links(self) -> Any:
        """Return the connections that are new among these, as a batch of `called_links`; None: there are none."""
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

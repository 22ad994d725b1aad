"""What the core counted over single connections, as record batches of the facts about them: see `facts` for the same,
row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy

from kcli.capture.tables.arrays import integers, strings
from kcli.pipeline.exchange_columns import KEYS, instants, places, texts_by_number
from kcli.pipeline.facts import APIS
from kcli.pipeline.partition_columns import Rows
from kcli.pipeline.writing import stored_schema

# The columns of the core's rows, in order.
USE = ("link", "client", "voice", "key", "version", "count")
SUMS = (
    "client", "completed", "first", "last", "requests", "unanswered", "failed", "request_bytes", "response_bytes",
    "round_trip", "retransmissions",
)  # fmt: skip
RUN = (
    "link", "client", "api", "topic", "partition", "error", "first_request", "first", "last", "answers", "hint_leader",
    "hint_server",
)  # fmt: skip


class FactColumns:
    """Of what has ended, as `kcli.core.columns.exchange_columns.ExchangeRows.take_columns` gives it.

    voices: by number, what client and broker of a connection said of themselves (kcli.capture.audit.Talk). names: of
    topics and servers, by number.
    """

    def __init__(self, ended: dict[str, Any], voices: Sequence[Any], names: Sequence[str | None]) -> None:
        self.voices, self.names = voices, names
        self.uses, self.runs = Rows.of(ended["uses"], USE), Rows.of(ended["runs"], RUN)
        self.sums = Rows.of(ended["sums"], SUMS)
        self.links, self.servers, self.addresses, self.clients = (
            strings(ended[name]) for name in ("links", "servers", "addresses", "clients")
        )
        self.server_of, self.address_of = (
            numpy.frombuffer(ended[name], numpy.int32) for name in ("server_of", "address_of")
        )

    def batches(self) -> Iterator[tuple[str, Any]]:
        """(table, record batch) for each table that has rows."""
        import pyarrow

        made = (
            ("client_uses", self.uses, self.used), ("outcomes", self.runs, self.came_of),
            ("connection_sums", self.sums, self.summed),
        )  # fmt: skip
        for table, rows, arrays in made:
            if rows.count:
                yield table, pyarrow.record_batch(arrays(rows), schema=stored_schema(table))

    def who(self, rows: Rows) -> tuple[Any, Any, Any]:
        """Connection, client id, client's address."""
        return (
            places(rows.link, self.links),
            places(rows.client, self.clients, rows.client < 0),
            places(self.address_of[rows.link], self.addresses),
        )

    def used(self, rows: Rows) -> list[Any]:
        """Which versions were used by whom."""
        return [
            *self.who(rows), *self.said(rows.voice), integers(rows.key, "int16"), integers(rows.version, "int16"),
            integers(rows.count_, "int64"), integers(self.is_free(rows), "bool"),
        ]  # fmt: skip

    def said(self, numbers: Any) -> Iterable[Any]:
        """Software, its version, and whether it asks what the broker speaks."""
        yield texts_by_number([talk.software for talk in self.voices], numbers)
        yield texts_by_number([talk.version for talk in self.voices], numbers)
        yield integers(numpy.array([talk.negotiates for talk in self.voices], bool)[numbers], "bool")

    def is_free(self, rows: Rows) -> Any:
        """Whether another version than the newest one offered was used."""
        used, index = numpy.unique(rows.voice, return_inverse=True)
        newest = numpy.full((len(used), KEYS), -1)
        for row, number in enumerate(used.tolist()):
            for key, version in self.voices[number].offered.items():
                if 0 <= key < KEYS:
                    newest[row, key] = version
        return newest[index, rows.key] != rows.version

    def summed(self, rows: Rows) -> list[Any]:
        """What each connection comes to."""
        quiet, clientless = rows.requests == 0, rows.client < 0
        counts = (rows.requests, rows.unanswered, rows.failed, rows.request_bytes, rows.response_bytes)
        return [
            places(numpy.arange(rows.count), self.links), places(rows.client, self.clients, clientless),
            integers(rows.completed, "int64", clientless),
            instants(rows.first, quiet), instants(rows.last, quiet), *(integers(each, "int64") for each in counts),
            integers(rows.round_trip / 1e6, "double", rows.round_trip < 0),
            integers(rows.retransmissions, "int64", rows.retransmissions < 0),
        ]  # fmt: skip

    def came_of(self, rows: Rows) -> list[Any]:
        """What came of asking for a partition: answers of one kind in a row."""
        connection, client_id, address = self.who(rows)
        return [
            connection, places(self.server_of[rows.link], self.servers), client_id, address,
            texts_by_number([APIS[0], APIS[1]], rows.api), texts_by_number(self.names, rows.topic),
            integers(rows.partition, "int32"), integers(rows.error, "int16"), *(
                integers(values, "int64") for values in (rows.first_request, rows.first, rows.last, rows.answers)
            ),
            integers(rows.hint_leader, "int32"), texts_by_number(self.names, rows.hint_server),
        ]  # fmt: skip

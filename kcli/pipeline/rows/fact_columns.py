"""Converts the core's counts for single connections into record batches of facts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy

from kcli.capture.tables.partition_tables import APIS
from kcli.pipeline.writing import stored_schema
from kcli.schemas.field_codes import API_KEYS
from kcli.tables.arrays import Among, instants, integers, numbered, strings
from kcli.tables.core_rows import CoreRows
from kcli.tables.exchanges import ExchangeArrays
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID


class FactColumns:
    """The columns of ended exchanges, from `kcli.core.columns.exchange_columns.ExchangeRows.take_columns`. voices:
    client profiles (kcli.capture.audit.ClientProfile), by number. names: names of topics and servers, by number.
    """

    def __init__(self, ended: dict[str, Any], voices: Sequence[Any], names: Sequence[str | None]) -> None:
        self.voices = voices
        self.names = [CLUSTER_METADATA if name == METADATA_ID else name for name in names]  # no response names it
        self.uses, self.runs, self.sums = (CoreRows.of(ended, kind) for kind in ("uses", "runs", "sums"))
        self.links, self.servers, self.addresses, self.clients = (
            strings(ended[name]) for name in ("links", "servers", "addresses", "clients")
        )
        self.server_of, self.address_of = (
            numpy.frombuffer(ended[name], numpy.int32) for name in ("server_of", "address_of")
        )

    def batches(self) -> Iterator[tuple[str, Any]]:
        """Yield (table, record batch) for each table that has rows."""
        import pyarrow

        made = (
            ("client_uses", self.uses, self.use_columns), ("outcomes", self.runs, self.outcome_columns),
            ("connection_sums", self.sums, self.sum_columns),
        )  # fmt: skip
        for table, rows, arrays in made:
            if rows.count:
                yield table, pyarrow.record_batch(arrays(rows), schema=stored_schema(table))

    def client_columns(self, rows: CoreRows) -> tuple[Any, Any, Any]:
        """Return the columns connection, client id and client address."""
        return (
            Among(self.links, rows.link).dictionary(),
            Among(self.clients, rows.client, rows.client < 0).dictionary(),
            Among(self.addresses, self.address_of[rows.link]).dictionary(),
        )

    def use_columns(self, rows: CoreRows) -> list[Any]:
        """Return the columns of `client_uses`: the versions used, and by which clients."""
        return [
            *self.client_columns(rows), *self.software_columns(rows.voice), integers(rows.key, "int16"),
            integers(rows.version, "int16"), integers(rows.count_, "int64"), integers(self.is_free(rows), "bool"),
        ]  # fmt: skip

    def software_columns(self, numbers: Any) -> Iterable[Any]:
        """Yield the columns of the client's software, its version, and whether the client sends ApiVersions."""
        yield numbered([profile.software for profile in self.voices], numbers).dictionary()
        yield numbered([profile.version for profile in self.voices], numbers).dictionary()
        yield integers(numpy.array([profile.negotiates for profile in self.voices], bool)[numbers], "bool")

    def is_free(self, rows: CoreRows) -> Any:
        """Return for each row whether its version is not the newest one that the broker offered."""
        used, index = numpy.unique(rows.voice, return_inverse=True)
        newest = numpy.full((len(used), API_KEYS + 1), -1)
        for row, number in enumerate(used.tolist()):
            for key, version in self.voices[number].offered.items():
                if 0 <= key < API_KEYS:
                    newest[row, key] = version
        keys = ExchangeArrays.known(rows.key)
        return newest[index, keys] != rows.version

    def sum_columns(self, rows: CoreRows) -> list[Any]:
        """Return the sums of each connection."""
        quiet, clientless = rows.requests == 0, rows.client < 0
        counts = (rows.requests, rows.unanswered, rows.failed, rows.request_bytes, rows.response_bytes)
        return [
            Among(self.links, numpy.arange(rows.count)).dictionary(),
            Among(self.clients, rows.client, clientless).dictionary(),
            integers(rows.completed, "int64", clientless),
            instants(rows.first, quiet), instants(rows.last, quiet), *(integers(each, "int64") for each in counts),
            integers(rows.round_trip / 1e6, "double", rows.round_trip < 0),
        ]  # fmt: skip

    def outcome_columns(self, rows: CoreRows) -> list[Any]:
        """Return the outcomes of requests for a partition: consecutive responses of the same kind."""
        connection, client_id, address = self.client_columns(rows)
        return [
            connection, Among(self.servers, self.server_of[rows.link]).dictionary(), client_id, address,
            numbered(APIS, rows.api).dictionary(), numbered(self.names, rows.topic).dictionary(),
            integers(rows.partition, "int32"), integers(rows.error, "int16"), *(
                integers(values, "int64") for values in (rows.first_request, rows.first, rows.last, rows.answers)
            ),
            integers(rows.hint_leader, "int32"), numbered(self.names, rows.hint_server).dictionary(),
        ]  # fmt: skip

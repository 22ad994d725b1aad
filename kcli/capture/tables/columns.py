"""The columns of a table of exchanges and events: from what the core made, or from values."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from kcli.capture.filters import Filter, mentions
from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.arrays import chosen, column_of, error_names, integers, is_none, strings, texts
from kcli.jsontext import dumps, loads
from kcli.schemas.errors import error_name
from kcli.tables.captured import EVENT_COLUMNS, EXCHANGE_COLUMNS

NUMBERS = 10  # of the core: ts, completed, key, version, correlation id, sizes, latency, link, client
TIME, COMPLETED, KEY, VERSION, CORRELATION, ASKED, ANSWERED, LATENCY, LINK, CLIENT = range(NUMBERS)
PLAIN = {
    "api_key": KEY, "api_version": VERSION, "correlation_id": CORRELATION, "request_bytes": ASKED,
    "completed_ns": COMPLETED,
}  # fmt: skip
OF_EVENTS = {each.name for each in EVENT_COLUMNS} - {each.name for each in EXCHANGE_COLUMNS}
EVERY = frozenset(each.name for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS))


def exchange_row(exchange: Exchange, clock: int = 0, wanted: Container[str] = EVERY) -> dict[str, Any]:
    """By column; what is missing is null. clock: ns, of the packet with which it came out. wanted: names of columns;
    others may be missing."""
    row = {
        "timestamp": exchange.request_ns // 1000,
        "connection": exchange.connection,
        "server": exchange.link.server,
        "client": exchange.link.client,
        "broker_address": address_of(exchange.link.server),
        "client_address": address_of(exchange.link.client),
        "client_id": exchange.client_id,
        "api_key": exchange.api_key,
        "api_version": exchange.api_version,
        "api": exchange.bodies.name(exchange.api_key),
        "correlation_id": exchange.correlation_id,
        "request_bytes": exchange.request_bytes,
        "response_bytes": exchange.response_bytes,
        "latency_ms": exchange.latency_ms,
        "completed_ns": max(clock, exchange.response_ns or exchange.request_ns),
    }
    if any(name in wanted for name in ("request_header", "request", "response", "client_id")):
        header, request, response = exchange.texts()
        row["client_id"] = loads(header)["clientId"]
        row["request_header"] = header.decode()
        row["request"] = None if request == b"null" else request.decode()
        row["response"] = None if response == b"null" else response.decode()
    if any(name in wanted for name in ("error", "errors")):
        errors = list(dict.fromkeys(error_name(code) for code in error_codes(exchange.response or {})))
        row |= {"error": errors[0] if errors else None, "errors": errors}
    return row


def address_of(end: str) -> str:
    """An end of a connection without the port and an IPv6 address's brackets."""
    return end.rpartition(":")[0].strip("[]")


def event_row(event: Event) -> dict[str, Any]:
    """By column; what is missing is null."""
    return {
        "timestamp": event.ns // 1000,
        "connection": event.connection,
        "event": event.kind,
        "sender": event.sender,
        "offset": event.offset,
        "bytes": event.size,
        "captured": event.captured and event.connection is not None,
        "reason": event.reason,
    }


def rows_batch(rows: list[dict[str, Any]], schema: Any) -> Any:
    """A record batch of such rows."""
    import pyarrow

    made = [column_of([row.get(field.name) for row in rows], field.type) for field in schema]
    return pyarrow.record_batch(made, schema=schema)


def batch_of(
    taken: dict[str, Any],
    name_of: Callable[[int], str | None],
    schema: Any,
    wanted: Container[str] = EVERY,
    files: Callable[[Any], Any] | None = None,
) -> Any:
    """A record batch of what `ExchangeRows.take_columns` gives, in its memory; columns that are not wanted are null.

    name_of: an API's name by its key. files: gives a column of each row's file, of a type.
    """
    import pyarrow

    made = ExchangeArrays(taken, name_of, files)
    arrays = [
        made.array(field) if field.name in wanted and field.name not in OF_EVENTS
        else pyarrow.nulls(len(made.rows), field.type)
        for field in schema
    ]  # fmt: skip
    return pyarrow.record_batch(arrays, schema=schema)


class ExchangeArrays:
    """The columns of the exchanges that the core made, one by one."""

    def __init__(
        self, taken: dict[str, Any], name_of: Callable[[int], str | None], files: Callable[[Any], Any] | None
    ) -> None:
        self.taken, self.name_of, self.files = taken, name_of, files
        self.rows = numbers_of(taken)
        self.links, self.clients = self.rows[:, LINK], self.rows[:, CLIENT]
        self.missing = self.rows[:, ANSWERED] < 0

    def array(self, field: Any) -> Any:
        """A column by its name: a method of that name, or one of NUMBERS' as it is."""
        if field.name in PLAIN:
            return integers(self.rows[:, PLAIN[field.name]], str(field.type))
        return getattr(self, f"make_{field.name}")(field)

    def make_server(self, field: Any) -> Any:
        return chosen(strings(self.taken["servers"]), servers_of(self.taken, self.rows), field.type)

    def make_client(self, field: Any) -> Any:
        return chosen(strings(self.taken["ends"]), self.links, field.type)

    def make_broker_address(self, field: Any) -> Any:
        import numpy

        found: dict[str, int] = {}  # a dictionary has each once
        numbers = [found.setdefault(address_of(end), len(found)) for end in strings(self.taken["servers"]).to_pylist()]
        places = numpy.array(numbers, numpy.int32)[servers_of(self.taken, self.rows)]
        return chosen(texts(found), places, field.type)

    def make_client_address(self, field: Any) -> Any:
        return chosen(strings(self.taken["addresses"]), placed(self.taken["address_of"], self.links), field.type)

    def make_timestamp(self, field: Any) -> Any:
        return integers(self.rows[:, TIME] // 1000, "int64").view(field.type)

    def make_connection(self, field: Any) -> Any:
        return chosen(strings(self.taken["links"]), self.links, field.type)

    def make_client_id(self, field: Any) -> Any:
        return chosen(strings(self.taken["clients"]), self.clients, field.type, self.clients < 0)

    def make_api(self, field: Any) -> Any:
        keys = self.rows[:, KEY]
        names = [self.name_of(key) for key in range(int(keys.max(initial=0)) + 1)]
        return chosen(texts(names), keys, field.type, is_none(names)[keys])

    def make_request_header(self, _field: Any) -> Any:
        return strings(self.taken["header"])

    def make_request(self, _field: Any) -> Any:
        return strings(self.taken["request"])

    def make_response(self, _field: Any) -> Any:
        return strings(self.taken["response"], self.missing)

    def make_response_bytes(self, _field: Any) -> Any:
        return integers(self.rows[:, ANSWERED], "int64", self.missing)

    def make_latency_ms(self, _field: Any) -> Any:
        return integers(self.rows[:, LATENCY] / 1000, "float64", self.missing)

    def make_error(self, field: Any) -> Any:
        import numpy

        ends, codes = map(numpy.frombuffer, self.taken["errors"], (numpy.int32, numpy.int64))
        missing = ends[:-1] == ends[1:]
        found, of_code = numpy.unique(codes[ends[:-1][~missing]], return_inverse=True)
        places = numpy.zeros(len(missing), numpy.int32)
        places[~missing] = of_code
        return chosen(texts(map(error_name, found.tolist())), places, field.type, missing)

    def make_errors(self, _field: Any) -> Any:
        return error_names(*self.taken["errors"])

    def make_file(self, field: Any) -> Any:
        import pyarrow

        return pyarrow.nulls(len(self.rows), field.type) if self.files is None else self.files(field.type)


def numbers_of(taken: dict[str, Any]) -> Any:
    """The core's rows of NUMBERS, as a matrix."""
    import numpy

    return numpy.frombuffer(taken["numbers"], numpy.int64).reshape(-1, NUMBERS)


def servers_of(taken: dict[str, Any], rows: Any) -> Any:
    """The place of each row's server among `servers`."""
    return placed(taken["server_of"], rows[:, LINK])


def placed(of: bytes, numbers: Any) -> Any:
    """What the core says of each number (int32)."""
    import numpy

    return numpy.frombuffer(of, numpy.int32)[numbers]


def wanted_rows(chosen: Filter, taken: dict[str, Any], batch: Any) -> Any:
    """Which rows of the batch pass the filter: bool by row."""
    import numpy

    rows = numbers_of(taken)
    kept = numpy.ones(len(rows), bool)
    if chosen.since is not None:
        kept &= rows[:, TIME] >= chosen.since
    if chosen.until is not None:
        kept &= rows[:, TIME] <= chosen.until
    if chosen.apis:
        kept &= numpy.isin(rows[:, KEY], list(chosen.apis))
    if chosen.client_id is not None:
        kept &= equal(batch.column("client_id"), chosen.client_id)
    if chosen.errors:
        kept &= numpy.diff(numpy.frombuffer(taken["errors"][0], numpy.int32)) > 0
    if chosen.topic is not None:
        for row in numpy.flatnonzero(kept & may_mention(batch, chosen.topic)).tolist():
            bodies = (batch.column(side)[row].as_py() for side in ("request", "response"))
            kept[row] = any(mentions(loads(body), chosen.topic) for body in bodies if body)
        kept &= may_mention(batch, chosen.topic)
    return kept


def equal(column: Any, text: str) -> Any:
    import pyarrow.compute

    return pyarrow.compute.fill_null(pyarrow.compute.equal(column, text), False).to_numpy(zero_copy_only=False)


def may_mention(batch: Any, topic: str) -> Any:
    """Which rows have that text anywhere in their JSON: bool by row."""
    import pyarrow.compute

    found = (
        pyarrow.compute.fill_null(pyarrow.compute.match_substring(batch.column(side), dumps(topic)), False)
        for side in ("request", "response")
    )
    first, second = (each.to_numpy(zero_copy_only=False) for each in found)
    return first | second

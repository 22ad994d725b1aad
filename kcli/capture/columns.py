"""The columns of a table of exchanges and events: from what the core made, or from values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.capture.arrays import error_names, integers, strings
from kcli.capture.events import Event, Exchange, error_codes
from kcli.capture.filters import Filter, mentions
from kcli.jsontext import dumps, loads
from kcli.schemas.errors import error_name

__all__ = ["COLUMNS", "batch_of", "event_row", "exchange_row", "rows_batch", "wanted_rows"]

NUMBERS = 10  # of the core: ts, completed, key, version, correlation id, sizes, latency, link, client
TIME, KEY, VERSION, CORRELATION, ASKED, ANSWERED, LATENCY, LINK, CLIENT = 0, 2, 3, 4, 5, 6, 7, 8, 9


def kind(name: str) -> Callable[[Any], Any]:
    return lambda arrow: getattr(arrow, name)()


TEXT, INT64 = kind("string"), kind("int64")

# Name -> its type, of the pyarrow that is given. Times are microseconds, UTC; request and response are JSON text in
# kcli's form. An exchange has none of the last four columns, an event most of the others.
COLUMNS: dict[str, Callable[[Any], Any]] = {
    "timestamp": lambda arrow: arrow.timestamp("us", "UTC"),
    "connection": TEXT, "server": TEXT, "client": TEXT, "client_id": TEXT,
    "api_key": kind("int16"), "api_version": kind("int16"), "api": TEXT, "correlation_id": kind("int32"),
    "request": TEXT, "response": TEXT, "request_bytes": INT64, "response_bytes": INT64, "latency_ms": kind("float64"),
    "errors": lambda arrow: arrow.list_(arrow.string()),
    "event": TEXT, "offset": INT64, "bytes": INT64, "reason": TEXT,
}  # fmt: skip
OF_EVENTS = ("event", "offset", "bytes", "reason")


def exchange_row(exchange: Exchange) -> dict[str, Any]:
    """By column; what is missing is null."""
    header, request, response = exchange.texts()
    return {
        "timestamp": exchange.request_ns // 1000,
        "connection": exchange.connection,
        "server": exchange.link.server,
        "client": exchange.link.client,
        "client_id": loads(header)["clientId"],
        "api_key": exchange.api_key,
        "api_version": exchange.api_version,
        "api": exchange.bodies.name(exchange.api_key),
        "correlation_id": exchange.correlation_id,
        "request": request.decode(),
        "response": response.decode() if exchange.response_frame is not None else None,
        "request_bytes": exchange.request_bytes,
        "response_bytes": exchange.response_bytes,
        "latency_ms": exchange.latency_ms,
        "errors": list(dict.fromkeys(error_name(code) for code in error_codes(exchange.response or {}))),
    }


def event_row(event: Event) -> dict[str, Any]:
    """By column; what is missing is null."""
    return {
        "timestamp": event.ns // 1000,
        "connection": event.connection,
        "event": event.kind,
        "offset": event.offset,
        "bytes": event.size,
        "reason": event.reason,
    }


def rows_batch(rows: list[dict[str, Any]], schema: Any) -> Any:
    """A record batch of such rows."""
    import pyarrow

    return pyarrow.RecordBatch.from_pylist(rows, schema=schema)


def batch_of(taken: dict[str, Any], name_of: Callable[[int], str | None], schema: Any) -> Any:
    """A record batch of what `kcli.core.rows.ExchangeRows.take_columns` gives. name_of: an API's name by its key."""
    import numpy
    import pyarrow

    rows = numbers_of(taken)
    keys, which = numpy.unique(rows[:, KEY], return_inverse=True)
    links, clients = rows[:, LINK], rows[:, CLIENT]
    servers = numpy.frombuffer(taken["server_of"], numpy.int32)[links]
    missing = rows[:, ANSWERED] < 0
    made = {
        "timestamp": pyarrow.array(rows[:, TIME] // 1000).cast(schema.field("timestamp").type),
        "connection": chosen_texts(taken["links"], links),
        "server": chosen_texts(taken["servers"], servers),
        "client": chosen_texts(taken["ends"], links),
        "client_id": chosen_texts(taken["clients"], clients, clients < 0),
        "api_key": integers(rows[:, KEY], "int16"),
        "api_version": integers(rows[:, VERSION], "int16"),
        "api": pyarrow.array(map(name_of, keys.tolist()), pyarrow.string()).take(pyarrow.array(which)),
        "correlation_id": integers(rows[:, CORRELATION], "int32"),
        "request": strings(copied(taken["request"])),
        "response": strings(copied(taken["response"]), missing),
        "request_bytes": pyarrow.array(rows[:, ASKED]),
        "response_bytes": pyarrow.array(rows[:, ANSWERED], mask=missing),
        "latency_ms": pyarrow.array(rows[:, LATENCY] / 1000, mask=missing),
        "errors": error_names(*taken["errors"]),
    }
    made |= {name: pyarrow.nulls(len(rows), schema.field(name).type) for name in OF_EVENTS}
    return pyarrow.record_batch([made[name] for name in schema.names], schema=schema)


def numbers_of(taken: dict[str, Any]) -> Any:
    import numpy

    return numpy.frombuffer(taken["numbers"], numpy.int64).reshape(-1, NUMBERS)


def copied(made: tuple[Any, Any]) -> tuple[Any, bytes]:
    """A column of text whose memory the next rows don't take."""
    return made[0], bytes(made[1])


def chosen_texts(made: tuple[Any, Any], places: Any, missing: Any = None) -> Any:
    """A column of text, by the place of each row's among those made. missing: bool by row, where there is none."""
    import numpy
    import pyarrow

    return strings(made).take(pyarrow.array(places.astype(numpy.int32), mask=missing))


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

"""Makes record batches of exchanges and events: columns from the core's exchanges, and rows of events."""

from collections.abc import Callable, Container, Sequence
from typing import Any

from kcli.capture.filters import Filter, mentions
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.tables.selected_fields import field_values
from kcli.jsontext import dumps, loads
from kcli.tables.arrays import Among, column_of
from kcli.tables.captured import EVENT_COLUMNS
from kcli.tables.core_rows import CoreRows
from kcli.tables.exchanges import BY_NAME, EXCHANGE_COLUMNS, ExchangeArrays

TEXT_BYTES = 1 << 25  # bytes of JSON or frames in a record batch; a single row may have more
OF_EVENTS = {each.name for each in EVENT_COLUMNS} - {each.name for each in EXCHANGE_COLUMNS}
EVERY = frozenset(each.name for each in (*EXCHANGE_COLUMNS, *EVENT_COLUMNS))


def put_exchange(
    sink: Any,
    item: Exchange,
    clock: int,
    note: Callable[[Event], None],
    fields: Sequence[str] = (),
) -> None:
    """Add an exchange as a value to the core's `ExchangeRows`.

    clock: the time (ns) of the packet that completed it. note: called before with the events about its bodies that
    can't be decoded. fields: names of the message fields that the sink makes columns of.
    """
    if sink.put(item, clock):
        return
    known, item.failures = item.failures, []
    header, request, response = item.texts()
    for failure in item.failures:
        note(failure)
    item.failures = known
    bodies = (None if text == b"null" else text for text in (request, response))
    sink.put_texts(item, clock, header, *bodies, field_values(item, fields))


def event_row(event: Event) -> dict[str, Any]:
    """Return an event's values by column; missing ones are null."""
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
    """Return a record batch of rows by column."""
    import pyarrow

    made = [column_of([row.get(field.name) for row in rows], field.type) for field in schema]
    return pyarrow.record_batch(made, schema=schema)


def batch_of(
    columns: dict[str, Any],
    name_of: Callable[[int], str | None],
    schema: Any,
    wanted: Container[str] = EVERY,
    files: Callable[[CoreRows], Among] | None = None,
    fields: Sequence[str] = (),
) -> Any:
    """Return a record batch over the memory of `ExchangeRows.take_columns`; columns that are not wanted are null.

    name_of: returns an API's name by its key. files: makes the column of file names of rows. fields: names of message
    fields in it.
    """
    import pyarrow

    made = ExchangeArrays(columns, name_of, files, fields)
    arrays = [
        BY_NAME[field.name].array(made, field.type) if field.name in wanted and field.name in BY_NAME
        else pyarrow.nulls(made.rows.count, field.type)
        for field in schema
    ]  # fmt: skip
    return pyarrow.record_batch(arrays, schema=schema)


def wanted_rows(chosen: Filter, columns: dict[str, Any], batch: Any) -> Any:
    """Return a mask of the batch's rows that pass the filter."""
    import numpy

    rows = CoreRows.of(columns, "numbers")
    kept = numpy.ones(rows.count, bool)
    if chosen.since is not None:
        kept &= rows.ts >= chosen.since
    if chosen.until is not None:
        kept &= rows.ts <= chosen.until
    if chosen.apis:
        kept &= numpy.isin(rows.key, list(chosen.apis))
    if chosen.client_id is not None:
        kept &= equal(batch.column("client_id"), chosen.client_id)
    if chosen.errors:
        kept &= numpy.diff(numpy.frombuffer(columns["errors"][0], numpy.int32)) > 0
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
    """Return a mask of the rows whose JSON contains this text."""
    import pyarrow.compute

    found = (
        pyarrow.compute.fill_null(pyarrow.compute.match_substring(batch.column(side), dumps(topic)), False)
        for side in ("request", "response")
    )
    first, second = (each.to_numpy(zero_copy_only=False) for each in found)
    return first | second

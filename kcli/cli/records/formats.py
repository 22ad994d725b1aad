"""`kcli records` in its formats: each takes rows, and writes them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, BinaryIO, NamedTuple

from kcli.calendar import NO_TIME, date_text, has_date
from kcli.cli.terminal.cells import cut, fit, pad, width
from kcli.cli.terminal.columns import left_out_lines
from kcli.cli.terminal.lines import Lines, csv_line, without_formula
from kcli.counting import counted
from kcli.extras import require
from kcli.jsontext import dumps
from kcli.payloads.payload_columns import PAYLOAD_COLUMNS, payload_columns, schema_id
from kcli.records.control import control_name

COLUMNS = (
    "topic", "partition", "offset", "timestamp", "key", "value", "headers",
    "api", "client_id", "connection", "file",
)  # fmt: skip
REPEATED = ("topic", "api", "client_id", "connection", "file")
PARQUET_COLUMNS = (*COLUMNS[:4], "timestamp_ms", *COLUMNS[4:], "aborted")
GROUP = 20_000  # rows of a row group
MEASURED = 500  # rows that determine the widths of columns on a terminal
GAPS = 7  # cells between the columns of the table
LONGEST_VALUE = 120  # cells of a value, where lines are not broken
LEAST_VALUE = 30  # ... beside what else is said of a record
MOST_SHOWN = 1 << 16  # characters of a value that are made ready for a line
NARROW = 110  # cells of a line, below which a time has no day
FACTS = "clients, headers, schemas"  # of some records
DAYTIME = 12  # cells of such a time: 01:22:07.846
Row = dict[str, Any]
Rows = Iterator[Row]


class Sizes(NamedTuple):
    """Cells of the table's columns before the value."""

    place: int
    offset: int
    time: int
    key: int


WIDE = Sizes(24, 12, 23, 16)


def write_jsonl(rows: Rows, out: BinaryIO, _room: int | None) -> None:
    """Write an object a line."""
    for row in rows:
        out.write(dumps(row).encode("utf-8", "surrogatepass") + b"\n")


def write_csv(rows: Rows, out: BinaryIO, _room: int | None, shown: Callable[[Any], Any] = lambda value: value) -> None:
    """Write COLUMNS under their names; values that are no text, and headers, as JSON. shown: makes a
    cell of a value.
    """
    write = Lines(out).lines

    def lines() -> Iterator[str]:
        yield csv_line(COLUMNS)
        for row in rows:
            values = row | {"headers": dumps(row["headers"]) if row["headers"] else None}
            cells = (text_of(decoded(row, name)) if name in ("key", "value") else values[name] for name in COLUMNS)
            yield csv_line(list(map(shown, cells)))

    write(lines())


def text_of(value: Any) -> str | None:
    """Format a key or value: text as it is, None as None, all else as JSON."""
    return value if value is None or isinstance(value, str) else dumps(value)


def decoded(row: Row, which: str) -> Any:
    """Return a key or value as its schema reads it, where it was decoded, else as it is."""
    return row.get(f"_{which}", row).get("data", row[which])


def write_table(rows: Rows, out: BinaryIO, room: int | None) -> None:
    """Write a line for each record. room: cells that it has at most; None: as many as it takes."""

    def lines() -> Iterator[str]:
        first = [] if room is None else [*islice(rows, MEASURED)]
        sizes = WIDE if room is None else measured(first, room)
        place = "topic[partition]" if sizes.place >= len("topic[partition]") else "topic"
        yield line_of(place, "offset", "time", "key", sizes, "value")
        left_out = ["days"] if sizes.time < WIDE.time else []
        for row in chain(first, rows):
            line, whole = table_line(row, sizes, room)
            if not whole and FACTS not in left_out:
                left_out.append(FACTS)
            yield line if room is None else cut(line, room)
        yield from left_out_lines(left_out, room)

    Lines(out).lines(lines())


def measured(first: Sequence[Row], room: int) -> Sizes:
    """Return columns as wide as the first values need; on a narrow terminal the time is without its day."""
    named = [width(each) for each in map(place_text, first)]
    offsets = [len(offset_text(row)) for row in first]
    keys = [width(shown(decoded(row, "key"))) for row in first]
    time = DAYTIME if room < NARROW else WIDE.time
    sizes = (max([9, *named]), max([6, *offsets]), max([3, *keys]))
    place, offset, key = map(min, sizes, (room // 4, WIDE.offset, max(room // 8, 3)))
    return Sizes(place, offset, time, key)


def line_of(place: str, offset: str, time: str, key: str, sizes: Sizes, value: str) -> str:
    left = f"{fit(place, sizes.place)} {pad(offset, sizes.offset, right=True)}  {fit(time, sizes.time)}"
    return f"{left}  {fit(key, sizes.key)}  {value}"


def table_line(row: Row, sizes: Sizes, room: int | None) -> tuple[str, bool]:
    """Return the line of a record, and whether all facts have room beside its value."""
    time = time_text(row["timestamp"])
    time = time[-sizes.time :] if len(time) == WIDE.time else time
    cells = place_text(row), offset_text(row), time, shown(decoded(row, "key")), sizes
    left = LONGEST_VALUE if room is None else max(room - sum(sizes) - GAPS, 1)
    value = shown(decoded(row, "value"))
    enough = min(width(value), LEAST_VALUE)
    first, *fewer = tails(row)
    tail = next(each for each in (first, *fewer) if room is None or left - width(each) >= enough or not each)
    return line_of(*cells, cut(value, left if room is None else left - width(tail)) + tail), tail == first


def place_text(row: Row) -> str:
    return "-" if row["topic"] is None else f"{row['topic']}[{row['partition']}]"


def offset_text(row: Row) -> str:
    return "-" if row["offset"] is None else str(row["offset"])


def tails(row: Row) -> Iterator[str]:
    """Yield the other facts of a record, then ever fewer of them, for lines with less room, and finally nothing."""
    marks = ["aborted"] if row.get("aborted") else []
    marks += [f"control {control_name(row['_control'])}"] if "_control" in row else []
    schemas = [*filter(None, map(schema_text, (row.get("_key"), row.get("_value"))))]
    headers = [counted(len(row["headers"]), "header")] if row["headers"] else []
    api = [row["api"]] if row["api"] else []
    by = [f"{row['api']} by {row['client_id'] or '-'}"] if row["api"] else []
    for each in ([*schemas, *headers, *marks, *by], [*schemas, *marks, *api], marks):
        yield f"  ({', '.join(each)})" if each else ""
    yield ""


def schema_text(payload: Row | None) -> str:
    """Describe which schema a payload has, and why it was not decoded."""
    if payload is None:
        return ""
    number = schema_id(payload)
    return ": ".join(filter(None, ("" if number is None else f"schema {number}", payload.get("reason"))))


def shown(value: Any) -> str:
    """Format a key or value for a cell of the table; of a long one, more of its start than any line shows."""
    if isinstance(value, dict) and isinstance(encoded := value.get("base64"), str):
        value = value | {"base64": encoded[:MOST_SHOWN]}
    text = text_of(value[:MOST_SHOWN] if isinstance(value, str) else value)
    return "null" if text is None else text


def time_text(ms: int | None) -> str:
    """Format "2026-11-21 01:22:07.846", or the number where no calendar has it."""
    return "-" if ms is None else date_text(ms).replace("T", " ")


def write_followed(rows: Rows, out: BinaryIO, form: str, room: int | None) -> None:
    """Write rows as they arrive, in a format or as "values"."""
    lines = Lines(out)
    if form == "table":
        lines.line(line_of("topic[partition]", "offset", "time", "key", WIDE, "value"))
    for row in rows:
        if form == "jsonl":
            write_jsonl(iter([row]), out, room)
        elif form == "table":
            line, _whole = table_line(row, WIDE, room)
            lines.line(line if room is None else cut(line, room))
        else:
            lines.line(text_of(decoded(row, "value")) or "")
        out.flush()


def write_values(rows: Rows, out: BinaryIO) -> None:
    """Write each value alone on a line, as kcat does; nothing for null. Terminal control characters are escaped."""
    Lines(out).lines(text_of(decoded(row, "value")) or "" for row in rows)


def parquet_schema(more: Sequence[str] = ()) -> Any:
    """Return the columns in Parquet, as batches have them: texts that repeat as dictionaries. more: columns of text."""
    require("a table of records", "parquet")
    import pyarrow

    binary, text = pyarrow.binary(), pyarrow.string()
    header = pyarrow.struct([("key", text), ("value", binary)])
    types = dict.fromkeys(REPEATED, pyarrow.dictionary(pyarrow.int32(), text)) | {
        "partition": pyarrow.int32(),
        "offset": pyarrow.int64(),
        "timestamp": pyarrow.timestamp("ms", "UTC"),
        "timestamp_ms": pyarrow.int64(),
        "key": binary,
        "value": binary,
        "headers": pyarrow.list_(header),
        "aborted": pyarrow.bool_(),
    }
    return pyarrow.schema([(name, types.get(name, text)) for name in (*PARQUET_COLUMNS, *more)])


def write_parquet(rows: Rows, out: BinaryIO, _room: int | None, more: tuple[str, ...] = ()) -> None:
    """Write a row for each record; key, value and headers are bytes, of a secret its JSON. more: columns of text."""
    from kcli.tables.parquet import parquet_file, parquet_writer

    schema = parquet_schema(more)
    with parquet_file(out, schema, parquet_writer) as writer:
        for batch in parquet_batches(rows, schema):
            writer().write_batch(batch)


def parquet_batches(rows: Rows, schema: Any) -> Iterator[Any]:
    """Yield rows as record batches."""
    import pyarrow

    while some := [parquet_row(row) for row in islice(rows, GROUP)]:
        yield pyarrow.RecordBatch.from_pylist(some, schema=schema)


def parquet_row(row: Row) -> Row:
    time = row["timestamp"]
    return (
        row
        | {
            "key": bytes_of(row["key"]),
            "value": bytes_of(row["value"]),
            "timestamp": time if time is not None and has_date(time) else None,
            "timestamp_ms": None if time == NO_TIME else time,
            "headers": [{"key": text_of(each["key"]), "value": bytes_of(each["value"])} for each in row["headers"]],
            "aborted": bool(row.get("aborted")),
        }
        | payload_columns(row)
    )


def bytes_of(value: Any) -> bytes | None:
    """Return a key or value as it was on the wire."""
    if isinstance(value, dict) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    text = text_of(value)
    return None if text is None else text.encode("utf-8", "surrogatepass")


FORMATS: dict[str, Callable[[Rows, BinaryIO, int | None], None]] = {
    "table": write_table,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}
WRITERS = FORMATS | {
    "csv-escaped": partial(write_csv, shown=without_formula),
    "parquet-payloads": partial(write_parquet, more=PAYLOAD_COLUMNS),
}

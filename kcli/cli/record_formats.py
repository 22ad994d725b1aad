"""`kcli records` in its formats: each takes rows, and writes them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from kcli.capture.clock import LAST_MS, instant
from kcli.cli.cells import cut, fit, pad, width
from kcli.cli.lines import Lines, csv_line
from kcli.extras import require
from kcli.jsontext import dumps

__all__ = ["COLUMNS", "FORMATS", "text_of", "write_parquet", "write_values"]

COLUMNS = (
    "topic", "partition", "offset", "timestamp", "key", "value", "headers",
    "api", "client_id", "connection", "file",
)  # fmt: skip
GROUP = 20_000  # rows of a row group
PLACE, KEY, WHERE = 24, 16, 26  # cells of the table's columns
LONGEST_VALUE = 120  # ... of a value, where lines are not broken
Row = dict[str, Any]
Rows = Iterator[Row]


def write_jsonl(rows: Rows, out: BinaryIO, _room: int | None) -> None:
    """An object a line."""
    for row in rows:
        out.write(dumps(row).encode("utf-8", "surrogatepass") + b"\n")


def write_csv(rows: Rows, out: BinaryIO, _room: int | None) -> None:
    """COLUMNS under their names; what is no text, and headers, as JSON."""
    write = Lines(out).lines

    def lines() -> Iterator[str]:
        yield csv_line(COLUMNS)
        for row in rows:
            values = row | {"headers": dumps(row["headers"]) if row["headers"] else None}
            yield csv_line([text_of(values[name]) if name in ("key", "value") else values[name] for name in COLUMNS])

    write(lines())


def text_of(value: Any) -> str | None:
    """A key or value: text as it is, None as None, all else as JSON."""
    return value if value is None or isinstance(value, str) else dumps(value)


def write_table(rows: Rows, out: BinaryIO, room: int | None) -> None:
    """A line for each record. room: cells that it has at most; None: as many as it takes."""
    head = f"{'topic[partition]':<{PLACE}} {'offset':>12}  {'time':<23}  {'key':<{KEY}}  "

    def lines() -> Iterator[str]:
        yield fitted(head + "value", room)
        for row in rows:
            yield fitted(table_line(row, room, len(head)), room)

    Lines(out).lines(lines())


def table_line(row: Row, room: int | None, used: int) -> str:
    place = "-" if row["topic"] is None else f"{row['topic']}[{row['partition']}]"
    offset = "-" if row["offset"] is None else str(row["offset"])
    marks = [f"{len(row['headers'])} headers"] if row["headers"] else []
    marks += ["aborted"] if row.get("aborted") else []
    marks += [f"control {row['_control'].get('type')}"] if "_control" in row else []
    marks += [f"{row['api']} by {row['client_id'] or '-'}"] if row["api"] else []
    tail = f"  ({', '.join(marks)})" if marks else ""
    left = LONGEST_VALUE if room is None else max(room - used - width(tail), KEY)
    left_side = f"{fit(place, PLACE)} {pad(offset, 12, right=True)}  {time_text(row['timestamp']):<23}  "
    return left_side + f"{fit(shown(row['key']), KEY)}  {cut(shown(row['value']), left)}{tail}"


def shown(value: Any) -> str:
    text = text_of(value)
    return "null" if text is None else text


def fitted(line: str, room: int | None) -> str:
    return line if room is None else cut(line, room)


def time_text(ms: int | None) -> str:
    """ "2026-11-21 01:22:07.846", as it is where no calendar has it."""
    if ms is None or ms < 0:
        return "-"
    return instant(ms * 1_000_000)[:23].replace("T", " ") if ms <= LAST_MS else str(ms)


def write_values(rows: Rows, out: BinaryIO) -> None:
    """Each value alone on a line, as kcat prints it; nothing for null. What steers a terminal is escaped."""
    Lines(out).lines(text_of(row["value"]) or "" for row in rows)


def write_parquet(rows: Rows, out: BinaryIO, _room: int | None) -> None:
    """A row for each record; key, value and headers are bytes, of a secret its JSON."""
    require("a table of records", "parquet")
    import pyarrow

    from kcli.records.columns import parquet_file

    binary, text = pyarrow.binary(), pyarrow.string()
    header = pyarrow.struct([("key", text), ("value", binary)])
    types = {
        "partition": pyarrow.int32(),
        "offset": pyarrow.int64(),
        "timestamp": pyarrow.timestamp("ms", "UTC"),
        "key": binary,
        "value": binary,
        "headers": pyarrow.list_(header),
        "aborted": pyarrow.bool_(),
    }
    schema = pyarrow.schema([(name, types.get(name, text)) for name in (*COLUMNS, "aborted")])
    with parquet_file(out, schema) as writer:
        while some := [parquet_row(row) for row in islice(rows, GROUP)]:
            writer().write_batch(pyarrow.RecordBatch.from_pylist(some, schema=schema))


def parquet_row(row: Row) -> Row:
    time = row["timestamp"]
    return row | {
        "key": bytes_of(row["key"]),
        "value": bytes_of(row["value"]),
        "timestamp": time if time is not None and 0 <= time <= LAST_MS else None,
        "headers": [{"key": text_of(each["key"]), "value": bytes_of(each["value"])} for each in row["headers"]],
        "aborted": bool(row.get("aborted")),
    }


def bytes_of(value: Any) -> bytes | None:
    """A key or value as it was on the wire."""
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

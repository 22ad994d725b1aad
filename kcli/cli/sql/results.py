"""The answer to a query as a table, JSON, CSV or Parquet, written while it is made."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO

from kcli.calendar import moment_text
from kcli.cli.terminal.cells import GAP, broken, cut, hanging, narrowed, pad, width
from kcli.cli.terminal.lines import Lines, print_note, without_formula
from kcli.counting import counted
from kcli.jsontext import dumps
from kcli.legible import legible

if TYPE_CHECKING:
    from kcli.sql.engine import Engine

MEASURED = 500  # rows that determine the widths of a table's columns
WIDEST = 60  # cells of a column on a terminal
LEAST = 6  # ... where many columns have to share it
WORDS = 20  # ... of a text beside others
UNCUT = 28  # ... of a value that is never cut, as a time: where these find no room, rows become blocks
PADDED = 100  # ... in a pipe, where longer values are not cut


def write_answer(
    engine: Engine, query: str, out: BinaryIO, form: str, *, room: int | None, quiet: bool, escaped: bool = False
) -> None:
    """Write the answer's rows.

    room: cells of a line of the terminal; None: no table is cut to fit one. escaped: in CSV no text begins a formula.
    Raises UsageError if the query is wrong. InputError at the end: the inputs have faults.
    """
    with engine.answer(query) as reader:
        if form == "table":
            rows = write_table(reader, out, room)
        else:
            rows = write_csv(reader, out, escaped) if form == "csv" else WRITERS[form](reader, out)
        out.flush()
    for note in () if quiet else engine.notes:
        print_note(f"kcli: {note}")
    if not quiet and form == "table":
        print_note(counted(rows, "row"))


def rows_of(reader: Any) -> Iterator[list[Any]]:
    """Yield the rows as lists of values that JSON has."""
    for batch in reader:
        columns = [[plain(value) for value in values_of(column)] for column in batch.columns]
        yield from map(list, zip(*columns, strict=True))


def values_of(column: Any) -> list[Any]:
    """Return Python values; text where Python has none (a time beyond the year 9999)."""
    import pyarrow

    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        values = column.cast(pyarrow.string()).to_pylist()
    return values


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return f"{moment_text(value)}{'' if value.tzinfo is None else 'Z'}"
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, bytes):
        return bytes_text(value)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)) and type(value).__name__ in ("list", "tuple"):
        return [plain(each) for each in value]
    return str(value)


def bytes_text(value: bytes) -> Any:
    """Return text for printable UTF-8, else {"base64": ...}, as in kcli's JSON."""
    from base64 import b64encode

    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    return text if text.isprintable() else {"base64": b64encode(value).decode()}


def text_of(value: Any) -> str:
    """Format a value for a table and CSV; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else dumps(value) if isinstance(value, (dict, list)) else str(value)


def write_jsonl(reader: Any, out: BinaryIO) -> int:
    count = 0
    names = reader.schema.names
    for row in rows_of(reader):
        out.write(f"{dumps(dict(zip(names, row, strict=True)))}\n".encode())
        count += 1
    return count


def write_json(reader: Any, out: BinaryIO) -> int:
    count = 0
    names = reader.schema.names
    out.write(b"[")
    for count, row in enumerate(rows_of(reader), 1):
        out.write(f"{',' if count > 1 else ''}\n{dumps(dict(zip(names, row, strict=True)))}".encode())
    out.write(b"\n]\n" if count else b"]\n")
    return count


def write_csv(reader: Any, out: BinaryIO, escaped: bool = False) -> int:
    """Write RFC 4180 with a head; control characters are escaped, so that a row is a line. escaped:
    see `write_answer`.
    """
    count = -1  # the head
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in chain([reader.schema.names], rows_of(reader)):
        writer.writerow([legible(text_of(without_formula(value) if escaped else value)) for value in row])
        out.write(text.getvalue().encode("utf-8", "replace"))
        text.seek(0)
        text.truncate()
        count += 1
    return count


def write_parquet(reader: Any, out: BinaryIO) -> int:
    from kcli.tables.parquet import parquet_file

    count = 0
    with parquet_file(out, reader.schema) as writer:
        for batch in reader:
            writer().write_batch(batch)
            count += batch.num_rows
    return count


def write_table(reader: Any, out: BinaryIO, room: int | None = None) -> int:
    """Write columns as wide as their first values; with `room` (cells) values and then lines are cut."""
    import pyarrow

    most = PADDED if room is None else WIDEST
    right = [pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind)
             for kind in reader.schema.types]  # fmt: skip
    rows = ([legible(text_of(value)) for value in row] for row in rows_of(reader))
    first = [[legible(name) for name in reader.schema.names], *islice(rows, MEASURED)]
    sizes = [min(max(map(width, column)), most) for column in zip(*first, strict=True)]
    write = Lines(out).line
    if room is not None and sum(min(size, UNCUT) + 2 for size in sizes) > room + 2:
        return write_blocks(first[0], chain(first[1:], rows), write, room)
    if room is not None:
        sizes = narrowed(sizes, room - 2 * (len(sizes) - 1), LEAST)
    count = -1  # the head
    for row in chain(first, rows):
        count += 1
        shown = row if room is None else map(cut, row, sizes)
        line = "  ".join(pad(cell, size, right=at) for cell, size, at in zip(shown, sizes, right, strict=True)).rstrip()
        write(line if room is None else cut(line, room))
    return count


def write_blocks(names: list[str], rows: Iterable[list[str]], write: Callable[[str], None], room: int) -> int:
    """Write each row as a block of lines, a line for each value: for rows with too many columns for the terminal."""
    size = max(map(width, names))
    count = 0
    for count, row in enumerate(rows, 1):
        write(f"-- row {count:,}")
        for name, value in zip(names, row, strict=True):
            write(cut(f"{pad(name, size)}  {value}".rstrip(), room))
    return count


WRITERS: dict[str, Callable[[Any, BinaryIO], int]] = {
    "table": write_table,
    "json": write_json,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
}


def list_lines(room: int | None) -> Iterator[str]:
    """Yield the tables with their columns, and example questions. room: cells of a line; None: as many as it takes."""
    from kcli.pipeline.queries import QUESTIONS
    from kcli.sql.definitions import TABLES
    from kcli.sql.examples import EXAMPLES

    def listed(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
        for *cells, text in rows:
            head = "".join(f"  {cell:{size}}" for cell, size in zip(cells, widths, strict=True))
            if room is not None and room - len(head) - GAP < WORDS:
                yield f"  {'  '.join(cells)}"
                yield from broken(text, room, "    ")
                continue
            yield from hanging(f"{head}  ", text, room)

    for table in TABLES.values():
        yield from broken(f"{table.name}: {table.text}", room)
        kinds = [KINDS.get(each.kind, each.kind) + (", or null" if each.nullable else "") for each in table.columns]
        rows = [(each.name, kind, each.text) for each, kind in zip(table.columns, kinds, strict=True)]
        yield from listed(rows, (max(map(len, table.names)), 19))
        yield ""
    yield "Questions (kcli sql --question NAME FILE...):"
    yield from listed([(each.name, each.title) for each in QUESTIONS], [max(len(each.name) for each in QUESTIONS)])
    yield ""
    yield "Examples (kcli sql QUERY FILE...):"
    for question, query in EXAMPLES:
        yield from broken(question, room, "  ")
        yield f"    {query}"


KINDS = {"instant": "timestamp", "strings": "string[]", "headers": "struct[]"}

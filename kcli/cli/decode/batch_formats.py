"""Batches as lines of JSON, and as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO

from kcli.calendar import date_text, has_date
from kcli.cli.decode.batch_sources import OpenSource
from kcli.cli.terminal.cells import GAP, without_spared
from kcli.cli.terminal.columns import left_out_lines
from kcli.cli.terminal.lines import Lines
from kcli.errors import UsageError
from kcli.jsontext import loads

if TYPE_CHECKING:
    from kcli.records.parallel_json import LineForm
    from kcli.records.text import Findings, Hook

# Headings with the width and alignment of their columns: lines are written as batches are read.
COLUMNS = {
    "position": ">12", "offsets": ">25", "count": ">7", "magic": ">5", "codec": "<6", "time": "<6", "latest": "<24",
    "size": ">9", "crc": "<8",
}  # fmt: skip
SPARED = ("position", "time", "magic", "latest", "size", "codec")  # columns that are dropped first on a narrow terminal
LEAST = 8  # cells for the oddities of a batch


def hook_of(topic: str | None, dialect: str | None, secrets: bool, embedded: bool = False) -> Hook | None:
    """Return the decoder of an internal topic's records; None without a topic.

    Raises UsageError: not an internal topic. embedded: decodes the messages that group members embed, too.
    """
    if topic is None:
        return None
    from kcli.records.internal import TOPICS, record_members

    if topic not in TOPICS:
        raise UsageError(f"--topic {topic}: no internal topic ({', '.join(TOPICS)} expected)")
    return record_members(topic, dialect, secrets, embedded)


def write_lines(
    source: OpenSource, out: BinaryIO, form: LineForm, bar: Callable[[int], None] | None = None
) -> Findings:
    """Write a line of JSON for each batch. Return the problems."""
    from kcli.records.parallel_json import write_json_lines

    return write_json_lines(source.read, out.write, form, seekable=source.seekable, progress=bar, size=source.size)


def write_table(
    source: OpenSource, out: BinaryIO, bar: Callable[[int], None] | None = None, room: int | None = None
) -> Findings:
    """Write headings, a line for each batch, and the names of columns without room. room: cells of a line; None: no
    limit. Return the problems.
    """
    from kcli.records.parallel_json import LineForm, write_json_lines

    write = Lines(out).lines
    sizes = {name: int(form[1:]) for name, form in COLUMNS.items()}
    kept = [*(sizes if room is None else without_spared(sizes, SPARED, room - GAP - LEAST))]
    write([line_of(kept, {name: name for name in kept})])

    def emit(text: memoryview) -> None:
        write(line_of(kept, cells_of(loads(line))) for line in bytes(text).splitlines())

    form = LineForm(full=False, positions=True)
    found = write_json_lines(source.read, emit, form, seekable=source.seekable, progress=bar, size=source.size)
    write(left_out_lines([name for name in COLUMNS if name not in kept], room))
    return found


def line_of(names: Iterable[str], cells: dict[str, Any]) -> str:
    """Return the line of a batch. cells: by column, the oddities under ""; or under "*" a text in place of all."""
    if "*" in cells:
        return str(cells["*"])
    return (" " * GAP).join([*(f"{cells[name]:{COLUMNS[name]}}" for name in names), cells.get("", "")]).rstrip()


def cells_of(row: dict[str, Any]) -> dict[str, Any]:
    if "event" in row:
        return {"*": f"{row['offset']:>12}  {row['event']}: {row['bytes']} bytes: {row['reason']}"}
    marks = [name for name, flag in (("txn", "isTransactional"), ("control", "isControl")) if row[flag]]
    if (row["producerId"] or -1) >= 0:
        marks.append(f"producer {row['producerId']}:{row['producerEpoch']} seq {row['baseSequence']}")
    if row["partitionLeaderEpoch"] is not None:
        marks.append(f"epoch {row['partitionLeaderEpoch']}")
    marks += [f"{row['_error']['path']}: {row['_error']['reason']}"] if "_error" in row else []
    return {
        "position": row["_position"],
        "offsets": f"{'?' if row['baseOffset'] is None else row['baseOffset']}-{row['lastOffset']}",
        "count": "?" if row["count"] is None else row["count"],
        "magic": row["magic"],
        "codec": row["compression"],
        "time": {"CreateTime": "create", "LogAppendTime": "append"}.get(row["timestampType"], "-"),
        "latest": time_text(row["maxTimestamp"]),
        "size": row["sizeInBytes"],
        "crc": f"{row['crc']:08x}" if row["crcValid"] else "WRONG",
        "": ", ".join(marks),
    }


def time_text(milliseconds: int) -> str:
    """Format a timestamp as UTC with milliseconds; as it is where no calendar has it."""
    return f"{date_text(milliseconds)}Z" if has_date(milliseconds) else date_text(milliseconds)

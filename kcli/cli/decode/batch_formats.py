"""Batches as lines of JSON, and as a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from kcli.calendar import date_text, has_date
from kcli.cli.decode.batch_sources import OpenSource
from kcli.cli.terminal.lines import Lines
from kcli.errors import UsageError

if TYPE_CHECKING:
    from kcli.records.parallel_json import LineForm
    from kcli.records.text import Findings, Hook

HEADINGS = ("position", "offsets", "count", "magic", "codec", "time", "latest", "size", "crc", "")
TABLE = "{:>12}  {:>25}  {:>7}  {:>5}  {:<6}  {:<6}  {:<24}  {:>9}  {:<8}  {}"


def hook_of(topic: str | None, dialect: str | None, secrets: bool, embedded: bool = False) -> Hook | None:
    """Return the decoder of an internal topic's records; None without a topic. Raises UsageError: not an internal
    topic.

    embedded: with what members of groups say to each other.
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
    """Write a line of JSON for each batch. Returns what was wrong."""
    from kcli.records.parallel_json import write_json_lines

    return write_json_lines(source.read, out.write, form, seekable=source.seekable, progress=bar, size=source.size)


def write_table(source: OpenSource, out: BinaryIO, bar: Callable[[int], None] | None = None) -> Findings:
    """Write a line for each batch, below HEADINGS. Return the problems."""
    from kcli.jsontext import loads
    from kcli.records.parallel_json import LineForm, write_json_lines

    write = Lines(out).lines
    write([TABLE.format(*HEADINGS)])

    def emit(text: memoryview) -> None:
        write(table_line(loads(line)) for line in bytes(text).splitlines())

    form = LineForm(full=False, positions=True)
    return write_json_lines(source.read, emit, form, seekable=source.seekable, progress=bar, size=source.size)


def table_line(row: dict[str, Any]) -> str:
    if "event" in row:
        return f"{row['offset']:>12}  {row['event']}: {row['bytes']} bytes: {row['reason']}"
    marks = [name for name, flag in (("txn", "isTransactional"), ("control", "isControl")) if row[flag]]
    if (row["producerId"] or -1) >= 0:
        marks.append(f"producer {row['producerId']}:{row['producerEpoch']} seq {row['baseSequence']}")
    if row["partitionLeaderEpoch"] is not None:
        marks.append(f"epoch {row['partitionLeaderEpoch']}")
    marks += [f"{row['_error']['path']}: {row['_error']['reason']}"] if "_error" in row else []
    return TABLE.format(
        row["_position"],
        f"{'?' if row['baseOffset'] is None else row['baseOffset']}-{row['lastOffset']}",
        "?" if row["count"] is None else row["count"],
        row["magic"],
        row["compression"],
        {"CreateTime": "create", "LogAppendTime": "append"}.get(row["timestampType"], "-"),
        time_text(row["maxTimestamp"]),
        row["sizeInBytes"],
        f"{row['crc']:08x}" if row["crcValid"] else "WRONG",
        ", ".join(marks),
    ).rstrip()


def time_text(milliseconds: int) -> str:
    """Format a timestamp as UTC with milliseconds; as it is where no calendar has it."""
    return f"{date_text(milliseconds)}Z" if has_date(milliseconds) else date_text(milliseconds)

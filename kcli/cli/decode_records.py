"""`kcli decode batch` and `kcli decode segment`: record batches, and the files of a partition's folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.cli.console import progress, warn
from kcli.cli.inputs import binary_input, dialect_option, name_of, quiet_option, read_bytes, secrets_option
from kcli.cli.lines import Lines
from kcli.cli.output import open_output, output_option
from kcli.cli.streams import standard_input
from kcli.errors import DecodeError, InputError, UsageError

if TYPE_CHECKING:
    from kcli.records.chunks import ReadInto
    from kcli.records.text import Findings, Hook
    from kcli.records.verification import LogFacts, LogFinding

__all__ = ["batch", "segment"]

RECORDS = click.Choice(["none", "batches", "full"])


@click.command()
@click.argument("file", default="-")
@binary_input
@dialect_option
@click.option(
    "--records", type=RECORDS, default="full", show_default=True, help="Batches alone, or with their records."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["json", "jsonl", "table", "tree", "hexdump"]),
    default="json",
    show_default=True,
    help="json and jsonl: a batch on each line. tree, hexdump: each field with its bytes.",
)
@click.option("--topic", help="The internal topic they are from: its records are decoded as well.")
@output_option
@quiet_option("No warnings.")
@secrets_option()
def batch(
    file: str,
    hex_: bool,
    base64_: bool,
    dialect: str | None,
    records: str,
    format_: str,
    topic: str | None,
    output: str | None,
    quiet: bool,
    secrets: bool,
) -> None:
    """Decode record batches or message sets, as in a Produce request, a Fetch response or a log segment.

    FILE holds their bytes ("-", the default: standard input). With --records full, `kcli encode batch` gives the same
    bytes again.
    """
    data = read_bytes(file, hex_, base64_)
    if not data:
        raise InputError("no bytes: record batches expected", file=name_of(file))
    with open_output(output, [file]) as out:
        if format_ in ("tree", "hexdump"):
            show_spans(data, format_, out, name_of(file), secrets)
            return
        source = memory_source(data)
        if format_ == "table":
            found = write_table(source, out)
        else:
            hook = hook_of(topic, dialect, secrets)
            found = write_lines(source, out, records == "full", payloads=True, record=hook, secrets=secrets)
    report(found, name_of(file), quiet)


@click.command()
@click.argument("files", metavar="FILE|DIR...", nargs=-1, required=True)
@dialect_option
@click.option(
    "--records", type=RECORDS, default="batches", show_default=True, help="Batches alone, or with their records."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "jsonl", "parquet"]),
    default="table",
    show_default=True,
    help="jsonl: an object for each batch or entry; parquet: a row for each record.",
)
@click.option("--verify", is_flag=True, help="Check batches, records and the files beside the log; exit 1 on errors.")
@click.option("--topic", help="The internal topic they are from (default: what the folder's name says).")
@click.option("--position", is_flag=True, help='Say where each batch is in its file ("_position").')
@click.option("--exact", is_flag=True, help="Carry what an exact encode needs: stored payloads of compressed batches.")
@output_option
@quiet_option("No progress, no warnings.")
@secrets_option()
def segment(
    files: tuple[str, ...],
    dialect: str | None,
    records: str,
    format_: str,
    verify: bool,
    topic: str | None,
    position: bool,
    exact: bool,
    output: str | None,
    quiet: bool,
    secrets: bool,
) -> int:
    """Decode the files of a partition's folder.

    FILE is a log segment (.log), an .index, .timeindex or .txnindex, a producer .snapshot or a leader-epoch-checkpoint;
    DIR a folder of them. Records of __consumer_offsets, __transaction_state, __share_group_state and __cluster_metadata
    are decoded to their own form with --records full.
    """
    paths = expand(files)
    if verify:
        return run_verify(paths, [*files, *paths], format_, output, quiet)
    if format_ == "parquet":
        return write_parquet(paths, [*files, *paths], output, quiet, secrets)
    failure: InputError | None = None
    with open_output(output, [*files, *paths]) as out:
        for path in paths:
            if len(paths) > 1:
                title(out, path, format_)
            try:
                hook = hook_of(topic or folder_topic(path), dialect, secrets) if records == "full" else None
                decode_file(path, out, format_, records == "full", hook, exact, position, quiet, secrets)
            except InputError as error:
                if failure:
                    warn(str(failure), quiet)
                failure = error.within(path)
    if failure is not None:
        raise failure
    return 0


def expand(files: tuple[str, ...]) -> list[str]:
    """The files that are meant: of a folder, those of a log, by name, each log before the files beside it."""
    from kcli.records.segments import kind_of

    paths: list[str] = []
    for file in files:
        if file == "-" or not Path(file).is_dir():
            paths.append(file)
            continue
        inside = sorted(path for path in Path(file).rglob("*") if path.is_file() and kind_of(path.name))
        if not inside:
            raise InputError("no log segment in this folder", file=file)
        inside.sort(key=lambda path: (path.parent, path.name.partition(".")[0], path.suffix != ".log", path.name))
        paths += map(str, inside)
    return paths


def title(out: BinaryIO, path: str, format_: str) -> None:
    from kcli.jsontext import dumps

    Lines(out).line(dumps({"event": "file", "file": path}) if format_ == "jsonl" else f"{path}:")


def folder_topic(path: str) -> str | None:
    from kcli.records.internal import topic_of

    return topic_of(Path(path).absolute().parent.name)


def hook_of(topic: str | None, dialect: str | None, secrets: bool) -> Hook | None:
    if topic is None:
        return None
    from kcli.records.internal import TOPICS, record_members

    if topic not in TOPICS:
        raise UsageError(f"--topic {topic}: no internal topic ({', '.join(TOPICS)} expected)")
    return record_members(topic, dialect, secrets)


def decode_file(
    path: str,
    out: BinaryIO,
    format_: str,
    full: bool,
    hook: Hook | None,
    exact: bool,
    position: bool,
    quiet: bool,
    secrets: bool,
) -> None:
    from kcli.records.segments import kind_of, read_rows

    kind = kind_of(path)
    if kind in (None, "log"):
        with open_source(path) as source, progress(source.size, path, quiet) as bar:
            if format_ == "table":
                found = write_table(source, out, bar)
            else:
                form = {"payloads": exact, "positions": position, "secrets": secrets}
                found = write_lines(source, out, full, record=hook, bar=bar, **form)
        report(found, name_of(path), quiet)
        return
    assert kind is not None
    for number, row in enumerate(read_rows(kind, Path(path).read_bytes(), path)):
        write_row(out, row, number, format_)


def write_row(out: BinaryIO, row: dict[str, Any], number: int, format_: str) -> None:
    from kcli.jsontext import dumps

    if format_ == "jsonl":
        out.write(dumps(row).encode() + b"\n")
        return
    if number == 0:
        Lines(out).line("  ".join(f"{name:>20}" for name in row))
    Lines(out).line("  ".join(f"{value:>20}" for value in row.values()))


class OpenSource:
    """Where batches are read from: `read` for positions, or in order where `seekable` is False."""

    def __init__(self, read: ReadInto, size: int | None, seekable: bool) -> None:
        self.read, self.size, self.seekable = read, size, seekable


@contextmanager
def open_source(path: str) -> Iterator[OpenSource]:
    if path == "-":
        yield OpenSource(lambda into, _position: standard_input().readinto1(into), None, False)
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode):
            yield OpenSource(lambda into, position: os.preadv(handle, [into], position), status.st_size, True)
        else:
            yield OpenSource(lambda into, _position: os.readv(handle, [into]), None, False)
    finally:
        os.close(handle)


def memory_source(data: bytes) -> OpenSource:
    from kcli.records.conversion import Slice

    return OpenSource(Slice.of(data).read, len(data), True)


def write_lines(
    source: OpenSource,
    out: BinaryIO,
    full: bool,
    *,
    payloads: bool,
    record: Hook | None = None,
    positions: bool = False,
    secrets: bool = False,
    bar: Callable[[int], None] | None = None,
) -> Findings:
    from kcli.records.parallel_json import write_json_lines

    return write_json_lines(
        source.read,
        out.write,
        full,
        seekable=source.seekable,
        record=record,
        payloads=payloads,
        positions=positions,
        progress=bar,
        size=source.size,
        secrets=secrets,
    )


def write_table(source: OpenSource, out: BinaryIO, bar: Callable[[int], None] | None = None) -> Findings:
    """A line for each batch."""
    from kcli.jsontext import loads
    from kcli.records.parallel_json import write_json_lines

    write = Lines(out).lines
    write([TABLE.format(*HEADINGS)])

    def emit(text: memoryview) -> None:
        write(table_line(loads(line)) for line in bytes(text).splitlines())

    return write_json_lines(
        source.read, emit, False, seekable=source.seekable, positions=True, progress=bar, size=source.size
    )


HEADINGS = ("position", "offsets", "count", "magic", "codec", "time", "latest", "size", "crc", "")
TABLE = "{:>12}  {:>25}  {:>7}  {:>5}  {:<6}  {:<6}  {:<24}  {:>9}  {:<8}  {}"


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
    """A timestamp as UTC with milliseconds; as it is where no calendar has it."""
    from datetime import UTC, datetime, timedelta

    if milliseconds < 0:
        return "-"
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{milliseconds % 1000:03d}Z"


def report(found: Findings, name: str, quiet: bool) -> None:
    """What was wrong, a line each on stderr; the last as the error that ends the command (exit 3)."""
    lines = [f"{path}: {reason}" if path else reason for _at, path, reason in found.problems]
    for damage in found.damages:
        text = f"at 0x{damage.start:x}: {damage.reason}"
        if damage.lawful:
            warn(f"{name}: {text} (a cut batch: what follows it was not written, or not fetched)", quiet)
        else:
            lines.append(f"{text}; {damage.end - damage.start} bytes passed over")
    if found.wrong_checksums:
        batches = "batch has" if found.wrong_checksums == 1 else "batches have"
        lines.append(f"{found.wrong_checksums} {batches} a wrong checksum (crcValid false)")
    if not lines:
        return
    for line in lines[:MOST_WARNINGS][:-1]:
        warn(f"{name}: {line}", quiet)
    if len(lines) > MOST_WARNINGS:
        warn(f"{name}: {len(lines) - MOST_WARNINGS} more problems are not shown", quiet)
    raise InputError(lines[-1], file=name)


MOST_WARNINGS = 20


def show_spans(data: bytes, format_: str, out: BinaryIO, name: str, secrets: bool) -> None:
    from kcli.cli.spans import hexdump_lines, tree_lines
    from kcli.records.spans import batch_spans

    spans, problem = batch_spans(data, secrets)
    Lines(out).lines((tree_lines if format_ == "tree" else hexdump_lines)(data, spans))
    if problem is not None:
        raise problem.within(name)


def run_verify(paths: list[str], inputs: list[str], format_: str, output: str | None, quiet: bool) -> int:
    """Findings, a line each; 1 when there are errors among them."""
    from kcli.jsontext import dumps

    errors = 0
    with open_output(output, inputs) as out:
        write = Lines(out).line
        for finding in findings_of(paths, quiet):
            errors += finding.severity == "error"
            if format_ == "jsonl":
                write(dumps(finding._asdict()))
            else:
                place = f"{finding.file}: at {finding.offset}"
                write(f"{finding.severity}: {place}: {finding.rule}: {finding.message}")
    return 1 if errors else 0


def findings_of(paths: list[str], quiet: bool) -> Iterator[LogFinding]:
    """Each log, then the files beside it against what was found in that log (epochs, producers: the folder's logs)."""
    from kcli.records.segments import kind_of, read_rows
    from kcli.records.verification import LogFacts, verify_companion, verify_log

    facts = LogFacts()
    for path in paths:
        kind = kind_of(path)
        if kind in (None, "log"):
            facts = LogFacts()
            with open_source(path) as source:
                yield from verify_log(source.read, path, facts)
            if not quiet:
                warn(f"{name_of(path)}: {facts.batches} batches, {facts.records} records, {facts.size} bytes")
            continue
        assert kind is not None
        yield from verify_companion(kind, read_rows(kind, Path(path).read_bytes(), path), path, beside(path, facts))


def beside(path: str, facts: LogFacts) -> LogFacts:
    """The facts of the log that a file belongs to: read now when it was named alone."""
    from kcli.records.verification import LogFacts, verify_log

    if facts.batches:
        return facts
    log = Path(path).with_suffix(".log")
    found = LogFacts()
    if log.is_file():
        with open_source(str(log)) as source:
            for _ in verify_log(source.read, str(log), found):
                pass
    return found


def write_parquet(paths: list[str], inputs: list[str], output: str | None, quiet: bool, secrets: bool) -> int:
    if output is None or output == "-":
        raise UsageError("--format parquet writes a file: -o OUT expected")
    from kcli.records.columns import write_parquet as write
    from kcli.records.segments import kind_of

    logs = [path for path in paths if kind_of(path) in (None, "log")]
    failure = None
    with open_output(output, inputs) as out, write(out, secrets) as append:
        for path in logs:
            with open_source(path) as source, progress(source.size, path, quiet) as bar:
                try:
                    append(source.read, path, bar)
                except DecodeError as error:
                    failure = error.within(path)
        if failure is not None:
            raise failure
    return 0

"""A screen for each other kind of file: its contents, its problems, and the next commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.options.file_type import start_of
from kcli.cli.options.inputs import read_bytes
from kcli.cli.options.pipes import copied
from kcli.cli.terminal.cells import broken
from kcli.cli.terminal.commands import listed_commands
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.lines import print_line
from kcli.counting import counted
from kcli.errors import DecodeError, InputError
from kcli.input_names import name_of
from kcli.shell import file_word
from kcli.snapshots.reading.files import log_directory

if TYPE_CHECKING:
    from kcli.records.verification import LogFacts, LogFinding

MOST_FINDINGS = 5
MOST_TABLES = 8
MOST_MENDED = 64 << 20  # bytes of a log in which a likely slip is looked for
NEXT = "Next:"
NEXT_OF_KEYS = "Next, with your capture in place of CAPTURE:"


def segment_screen(path: str, _kind: str) -> int:
    """Show a log segment, or each segment of a partition's folder: its records, and its problems."""
    from kcli.cli.decode.segment import expand

    wrong = 0
    found = [file for file in expand((path,)) if file.endswith(".log")] if Path(path).is_dir() else [path]
    for each in found:
        facts, findings = verified(each)
        print_broken(f"{name_of(each)}  {', '.join(facts_of(facts))}")
        wrong += shown(f"{finding.severity}: at {finding.offset}: {finding.message}" for finding in findings)
        if findings and (likely := slip_of(each)):
            print_broken(likely)
    if wrong:
        print_line("")
    else:
        print_broken("Batches, checksums, offsets and records checked: nothing found.")
    next_commands(path, "decode segment {}", "records {} --values")
    return 1 if wrong else 0


def slip_of(path: str) -> str:
    """Return the likely slip in the first faulty batch of a log; "" if none is found, or the log is too long."""
    from kcli.records.slips.hints import batch_hints, batch_text

    return batch_text(batch_hints(read_bytes(path))) if Path(path).stat().st_size <= MOST_MENDED else ""


def verified(path: str) -> tuple[LogFacts, list[LogFinding]]:
    """Verify one log; return its facts and the errors in it."""
    from kcli.cli.decode.batch_sources import open_source
    from kcli.records.verification import LogFacts, verify_log

    facts = LogFacts()
    with open_source(path) as source:
        found = [finding for finding in verify_log(source.read, path, facts) if finding.severity == "error"]
    return facts, found


def facts_of(facts: LogFacts) -> Iterator[str]:
    """Yield the facts of a log in words."""
    yield "log segment"
    yield f"{counted(facts.records, 'record')} in {counted(facts.batches, 'batch', 'batches')}"
    yield counted(facts.size, "byte")
    if facts.batches:
        yield f"offsets {facts.base_offsets[0]} to {facts.last_offsets[-1]}"
        yield "codecs " + ", ".join(f"{codec} {count}" for codec, count in Counter(facts.codecs).most_common())


def snapshot_screen(path: str, _kind: str) -> int:
    """Show a snapshot's survey, and what `snapshot verify` finds in it."""
    file = read_again(path)
    return verified_after(file, "snapshot", "inspect", file, "--format", "table")


def metadata_screen(path: str, _kind: str) -> int:
    """Show the metadata of a folder or log segment, and what `snapshot verify` finds in it."""
    if Path(path).is_dir():
        return verified_after(path, "snapshot", "image", "-q", path)
    return snapshot_screen(path, _kind)


def verified_after(path: str, *words: str) -> int:
    """Run a command, then `snapshot verify`, which names each damaged file. Raises the command's InputError at the
    end.
    """
    damage = None
    try:
        code = run(*words)
    except InputError as error:
        damage, code = error, 0
    code = max(code, run("snapshot", "verify", path))
    if Path(path).is_dir():
        more = "snapshot image {} tree topics/byName", "snapshot verify --replay {}", "report {} -o report.html"
        next_commands(path, *more)
    if damage is not None:
        raise damage
    return code


def message_screen(path: str, kind: str) -> int:
    """Show one message and the batches in it, field by field."""
    text = {"hex": "--hex ", "base64": "--base64 "}.get(kind, "")
    file = read_again(path) if text else path
    try:
        code = run("decode", "request", *text.split(), "--format", "tree", "--records", "batches", file)
    except DecodeError:
        print_line(f"If it is a response: kcli decode response {text}{file_word(path)} --api NAME --api-version N")
        raise
    if code:
        return code
    next_commands(path, f"check request {text}{{}}", f"decode request {text}{{}}")
    return code


def batch_screen(path: str, kind: str) -> int:
    """Show record batches field by field."""
    text = {"hex-batch": "--hex ", "base64-batch": "--base64 "}.get(kind, "")
    code = run("decode", "batch", *text.split(), "--format", "tree", read_again(path))
    next_commands(path, f"check batch {text}{{}}", f"decode batch {text}{{}}")
    return code


def json_screen(path: str, _kind: str) -> int:
    """Name the commands that read a file of JSON: lines of `decode pcap`, or messages."""
    if (start_of(path) or b"").startswith((b'{"timestamp"', b'{"event"')):
        print_line(f"{name_of(path)}  JSON: lines of kcli decode pcap")
        next_commands(path, "fetch-session explain {}")
    elif Path(path).name == "quorum-state":
        print_line(f"{name_of(path)}  a node's state of elections; Kafka reads it with the node's other files")
        next_commands(str(log_directory(Path(path).parent)), "snapshot doctor {}")
    else:
        print_line(f"{name_of(path)}  JSON: messages, as kcli prints them, or data of something else")
        next_commands(path, "encode request {} --to hex")
    return 0


def table_screen(path: str, _kind: str) -> int:
    """Show the columns and rows of a Parquet file. Raises InputError."""
    from kcli.extras import require

    require("kcli FILE of a Parquet file", "parquet")
    print_table(path)
    from kcli.sql.written import written_sources

    table, *_ = next(written_sources([(None, path)]))
    next_commands(path, f"sql 'SELECT * FROM {table} LIMIT 20' {{}}", "sql {}")
    return 0


def print_table(path: str) -> None:
    """Print the number of rows and the columns of a Parquet file. Raises InputError."""
    import pyarrow.parquet

    try:
        found = pyarrow.parquet.ParquetFile(read_again(path))
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(
            f"no Parquet file that can be read ({str(error).splitlines()[0]})", file=name_of(path)
        ) from None
    names = found.schema_arrow.names
    print_line(f"{name_of(path)}  Parquet, {counted(found.metadata.num_rows, 'row')}, {counted(len(names), 'column')}")
    print_broken(", ".join(names), "  ")


def tables_screen(path: str, _kind: str) -> int:
    """Show what the pipeline has written: rows by table, and what it found."""
    from kcli.extras import require

    if not (Path(path) / "_kcli").is_dir():
        require("kcli DIR of tables", "parquet")
        files = sorted(map(str, Path(path).glob("*.parquet")))
        for each in files[:MOST_TABLES]:
            print_table(each)
        if len(files) > MOST_TABLES:
            print_line(f"and {counted(len(files) - MOST_TABLES, 'more file')}")
        next_commands(path, "sql --list {}", "sql {}")
        return 0
    require("kcli DIR of tables", "sql")
    from kcli.cli.diagnose.stored import print_stored_findings
    from kcli.diagnose import INFO
    from kcli.pipeline.report import rows_by_table

    counts = ", ".join(f"{name} {rows:,}" for name, rows in rows_by_table(path).items() if rows)
    print_broken(f"{path}  tables of kcli pipeline run: {counts}")
    found = print_stored_findings(path, MOST_FINDINGS)
    next_commands(path, "report {} -o report.html", "sql 'SELECT * FROM findings' {}", "sql --list {}")
    return int(any(each.severity != INFO for each in found))


def key_log_screen(path: str, _kind: str) -> int:
    """Count the secrets of a key log; print none."""
    lines = read_bytes(path).splitlines()
    labels = Counter(line.split(b" ", 1)[0].decode("ascii", "replace") for line in lines if line[:1] not in (b"", b"#"))
    print_broken(
        f"{name_of(path)}  key log of TLS: {', '.join(f'{label} {count}' for label, count in labels.most_common(8))}"
    )
    for line in next_lines([f"kcli CAPTURE --key-log {file_word(path)}"], terminal_room(None), NEXT_OF_KEYS):
        print_line(line)
    return 0


SCREENS: dict[str, Callable[[str, str], int]] = {
    "segment": segment_screen,
    "partition": segment_screen,
    "metadata": metadata_screen,
    "snapshot": snapshot_screen,
    "table": table_screen,
    "tables": tables_screen,
    "key-log": key_log_screen,
    "batch": batch_screen,
    "hex-batch": batch_screen,
    "base64-batch": batch_screen,
    "hex": message_screen,
    "base64": message_screen,
    "json": json_screen,
    "message": message_screen,
}


def run(*words: str) -> int:
    """Run another command of kcli in this process, without its summary on standard error. Return its exit code."""
    from kcli.cli.main import cli

    with cli.make_context("kcli", list(words), parent=click.get_current_context(silent=True)) as context:
        code = cli.invoke(context)
    return code if isinstance(code, int) else 0


def read_again(path: str) -> str:
    """Return a name under which the input can be read more than once: standard input is copied to a file."""
    if path != "-":
        return path
    from kcli.records.recognition import segment_name

    return copied(path, segment_name(start_of(path) or b""))


def print_broken(text: str, indent: str = "") -> None:
    """Print a text, on a terminal broken between words."""
    for line in broken(text, terminal_room(None), indent):
        print_line(line)


def shown(lines: Iterator[str]) -> int:
    """Print the first few lines, and the number of the others. Returns the number of all lines."""
    count = 0
    for count, line in enumerate(lines, 1):
        if count <= MOST_FINDINGS:
            print_line(f"  {line}")
    if count > MOST_FINDINGS:
        print_line(f"  and {count - MOST_FINDINGS:,} more")
    return count


def next_commands(path: str, *commands: str) -> None:
    """Print the next commands for a file, whose name replaces {} in each."""
    for line in next_lines([f"kcli {command.format(file_word(path))}" for command in commands], terminal_room(None)):
        print_line(line)


def next_lines(commands: Iterable[str], room: int | None, heading: str = NEXT) -> Iterator[str]:
    """Yield the next commands, each on lines of its own, to be copied."""
    yield heading
    yield from listed_commands(commands, room)

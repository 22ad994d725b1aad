"""`kcli decode segment`: log segments, and the files beside them in a partition's folder."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.cli.decode.batch_findings import report_findings
from kcli.cli.decode.batch_formats import hook_of, write_lines, write_table
from kcli.cli.decode.batch_sources import open_source
from kcli.cli.decode.segment_verification import run_verify
from kcli.cli.options.file_type import refuse_other_files, refuse_others
from kcli.cli.options.inputs import (
    batch_records_option,
    dialect_option,
    embedded_option,
    files_argument,
    format_option,
    quiet_option,
    secrets_option,
)
from kcli.cli.terminal.console import is_terminal, progress, terminal_room, warn
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output, output_option
from kcli.errors import DecodeError, InputError, UsageError
from kcli.input_names import name_of
from kcli.jsontext import dumps
from kcli.topic_names import CLUSTER_METADATA

if TYPE_CHECKING:
    from kcli.records.parallel_json import LineForm


@click.command()
@files_argument("FILE|DIR...")
@dialect_option
@batch_records_option("batches")
@format_option(
    ("table", "jsonl", "parquet"),
    "The output format; jsonl: an object for each batch or entry; parquet: a row for each record.",
    default="table",
)
@click.option(
    "--verify", is_flag=True, help="Check batches, records and the files beside the log; exit code 1 on errors."
)
@click.option("--topic", help="The internal topic of the batches; by default from the directory's name.")
@embedded_option
@click.option("--position", is_flag=True, help='Show the position of each batch in its file ("_position").')
@click.option("--exact", is_flag=True, help="Also show the stored payloads of compressed batches, for an exact encode.")
@output_option
@quiet_option("No progress, no warnings.")
@secrets_option()
def segment(files: tuple[str, ...], **options: Any) -> int:
    """Decode the files of a partition's folder.

    FILE is a log segment (.log), an .index, .timeindex or .txnindex, a producer .snapshot or a leader-epoch-checkpoint;
    DIR a folder of them. Records of __consumer_offsets, __transaction_state, __share_group_state and __cluster_metadata
    are decoded to their own form with --records full.

    Columns: position in the file (bytes), offsets, records, magic, codec, kind of time (create or append), latest time,
    size (bytes), checksum, and special properties.

    \b
    kcli decode segment data/orders-0
    kcli decode segment data/orders-0/00000000000000000000.log --records full --format jsonl
    kcli decode segment data/orders-0 --verify
    """
    paths, format_, output, quiet = expand(files), options["format_"], options["output"], options["quiet"]
    if options["verify"] or format_ == "parquet" or len(paths) == 1:  # otherwise the other files are shown
        refuse_other_files(logs_among(paths), "no record batches")
    if options["verify"]:
        return run_verify(paths, [*files, *paths], format_, output, quiet)
    if format_ == "parquet":
        return write_parquet(paths, [*files, *paths], output, quiet, options["secrets"])
    failure: InputError | None = None
    with open_output(output, [*files, *paths]) as out:
        for path in paths:
            if len(paths) > 1:
                title(out, path, format_)
            try:
                decode_file(path, out, format_, form_of(path, options), quiet, terminal_room(output))
            except InputError as error:
                if failure:
                    warn(str(failure), quiet)
                failure = error.within(path)
    if failure is not None:
        raise failure
    return 0


def expand(files: tuple[str, ...]) -> list[str]:
    """Return the files; for a folder the files of logs in it, by name, each log before the files beside it.

    Raises InputError.
    """
    from kcli.records.segments import kind_of

    paths: list[str] = []
    for file in files:
        if file == "-" or not Path(file).is_dir():
            paths.append(file)
            continue
        inside = sorted(path for path in Path(file).rglob("*") if path.is_file() and kind_of(path.name))
        if not inside:
            raise InputError("no log segment in this directory", file=file)
        inside.sort(key=lambda path: (path.parent, path.name.partition(".")[0], path.suffix != ".log", path.name))
        paths += map(str, inside)
    return paths


def logs_among(paths: list[str]) -> list[str]:
    """Return the log segments among the files."""
    from kcli.records.segments import kind_of

    return [path for path in paths if kind_of(path) in (None, "log")]


def title(out: BinaryIO, path: str, format_: str) -> None:
    Lines(out).line(dumps({"event": "file", "file": path}) if format_ == "jsonl" else f"{path}:")


def folder_topic(path: str) -> str | None:
    from kcli.records.internal import topic_of

    return topic_of(Path(path).absolute().parent.name)


def form_of(path: str, options: Mapping[str, Any]) -> LineForm:
    """Return the form of a file's lines, by the command's options."""
    from kcli.records.parallel_json import LineForm

    full, secrets = options["records"] == "full", options["secrets"]
    topic = options["topic"] or folder_topic(path)
    hook = hook_of(topic, options["dialect"], secrets, options["embedded"]) if full else None
    return LineForm(
        full, hook, payloads=options["exact"], positions=options["position"], secrets=secrets,
        metadata=topic == CLUSTER_METADATA,
    )  # fmt: skip


def decode_file(path: str, out: BinaryIO, format_: str, form: LineForm, quiet: bool, room: int | None) -> None:
    from kcli.records.segments import kind_of, read_file_rows

    kind = kind_of(path)
    if kind in (None, "log"):
        with open_source(path) as source, progress(source.size, path, quiet or is_terminal(sys.stdout)) as bar:
            refuse_others(source.start(), name_of(path))
            found = write_table(source, out, bar, room) if format_ == "table" else write_lines(source, out, form, bar)
        if not found.batches and not found.damages:
            warn(f"{name_of(path)}: no record batches (empty)", quiet)
        report_findings(found, name_of(path), quiet)
        return
    assert kind is not None
    for number, row in enumerate(read_file_rows(kind, path)):
        write_row(out, row, number, format_)


def write_row(out: BinaryIO, row: dict[str, Any], number: int, format_: str) -> None:
    if format_ == "jsonl":
        out.write(dumps(row).encode() + b"\n")
        return
    if number == 0:
        Lines(out).line("  ".join(f"{name:>20}" for name in row))
    Lines(out).line("  ".join(f"{value:>20}" for value in row.values()))


def write_parquet(paths: list[str], inputs: list[str], output: str | None, quiet: bool, secrets: bool) -> int:
    if output is None or output == "-":
        raise UsageError("--format parquet writes a file: -o OUT expected")
    from kcli.records.columns import write_parquet as write

    failure = None
    with open_output(output, inputs) as out, write(out, secrets) as append:
        for path in logs_among(paths):
            with open_source(path) as source, progress(source.size, path, quiet) as bar:
                try:
                    append(source.read, path, bar)
                except DecodeError as error:
                    failure = error.within(path)
        if failure is not None:
            raise failure
    return 0

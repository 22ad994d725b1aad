"""kcli snapshot inspect: the contents of a KRaft snapshot or a metadata log segment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import click

from kcli.cli.options.inputs import dialect_option, files_argument, format_option, quiet_option, secrets_option
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output, output_option
from kcli.errors import InputError
from kcli.jsontext import dumps
from kcli.snapshots.reading.files import OpenFile, chosen_files, open_file, refuse_other
from kcli.snapshots.reading.names import segment_offset


@click.command()
@files_argument("FILE|DIR...", "paths")
@click.option(
    "--records",
    is_flag=True,
    help="Print every record in Kafka's JSON form, one per line; records of a log have time and leader epoch.",
)
@format_option(("table", "jsonl"), "A table, or one JSON object per line.", default="table", name="form")
@click.option("--stats", is_flag=True, help="Also print the KIP's metrics: size, load time, generation time.")
@output_option
@quiet_option("No warnings on stderr.")
@secrets_option()
@dialect_option
def inspect(  # noqa: PLR0913  the command's options
    paths: tuple[str, ...],
    records: bool,
    form: str,
    stats: bool,
    output: str | None,
    quiet: bool,
    secrets: bool,
    dialect: str | None,
) -> int:
    """Show the contents of a KRaft snapshot: header, voters, records by type, largest topics, problems.

    FILE is a snapshot (`<offset>-<epoch>.checkpoint`) or a segment of the metadata log (`<offset>.log`); for a
    directory (`__cluster_metadata-0`, or the log directory around it) all its snapshots. The offset in a snapshot's
    name is its end offset: the first one of the log that it does not contain. Offsets inside a snapshot count its own
    records from 0.

    \b
    kcli snapshot inspect __cluster_metadata-0
    kcli snapshot inspect 00000000000000001496-0000000001.checkpoint --records --format jsonl
    """
    problems: list[InputError] = []
    files = chosen_files(paths, logs=records)
    # A pipe may hold a segment.
    logged = any(segment_offset(Path(path).name) is not None or not Path(path).is_file() for path in files)
    show = records_shower(dialect, secrets, logged) if records else None
    with open_output(output, [*paths, *files]) as out:
        for path in files:
            try:
                with open_file(path) as file:
                    refuse_other(file)
                    shown = show(file, out) if show is not None else show_survey(file, out, form, stats, dialect)
            except InputError as error:
                problems.append(error)
                continue
            problems += [InputError(text, file=file.path) for text in shown]
    conclude(problems, quiet)
    return 0


def records_shower(dialect: str | None, secrets: bool, logged: bool) -> Callable[[OpenFile, BinaryIO], list[str]]:
    """Make a function that writes every record of a file as a line. It returns the unreadable parts. logged: there are
    log segments among the files, and their records remove objects that other files name.
    """
    from kcli.snapshots.json_lines import RecordLines

    lines = RecordLines(dialect, secrets, names=logged)

    def show(file: OpenFile, out: BinaryIO) -> list[str]:
        lines.problems = []
        write = raw_writer(out)
        for piece in lines.lines(file.data, file.mapped, log=segment_offset(file.name) is not None):
            write(piece)
        return lines.problems[:20]

    return show


def raw_writer(out: BinaryIO) -> Callable[[bytes | memoryview], object]:
    """Write big pieces past the buffer: each goes to the file in one call."""
    raw = getattr(out, "raw", None)
    if raw is None:
        return out.write
    out.flush()

    def write(piece: bytes | memoryview) -> None:
        rest = memoryview(piece)
        while len(rest):
            rest = rest[raw.write(rest) or 0 :]

    return write


def show_survey(file: OpenFile, out: BinaryIO, form: str, stats: bool, dialect: str | None) -> list[str]:
    """Write one file's survey. Returns what could not be read."""
    from kcli.snapshots.reading.file_survey import survey

    found = survey(file.data, file.name, dialect=dialect, mapped=file.mapped)
    if form == "jsonl":
        from kcli.snapshots.survey_json import survey_json

        out.write(dumps(survey_json(found, stats)).encode() + b"\n")
    else:
        from kcli.cli.snapshot.table import survey_table

        Lines(out).lines(survey_table(found, file.path, stats))
    return [f"at byte {at}: the batch's checksum is wrong" for at in found.bad_checksums[:5]] + found.problems

"""`kcli report`: captures as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.filters import ALL, Filter
from kcli.capture.nothing import nothing_in
from kcli.cli.decode.pcap.command import reading
from kcli.cli.options.capture_files import captures_in
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, say_nameless, say_what_there_is, words_of
from kcli.cli.options.inputs import (
    files_argument,
    port_option,
    quiet_option,
    reading_options,
)
from kcli.cli.options.pipes import with_input_aside
from kcli.cli.report.metadata import are_metadata, write_metadata
from kcli.cli.terminal.lines import print_note
from kcli.cli.terminal.output import open_output
from kcli.counting import few_of
from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.input_names import name_of
from kcli.temporary import TemporaryFolder

if TYPE_CHECKING:
    from kcli.diagnose import Diagnosis
    from kcli.report.building import TableBuilder

JOURNAL = "_kcli"  # in the output of `kcli pipeline run`
NAMED = 3  # files in the page's head


@click.command(cls=FilterCommand)
@files_argument("FILE|DIR...")
@click.option(
    "-o", "--output", required=True, metavar="OUT",
    help="The page. An existing OUT is replaced when all is written, never before.",
)  # fmt: skip
@port_option
@filter_options
@quiet_option("No progress; do not print where the page is.")
@reading_options
def report(files: tuple[str, ...], output: str, **options: Any) -> int:
    """Report what captures show as one HTML page: a verdict, errors and latency over time, top talkers and more.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it, or the output of `kcli
    pipeline run`. Of a `__cluster_metadata-0`, or the log directory around it (several: of one quorum's nodes), the
    page shows the metadata log: brokers, leaders, partitions and changes over time, growth. The page needs nothing but
    a browser, and loads nothing. Tables are made in a temporary folder (TMPDIR) on the way. The options that choose
    exchanges are for captures. Exit code 1: they leave none.

    \b
    kcli report night.pcap -o report.html
    kcli report /var/kafka/data/__cluster_metadata-0 -o quorum.html
    """
    require("kcli report", "report")
    if are_metadata(files):
        if words_of(options):
            raise UsageError(f"{files[0]}: a metadata log; the options that choose exchanges are for captures")
        return write_metadata(files, output, options["dialect"], options["quiet"])
    if len(files) == 1 and (Path(files[0]) / JOURNAL).is_dir():
        if words_of(options):
            raise UsageError(f"{files[0]}: tables; the options that choose exchanges are for captures")
        with open_output(output, files) as out:
            size = write_tables(out, files[0])
        found = True
    else:
        paths = with_input_aside(captures_in(files), lambda _start: False)  # it is read twice
        chosen = filter_of(options, paths)
        with open_output(output, [*files, *paths, *options["key_logs"]]) as out:
            source, damage, size = write_capture_page(out, paths, files, options, chosen, words_of(options))
        say_nameless(source.capture, chosen.topic, quiet=options["quiet"])
        found = source.built or chosen.takes_all
        if damage is not None:
            say_where(output, size, options)
            raise damage
    say_where(output, size, options)
    if found:
        return 0
    say_what_there_is(paths, chosen, options)
    return 1


def say_where(output: str, size: int, options: dict[str, Any]) -> None:
    """Say where the page is."""
    if output != "-" and not options["quiet"]:
        print_note(f"report in {output} ({size // 1000:,} kB)")


def write_capture_page(
    out: Any,
    paths: tuple[str, ...],
    files: tuple[str, ...],
    options: dict[str, Any],
    chosen: Filter = ALL,
    words: Sequence[str] = (),
    diagnosis: Diagnosis | None = None,
) -> tuple[TableBuilder, InputError | None, int]:
    """Write the page of captures. files: as commands name them. chosen: the exchanges that it shows; words: that say
    so. diagnosis: where it was made already. Return what `build` does, and the page's size in bytes.
    """
    with TemporaryFolder("kcli-report-") as folder:
        source, damage = build(paths, folder, chosen, options)
        name = f"{listed(files)}{', only '.join(['', *words])}"
        diagnosis = diagnosis or diagnosed(paths, files, chosen, options)
        seconds = source.capture.time.within(chosen.since, chosen.until).seconds()
        return source, damage, write_captures(out, folder, name, diagnosis, seconds)


def build(
    paths: tuple[str, ...], folder: str, chosen: Filter, options: dict[str, Any]
) -> tuple[TableBuilder, InputError | None]:
    """Build the tables of captures in a folder; return what built them, and the error of the captures, if there is one
    or they have none.
    """
    from kcli.report.building import TableBuilder

    read = {name: options[name] for name in ("ports", "dialect", "memory", "key_logs")}
    source = TableBuilder(paths, folder, chosen, **read)
    with reading(paths, options["quiet"]) as moved:
        try:
            for _ in source.read(moved):
                pass
        except InputError as error:
            if not source.engine.packets:
                raise  # nothing at all could be read
            return source, error
    return source, nothing_in(source.capture)


def diagnosed(paths: tuple[str, ...], files: tuple[str, ...], chosen: Filter, options: dict[str, Any]) -> Diagnosis:
    """Diagnose all traffic of the captures, whatever part the page shows, for what is of its time. files: as commands
    name them."""
    from kcli.diagnose import Scope, diagnose

    read = {name: options[name] for name in ("ports", "dialect", "memory", "key_logs")}
    return diagnose(paths, Scope(since=chosen.since, until=chosen.until), named=files, **read)


def write_captures(out: Any, folder: str, name: str, diagnosis: Diagnosis, seconds: float) -> int:
    from kcli.report.asking import ask_all
    from kcli.report.engine import ReportEngine
    from kcli.report.questions import CAPTURED
    from kcli.report.verdict import judge_captures

    with ReportEngine(folder) as tables:
        tables.derive()
        answers = ask_all(tables, CAPTURED)
    return write_page(out, answers, f"What the wire says: {name}", judge_captures(answers, diagnosis), seconds)


def write_tables(out: Any, folder: str) -> int:
    from kcli.pipeline.formats.runs import runs_of
    from kcli.pipeline.report import described
    from kcli.pipeline.storage import StoragePath
    from kcli.report.asking import ask_all
    from kcli.report.engine import ReportEngine
    from kcli.report.questions import FLEET

    title = f"What the wire says: {described(folder)}"
    stored = runs_of(StoragePath(folder)).stored()
    files = {name: [StoragePath(each.uri).path for each in found] for name, found in stored.items()}
    with ReportEngine(folder, files) as tables:
        return write_page(out, ask_all(tables, FLEET), title)


def write_page(out: Any, answers: Any, title: str, verdict: Any = None, seconds: float | None = None) -> int:
    """Write the page; its size in bytes. seconds: captured."""
    from kcli.capture.kafka.clock import instant
    from kcli.report.page import render

    spans = [each for each in (answers.first_ns, answers.last_ns) if each is not None]
    when = " to ".join(f"{instant(ns)[:19].replace('T', ' ')} UTC" for ns in spans)
    page = render(answers, title, when, verdict, seconds).encode()
    out.write(page)
    return len(page)


def listed(files: tuple[str, ...]) -> str:
    """Return the files' names, the first ones of many."""
    return few_of([Path(name_of(file)).name or file for file in files], NAMED)

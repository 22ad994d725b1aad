"""`kcli report`: captures as one HTML page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcli.address_space import is_shortage
from kcli.capture.filters import ALL, Filter
from kcli.capture.io.capture_files import captures_in, is_capture
from kcli.cli.decode.pcap.command import reading
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, note_no_match, say_nameless, words_of
from kcli.cli.options.inputs import files_argument, port_option, quiet_option, read_of, reading_options
from kcli.cli.options.pipes import with_input_aside
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_note
from kcli.cli.terminal.output import open_output
from kcli.counting import few_of
from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.input_names import RUNS_FOLDER, name_of
from kcli.snapshots.reading.directory import list_directory
from kcli.topic_names import METADATA_FOLDER

if TYPE_CHECKING:
    from kcli.capture.captured_time import CapturedTime
    from kcli.diagnose import Diagnosis, Scope
    from kcli.diagnose.fact_source import FactSource
    from kcli.diagnose.store import FactStore
    from kcli.payloads import PayloadDecoder


NAMED = 3  # files in the page's head


@click.command(cls=FilterCommand)
@files_argument("FILE|DIR...")
@click.option(
    "-o", "--output", required=True, metavar="OUT",
    help="The HTML page. An existing OUT is replaced only when the page is complete.",
)  # fmt: skip
@port_option
@filter_options
@quiet_option("No progress; do not print where the page is.")
@reading_options
def report(files: tuple[str, ...], output: str, **options: Any) -> int:
    """Write an HTML page about captures: a verdict, errors and latency over time, top talkers and more.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it, or the output of `kcli
    pipeline run`. For `__cluster_metadata-0`, or the log directory around it (several: nodes of one quorum), the page
    shows the metadata log: brokers, leaders, partitions and changes over time, growth. The page loads nothing from the
    network. Data that exceed the memory go to a temporary folder (TMPDIR). The options that choose exchanges apply only
    to captures. Exit code 1: they leave none.

    \b
    kcli report night.pcap -o report.html
    kcli report /var/kafka/data/__cluster_metadata-0 -o quorum.html
    """
    require("kcli report", "report")
    if are_metadata(files):
        if words_of(options):
            raise UsageError(f"{files[0]}: a metadata log; the options that choose exchanges are for captures")
        return write_metadata(files, output, options["dialect"], options["quiet"])
    if len(files) == 1 and (Path(files[0]) / RUNS_FOLDER).is_dir():
        if words_of(options):
            raise UsageError(f"{files[0]}: tables; the options that choose exchanges are for captures")
        with open_output(output, files) as out:
            size = write_tables(out, files[0])
        found = True
    else:
        from kcli.diagnose import Scope

        paths = captures_in(files)
        if words_of(options):
            paths = with_input_aside(paths, lambda _start: False)  # it is read twice
        chosen = filter_of(options, paths)
        page = CapturePage(paths, files, options, chosen, words_of(options))
        with open_output(output, [*files, *paths, *options["key_logs"]]) as out:
            made = page.make(out, Scope(since=chosen.since, until=chosen.until))
        size, found = made.size, made.source is None or made.source.has_rows
        if made.source is not None:
            say_nameless(made.source.capture, chosen.topic, quiet=options["quiet"])
        if made.damage is not None:
            say_where(output, size, options)
            raise made.damage
    say_where(output, size, options)
    if found:
        return 0
    note_no_match(paths, chosen, options)
    return 1


def say_where(output: str, size: int, options: dict[str, Any]) -> None:
    """Print where the page is."""
    if output != "-" and not options["quiet"]:
        print_note(f"report in {output} ({size // 1000:,} kB)")


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page that was written. damage: of the captures, or what they have instead where they have no exchange. size: in
    bytes. source: what has read the chosen exchanges; None: all are shown.
    """

    diagnosis: Diagnosis
    damage: InputError | None
    size: int
    source: FactSource | None = None


def ignored(_found: Diagnosis) -> None:
    """Ignore the diagnosis."""


@dataclass(frozen=True, slots=True)
class CapturePage:
    """The page of captures. files: as commands name them. chosen: the exchanges that it shows; words: that say so."""

    paths: tuple[str, ...]
    files: tuple[str, ...]
    options: dict[str, Any]
    chosen: Filter = ALL
    words: Sequence[str] = ()

    def make(
        self,
        out: Any,
        scope: Scope,
        decoder: PayloadDecoder | None = None,
        announce: Callable[[Diagnosis], None] = ignored,
    ) -> MadePage:
        """Diagnose all that the captures hold, whatever part the page shows, and write it. What is chosen is read
        again, unless that is all. announce: is given the diagnosis before the page is made.
        """
        from kcli.diagnose.diagnosis import Captures, diagnose_into, read_facts
        from kcli.diagnose.store import FactStore
        from kcli.report.capture_tables import PAGE
        from kcli.rules.rule_tables import READ

        is_all, read = self.chosen.takes_all, read_of(self.options)
        with FactStore(PAGE if is_all else READ) as store:
            with reading(self.paths, self.options["quiet"]) as moved:
                found = diagnose_into(store, Captures(self.paths, read, decoder, self.files), scope, moved)
            announce(found)
            if is_all:
                return MadePage(found, found.trouble, self.write(out, store, found))
        with FactStore(PAGE) as store:
            with reading(self.paths, self.options["quiet"]) as moved:
                source, damage = read_facts(self.paths, store, moved, read, self.chosen)
            store.choose_optimizer()
            return MadePage(found, damage, self.write(out, store, found), source)

    def write(self, out: Any, store: FactStore, found: Diagnosis) -> int:
        """Write the page of the facts in a store; return its size in bytes."""
        from kcli.report.capture_tables import ask_captures
        from kcli.report.verdict import judge_captures

        answers = ask_captures(store)
        title = f"What the wire says: {listed(self.files)}{', only '.join(['', *self.words])}"
        time = found.overview.time.within(self.chosen.since, self.chosen.until)
        return write_page(out, answers, title, judge_captures(answers, found), time)


def write_tables(out: Any, folder: str) -> int:
    """Write the page of a folder's tables. Returns its size in bytes. Memory is bounded, as anybody may have made the
    tables. Raises InputError if they need more.
    """
    from kcli.pipeline.formats.runs import runs_of
    from kcli.pipeline.report import described
    from kcli.pipeline.storage import StoragePath
    from kcli.report.asking import ask_fleet
    from kcli.report.engine import ReportEngine
    from kcli.sql.engine import BOUND

    title = f"What the wire says: {described(folder)}"
    stored = runs_of(StoragePath(folder)).stored()
    files = {name: [StoragePath(each.uri).path for each in found] for name, found in stored.items()}
    try:
        with BOUND, ReportEngine(folder, files) as tables:
            return write_page(out, ask_fleet(tables), title)
    except Exception as error:
        if not is_shortage(error):
            raise
        raise InputError(
            f"{folder}: the page needs more memory than kcli takes: texts in these tables are too long"
        ) from None


def write_page(out: Any, answers: Any, title: str, verdict: Any = None, time: CapturedTime | None = None) -> int:
    """Write the page. Returns its size in bytes. time: captured; None: unknown."""
    from kcli.capture.kafka.clock import instant
    from kcli.report.page import render

    first, last = (answers.first_ns, answers.last_ns) if time is None else (time.first_ns, time.last_ns)
    spans = [] if first is None or last is None else [first, last]
    when = " to ".join(f"{instant(ns)[:19].replace('T', ' ')} UTC" for ns in spans)
    page = render(answers, title, when, verdict, None if time is None else time.seconds()).encode()
    out.write(page)
    return len(page)


def listed(files: tuple[str, ...]) -> str:
    """Return the files' names, the first ones of many."""
    return few_of([Path(name_of(file)).name or file for file in files], NAMED)


def are_metadata(paths: tuple[str, ...]) -> bool:
    """Return whether these are folders of metadata logs. Raises UsageError if only some are."""
    found = [is_metadata(Path(path)) for path in paths]
    if any(found) and not all(found):
        raise UsageError(
            f"{paths[found.index(False)]}: not a metadata log, but other inputs are: a page shows one kind"
        )
    return all(found)


def is_metadata(folder: Path) -> bool:
    """Return whether a folder is, or has in it, a metadata log, and no capture beside that."""
    if not folder.is_dir():
        return False
    names = [each.name for each in folder.iterdir()]
    if folder.name == METADATA_FOLDER or list_directory(names).snapshots:
        return True
    return METADATA_FOLDER in names and not any(each.is_file() and is_capture(each) for each in folder.iterdir())


def write_metadata(paths: tuple[str, ...], output: str, dialect: str | None, quiet: bool) -> int:
    """Write the page. Returns the exit code. Raises InputError if not everything could be read; the page shows the
    rest.
    """
    from kcli.report.metadata_answers import read_metadata
    from kcli.report.metadata_verdict import judge_metadata, metadata_figures
    from kcli.report.page import render_page
    from kcli.snapshots.survey_json import instant

    with open_output(output, paths) as out:
        report = read_metadata(paths, dialect)
        spans = [report.answers.first_ns, report.answers.last_ns]
        times = (instant(ns // 1_000_000) for ns in spans if ns is not None)
        subtitle = " to ".join(f"{each[:19].replace('T', ' ')} UTC" for each in times if each)
        title = f"What the metadata says: {', '.join(paths[:3])}{', ...' * (len(paths) > 3)}"
        page = render_page(report.answers, title, subtitle, judge_metadata(report), metadata_figures(report)).encode()
        out.write(page)
    if output != "-" and not quiet:
        print_note(f"report in {output} ({len(page) // 1000:,} kB)")
    conclude(report.problems, quiet)
    return 0

"""`kcli pipeline run` and `tables`: read fleets of captures into tables, and describe the tables."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.nothing import NothingReadError
from kcli.cli.options.duration import Duration
from kcli.cli.options.inputs import port_option, quiet_option, reading_options, secrets_option
from kcli.cli.options.metrics import metrics_option, metrics_socket
from kcli.cli.options.payloads import decoder_of, payload_options, payloads_of
from kcli.cli.options.refusal import refused
from kcli.cli.terminal.console import console, is_terminal, warn
from kcli.cli.terminal.lines import print_note
from kcli.cli.terminal.output import refuse_inputs
from kcli.cli.terminal.streams import standard_input
from kcli.counting import counted
from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.shell import quoted

if TYPE_CHECKING:
    from kcli.pipeline.storage import StoredFile

OF_RUN = ("ports", "dialect", "shares", "secrets", "memory", "key_logs", "table_format", "origin", "records", "sample")
Check = Callable[[Any], None]  # takes a run's summary
Inputs = Sequence[Any]  # paths and URIs, or files as the storage has them
master_option = click.option(
    "--master", metavar="URL", help="Spark's master, as for spark-submit.  [default: local[*]]"
)
OF_SPARK = {"master": "master", "confs": "conf", "py_files": "py-files"}  # options by name


@click.command()
@click.option(
    "--input", "inputs", multiple=True, metavar="PATH",
    help="A capture, or a folder of captures: a path or a URI (s3://, gs://, hdfs://); repeatable.",
)  # fmt: skip
@click.option(
    "--manifest",
    metavar="FILE",
    help="A file with one capture per line: a path, a URI, or JSON with path, size and mtime; -: standard input. "
    "Captures with size and mtime are not opened before they are read.",
)
@click.option("--output", required=True, metavar="DIR", help="The folder of the tables; a path or a URI.")
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    default="spark",
    show_default=True,
    help="The engine: Spark, or DuckDB in this process, which is faster for captures that one machine can process.",
)
@click.option(
    "--table-format",
    type=click.Choice(["delta", "parquet"]),
    help="Delta tables, which readers can keep open during a run, or plain Parquet files.  [default: that of the "
    "tables in DIR, else delta]",
)
@click.option(
    "--origin",
    metavar="REGEX",
    help="Pattern for the captures' paths; its groups host and cluster become columns: "
    "'(?P<cluster>[^/]+)/(?P<host>[^/]+)/[^/]+$'.",
)
@click.option(
    "--records", is_flag=True,
    help="Also make the table records, with all produced and fetched records; later runs into DIR continue it.",
)  # fmt: skip
@click.option(
    "--sample",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="FRACTION",
    help="Read about this share of the connections (0.1), each completely and always the same ones; later runs "
    "into DIR continue with it.  [default: all]",
)
@payload_options
@master_option
@click.option("--conf", "confs", multiple=True, metavar="KEY=VALUE", help="A Spark property.")
@click.option("--py-files", metavar="FILE,...", help="Python archives for Spark workers.")
@refused("each run adds to the tables; queries of them choose", "--where", "--since", "--until")
@port_option
@click.option(
    "--shares",
    type=click.IntRange(0, 10_000),
    default=0,
    metavar="N",
    help="Number of tasks for the connections; 0: by size and cores.",
)
@click.option("--stream", is_flag=True, help="Keep running: read captures as they arrive, until interrupted.")
@click.option(
    "--every",
    type=Duration(1),
    default="10s",
    show_default=True,
    metavar="TIME",
    help="With --stream: how often to look for captures.",
)
@click.option(
    "--settle",
    type=Duration(0),
    default="60s",
    show_default=True,
    metavar="TIME",
    help="With --stream: how long the newest capture must stay unchanged before it is read.",
)
@click.option(
    "--idle",
    type=Duration(0),
    metavar="TIME",
    help="With --stream: end when no capture has arrived for this time.",
)
@click.option(
    "--series",
    metavar="REGEX",
    help="With --stream: a pattern for the part of the name that all files of one rotation share; all but the "
    "newest are read at once.  [default: the name without its last number]",
)
@click.option(
    "--report",
    "page",
    metavar="FILE",
    help="At the end write an HTML report, as `kcli pipeline report -o FILE` does.",
)
@click.option(
    "--fail-if",
    metavar="EXPR",
    help="Exit with 1 if this SQL condition on the run's totals is true: 'lost_bytes > 0.001 * bytes'. The tables "
    "are written in any case. With --stream: end after the first run that meets it.",
)
@click.option("--wait", is_flag=True, help="If another run writes to DIR, wait for its end.")
@metrics_option
@quiet_option("No progress, no closing summary.")
@secrets_option()
@reading_options
def run(inputs: tuple[str, ...], output: str, **options: Any) -> None:
    """Read captures into tables: exchanges, fetches, sessions, clients and more (see `kcli pipeline tables`).

    Connections may span files, rotated ones and those of several hosts. Captures that an earlier run has read are not
    read again, so run the command again for new files. Only one run at a time writes to DIR: a second one ends with
    exit code 4.

    \b
    kcli pipeline run --input captures/ --output tables/ --report report.html
    """
    from kcli.capture.tls.keylog import KeyLog
    from kcli.filelike import CAPTURE_SUFFIXES
    from kcli.pipeline.formats.runs import chosen_format
    from kcli.pipeline.rows.origins import origin_pattern
    from kcli.pipeline.series import series_pattern
    from kcli.pipeline.storage import gather

    if options["metrics"] and not options["stream"]:
        raise UsageError("--metrics: --stream is missing: metrics are for a pipeline that keeps running")
    check_engine(output, options)
    # Errors in schemas and key logs are reported before any capture is read.
    if decoder_of(options) is not None and not options["records"]:
        raise UsageError("--payloads, schemas, formats: --records is missing: no other table has keys and values")
    options["table_format"] = chosen_format(output, options["table_format"])
    KeyLog(options["key_logs"])
    series_pattern(options["series"])
    origin_pattern(options["origin"])
    files = gather([*inputs, *manifest_files(inputs, options)])
    if not files and not options["stream"] and options["manifest"] is None:
        text = f"no capture in it (looked for names with {', '.join(CAPTURE_SUFFIXES)}, also numbered or packed)"
        raise InputError(text, file=", ".join(inputs))
    if options["page"]:
        named = [options["manifest"]] if options["manifest"] else []
        refuse_inputs(options["page"], [*inputs, *named, *(file.uri for file in files)])
    inputs_given = inputs if options["stream"] else files
    size = sum(file.size for file in files)
    with checked_runs(options) as check:
        summary = run_and_report(inputs_given, output, size, options, check)
        if summary.problems:
            more = f" (and {len(summary.problems) - 1} more)" if len(summary.problems) > 1 else ""
            raise InputError(f"{summary.problems[0]}{more}")
        if summary.events and not summary.exchanges and summary.sample is None and not options["stream"]:
            raise NothingReadError(
                f"no Kafka request in the captures of this run, nothing to judge: {counted(summary.events, 'event')} "
                f"(kcli sql 'SELECT reason, count(*) FROM undecodable GROUP BY ALL' {quoted(output)})"
            )
        if not options["stream"]:
            check(summary)


def manifest_files(inputs: tuple[str, ...], options: dict[str, Any]) -> list[StoredFile]:
    """Return the captures that the manifest names.

    Raises UsageError if there is nothing to read, or it can't be read again.
    """
    from kcli.pipeline.manifest import captures_of, listed_in

    manifest = options["manifest"]
    if manifest is None and not inputs:
        raise UsageError("--input or --manifest is missing")
    if "-" in inputs:
        raise UsageError(
            "--input -: captures are read piece by piece (a file or a folder expected; names: --manifest -)"
        )
    if manifest != "-":
        return [] if manifest is None else listed_in(manifest)
    if options["stream"]:
        raise UsageError("--manifest -: --stream reads it repeatedly (a file expected)")
    return captures_of(standard_input(), "standard input")


def run_and_report(inputs: Inputs, output: str, size: int, options: dict[str, Any], check: Check) -> Any:
    """Run, print the summary and write the page of --report; return the summary. size: bytes of captures."""
    from kcli.pipeline.output_lock import holding

    with holding(output, wait=options["wait"], notify=warn):
        with serving_runs(options) as noted:
            summary = run_engine(inputs, output, size, options, noted, check)
        if not options["quiet"] and not options["stream"]:
            print_summary(summary, output, bool(options["page"]))
            if options["engine"] == "spark" and summary.files and is_small(size, options):
                print_note("Hint: --engine local reads so little input faster, because it does not start Spark")
        if options["page"]:
            from kcli.cli.pipeline.report import write_page

            write_page(output, options["page"], options["master"], quiet=options["quiet"])
    return summary


def check_engine(output: str, options: dict[str, Any]) -> None:
    """Raise UsageError if the engine's libraries are missing, or it does not support an option."""
    require("kcli pipeline", "spark" if options["engine"] == "spark" else "report")
    if options["engine"] == "spark":
        return
    from kcli.pipeline.local_engine import check_output

    check_output(output)
    for name, shown in OF_SPARK.items():
        if options.get(name):
            raise UsageError(f"--{shown} is for Spark, which --engine local does not use")


def is_small(size: int, options: dict[str, Any]) -> bool:
    """Return whether Spark's start took most of the time: little input, and Spark only on this machine."""
    from kcli.pipeline.spark import BRIEF_BYTES, submitted

    return size < BRIEF_BYTES and not (options["master"] or submitted())


@contextlib.contextmanager
def checked_runs(options: dict[str, Any]) -> Iterator[Check]:
    """Yield a function that raises ConditionMetError for the summary of a run that meets --fail-if.

    Raises UsageError if --fail-if is no condition.
    """
    if options["fail_if"] is None:
        yield lambda _made: None
        return
    from kcli.cli.pipeline.fail_if import FailIf

    with FailIf(options["fail_if"]) as condition:
        yield lambda made: condition.check(made.totals)


@contextlib.contextmanager
def serving_runs(options: dict[str, Any]) -> Iterator[Check]:
    """Serve figures of runs with --metrics. Yield a function that takes each run's summary."""
    if not options["metrics"]:
        yield lambda _made: None
        return
    listening = metrics_socket(options["metrics"], quiet=options["quiet"])
    from kcli.metrics.runs import RUN_METRICS, RunFigures
    from kcli.metrics.server import MetricsServer

    figures = RunFigures()
    with MetricsServer(figures, listening, RUN_METRICS):
        figures.begin()
        yield figures.take


def run_engine(inputs: Inputs, output: str, size: int, options: dict[str, Any], noted: Check, check: Check) -> Any:
    """Run on the engine of --engine; return the summary. size: bytes of captures. noted, check: called with the summary
    of each run of a stream; `check` may end it.
    """
    from kcli.pipeline.context import Options
    from kcli.pipeline.run import run_held
    from kcli.pipeline.spark import BRIEF_BYTES
    from kcli.pipeline.watching import Watch, watch_here

    engine_options = {name: options[name] for name in OF_RUN}
    chosen = Options(output, payloads=payloads_of(options), totals=options["fail_if"] is not None, **engine_options)
    watch = Watch(**{name: options[name] for name in ("every", "settle", "idle", "series", "manifest")})

    def report(made: Any) -> None:
        noted(made)
        if not options["quiet"]:
            print_summary(made, output)
        check(made)

    brief = size < BRIEF_BYTES and not options["stream"]
    engine = engine_of(output, options, brief=brief)
    if not options["stream"]:
        with progress_bar(options["quiet"]) as progress:
            return run_held(engine, inputs, chosen, progress)
    if options["engine"] == "local":
        return watch_here(engine, inputs, chosen, watch, report=report)
    from kcli.pipeline.streaming import stream

    return stream(engine.spark, inputs, chosen, watch, report=report)


def engine_of(output: str, options: dict[str, Any], *, brief: bool) -> Any:
    """Start the engine of --engine. brief: there is little input."""
    if options["engine"] == "local":
        from kcli.pipeline.local_engine import LocalEngine, cores_here

        return LocalEngine(cores_here())
    from kcli.pipeline.spark import log_beside, session
    from kcli.pipeline.spark_engine import SparkEngine

    return SparkEngine(session(options["master"], log=log_beside(output), settings=settings(options), brief=brief))


def settings(options: dict[str, Any]) -> dict[str, str]:
    made = dict(each.partition("=")[::2] for each in options.get("confs", ()))
    if options.get("py_files"):
        made["spark.submit.pyFiles"] = options["py_files"]
    return made


@contextlib.contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar of tasks on a terminal's stderr."""
    if quiet or not is_terminal(sys.stderr):
        yield lambda stage, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total)


def print_summary(summary: Any, output: str, reported: bool = False) -> None:
    """Print the summary. reported: the page is written already, so that it is no next step."""
    from kcli.pipeline.tables import FILED

    if not summary.files:
        for note in summary.notes:
            warn(note)
        print_note(f"nothing new: {counted(summary.skipped, 'file was', 'files were')} read before")
        return
    if summary.redone:
        read = ", ".join(map(str, summary.redone))
        print_note(f"captures read again: those of run {read}")
    for note in summary.notes:
        warn(note)
    waiting = f" ({summary.waiting:,} waiting for a response)" if summary.waiting else ""
    rows = ", ".join(f"{name} {summary.rows[name]:,}" for name in FILED if summary.rows.get(name))
    print_note(
        f"{counted(summary.files, 'capture')}, {counted(summary.packets, 'packet')}, "
        f"{counted(summary.exchanges, 'exchange')}{waiting}, {counted(summary.events, 'event')}"
        + ("" if summary.sample is None else f"; of a sample of {summary.sample:g} of the connections")
    )
    print_note(f"rows: {rows}")
    if not reported and summary.exchanges:
        print_note(f"Next: kcli pipeline report {output} -o report.html")


@click.command()
@click.argument("name", required=False)
@quiet_option("No warnings.", used=False)
def tables(name: str | None) -> None:
    """List the tables of `kcli pipeline run`, or the columns of table NAME.

    \b
    kcli pipeline tables
    kcli pipeline tables exchanges
    """
    from kcli.cli.terminal.columns import print_rows
    from kcli.pipeline.tables import SHOWN

    if name is None:
        print_rows(("table", "rows"), [(each.name, each.text) for each in SHOWN.values()])
        return
    if name not in SHOWN:
        raise UsageError(f"{name}: no such table (there are: {', '.join(SHOWN)})")
    print_rows(("column", "type", ""), [(column.name, column.kind, column.text) for column in SHOWN[name].columns])

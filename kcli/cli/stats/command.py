"""`kcli stats`: who sent how much of what, how long it took, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.nothing import require_exchanges
from kcli.capture.statistics import COLUMNS, StatisticsRow, StatisticsSink
from kcli.cli.decode.pcap.command import reading, summed_up
from kcli.cli.options.capture_files import captures_in
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, say_what_there_is
from kcli.cli.options.inputs import (
    files_argument,
    format_option,
    jobs_option,
    port_option,
    quiet_option,
    reading_options,
)
from kcli.cli.stats.table import table_lines
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.lines import Lines, csv_line
from kcli.cli.terminal.output import open_output, output_option
from kcli.jsontext import dumps

FIGURES = ("exchanges", "errors", "request_bytes", "response_bytes", "p50_ms", "p95_ms", "p99_ms", "max_ms")
OF_CONNECTIONS = ("round_trip_ms", "retransmissions")
SHARES = (0.5, 0.95, 0.99)


@click.command(cls=FilterCommand)
@files_argument("FILE|DIR...")
@click.option(
    "--by",
    type=click.Choice(COLUMNS),
    multiple=True,
    help="What to count by; may be given more than once: --by client --by api.  [default: api]",
)
@port_option
@format_option(("table", "jsonl", "csv"), "How to show it.", default="table")
@filter_options
@output_option
@quiet_option("No progress, no closing summary.")
@jobs_option("count; the same counts, whatever N")
@reading_options
def stats(files: tuple[str, ...], **options: Any) -> int:
    """Count the exchanges of captures by client, API, broker, topic and more: sizes, latencies and errors.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it. An exchange counts in each
    topic, partition, group and error that it names, each time with all its bytes. Percentiles of the latency are at
    most 1 % off, its maximum is exact. By connection, a row also has the round trip of TCP's handshake and how many
    segments brought bytes again. At most 10,000 rows are kept apart; what is beyond is one row, the others. Exit code
    1: the options that choose exchanges leave none.

    \b
    Columns: those of --by; exchanges, and how many with an error; bytes of requests
    and of responses; latency: median, 95 %, 99 %, maximum; errors by name.

    \b
    kcli stats night.pcap --by client --by api
    kcli stats night.pcap --by error --since +60
    kcli stats captures/ --by topic --format csv -o topics.csv
    """
    paths = captures_in(files)
    chosen = filter_of(options, paths)
    read = {name: options[name] for name in ("ports", "dialect", "memory", "key_logs")}
    source = CaptureDecoder(paths, StatisticsSink(options["by"] or ("api",)), DecodeOptions(**read, chosen=chosen))
    with (
        open_output(options["output"], [*files, *paths, *options["key_logs"]]) as out,
        reading(paths, options["quiet"]) as moved,
        summed_up(source, options),
    ):
        try:
            for _ in reader_of(source, options["jobs"])(moved):
                pass
        finally:
            write = Lines(out).line
            for line in FORMATS[options["format_"]](source.sink, options):
                write(line)
            out.flush()
    require_exchanges(source)
    if source.sink.rows() or source.chosen.takes_all:
        return 0
    say_what_there_is(paths, source.chosen, options)
    return 1


def reader_of(source: CaptureDecoder[StatisticsSink], jobs: int) -> Callable[[Callable[[int], None]], Iterator[None]]:
    """Return what reads captures: as many processes as are asked for, where they can."""
    if jobs > 1:
        from kcli.capture.parallel.processes import can_share

        if can_share([*map(str, source.paths)], source.chosen, source.options.key_logs):
            from kcli.capture.parallel.stats_jobs import SharedStatistics

            return SharedStatistics(source, jobs).read
    return source.read


def figures_of(source: StatisticsSink) -> tuple[str, ...]:
    """The names of a row's figures."""
    return (*FIGURES, *OF_CONNECTIONS) if "connection" in source.columns else FIGURES


def values_of(source: StatisticsSink, row: StatisticsRow) -> list[Any]:
    """By `figures_of`."""
    figures = row.figures
    sums = [figures.exchanges, figures.errors, figures.request_bytes, figures.response_bytes]
    tcp = (row.tcp or (None, None)) if "connection" in source.columns else ()
    return [*sums, *figures.percentiles(SHARES), figures.max_ms, *tcp]


def json_lines(source: StatisticsSink, _options: dict[str, Any]) -> Iterator[str]:
    for row in source.rows():
        group = dict.fromkeys(source.columns) if row.group is None else row.group
        values = dict(zip(figures_of(source), values_of(source, row), strict=True))
        more = {"errors_by_name": row.figures.errors_by_name} | ({"others": True} if row.group is None else {})
        yield dumps({**group, **values, **more})


def csv_lines(source: StatisticsSink, _options: dict[str, Any]) -> Iterator[str]:
    yield csv_line([*source.columns, *figures_of(source), "errors_by_name"])
    for row in source.rows():
        group = ["(others)" for _ in source.columns] if row.group is None else [*row.group.values()]
        names = "; ".join(f"{name} {count}" for name, count in row.figures.errors_by_name.items())
        yield csv_line([*group, *values_of(source, row), names])


def text_lines(source: StatisticsSink, options: dict[str, Any]) -> Iterator[str]:
    rows: list[StatisticsRow] = source.rows()
    room = terminal_room(options["output"])
    return table_lines(source.columns, [(row.group, values_of(source, row), row.figures) for row in rows], room)


FORMATS: dict[str, Callable[[StatisticsSink, dict[str, Any]], Iterator[str]]] = {
    "table": text_lines,
    "jsonl": json_lines,
    "csv": csv_lines,
}

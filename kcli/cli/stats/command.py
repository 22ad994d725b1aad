"""`kcli stats`: counts, sizes, latencies and errors of exchanges by client, API, broker and other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import click

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.clock import SECOND, parse_duration, parse_instant
from kcli.capture.latency_buckets import SHARES
from kcli.capture.nothing import require_exchanges
from kcli.capture.statistics import COLUMNS, StatisticsRow, StatisticsSink
from kcli.cli.decode.pcap.closing import STANDARD_INPUT
from kcli.cli.decode.pcap.command import reading, summed_up
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, note_no_match
from kcli.cli.options.inputs import (
    files_argument,
    format_option,
    jobs_option,
    port_option,
    quiet_option,
    read_of,
    reading_options,
)
from kcli.cli.stats.table import table_lines, title_of
from kcli.cli.terminal.console import note, note_room, terminal_room
from kcli.cli.terminal.lines import Lines, csv_line
from kcli.cli.terminal.output import open_output, output_option
from kcli.cli.terminal.unnamed_topics import learn_derived_names, unnamed_topics
from kcli.counting import counted
from kcli.errors import InputError, UsageError
from kcli.jsontext import dumps
from kcli.shell import file_words

FIGURES = ("exchanges", "errors", "request_bytes", "response_bytes", "p50_ms", "p95_ms", "p99_ms", "max_ms")
OF_LOAD = ("per_second", "records_per_request", "empty_share")
OF_CONNECTIONS = ("connections", "connections_opened", "round_trip_ms", "retransmissions")
LEAST_INTERVAL = 1_000_000  # ns
LEAST_PART = 0.1  # of an interval, or a second: with less of it captured, its rate would be chance


class Interval(click.ParamType[int]):
    """A time in ns, as 500ms, 10s or 5m."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the nanoseconds that are meant."""
        try:
            made = parse_duration(str(value), "s")
        except UsageError as error:
            self.fail(str(error), param, ctx)
        if made < LEAST_INTERVAL:
            self.fail(f"{value}: at least 1ms expected", param, ctx)
        return made


class Columns(click.Choice[str]):
    """Columns to count by, with commas between them."""

    def __init__(self) -> None:
        super().__init__(COLUMNS, case_sensitive=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the columns of a comma-separated list."""
        return tuple(super(Columns, self).convert(each.strip(), param, ctx) for each in str(value).split(","))


@click.command(cls=FilterCommand)
@files_argument("FILE|DIR...")
@click.option(
    "--by",
    type=Columns(),
    multiple=True,
    metavar="COLUMN,...",
    help=f"Columns to count by, one or more of {', '.join(COLUMNS)}.  [default: api]",
)
@click.option("--interval", type=Interval(), metavar="TIME", help="Count by intervals of this length: 500ms, 10s, 5m.")
@click.option(
    "--sort",
    metavar="COLUMN",
    help="Sort by this column in descending order, with - in front in ascending order; names always from a to z.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="At most this many rows.")
@port_option
@format_option(("table", "jsonl", "csv"), "The output format.", default="table")
@filter_options
@output_option
@quiet_option("No progress, no closing summary.")
@jobs_option("the counts do not depend on it")
@reading_options
def stats(files: tuple[str, ...], **options: Any) -> int:
    """Count the exchanges in captures by client, API, broker, topic and more: sizes, latencies and errors.

    FILE is a capture, as `kcli decode pcap` reads them; DIR a directory with captures in it. An exchange counts in each
    topic, partition, group and error that it names, each time with all its bytes and records. Percentiles of the
    latency are accurate to 1 %, the maximum is exact. kcli keeps at most 10,000 rows; the rest is one row, the others.
    By topic, kcli reads captures once more if only offsets and batches tell the name of a topic id. Exit code 1: the
    options that choose exchanges leave none.

    Columns: those of --by; exchanges; exchanges with an error; bytes of requests and of responses; latency: median, 95
    %, 99 %, maximum; /s, exchanges per second of captured time (of the interval, without the time between files);
    rec/req, records per Produce request (without Produce: per Fetch response); empty, the share of Fetch responses
    with neither records nor an error. By client, broker, connection or file also conns, connections; opened, those
    opened within the capture; rtt, the minimum round-trip time of TCP handshakes; and resent, segments with bytes that
    were captured before: retransmitted, or captured twice (an interface "any"), which `connections` of `kcli sql`
    tells apart. At the end errors by name.

    \b
    kcli stats night.pcap --by client,api --sort p99_ms --limit 10
    kcli stats night.pcap --by error --since +60
    kcli stats night.pcap --client orders --interval 10s
    kcli stats captures/ --by topic --format csv -o topics.csv
    """
    paths = captures_in(files)
    chosen = filter_of(options, paths)
    read = read_of(options)
    interval = {} if options["interval"] is None else {"interval": options["interval"]}
    sink = StatisticsSink(columns_of(options), **interval)
    order = sort_key(options["sort"], sink) if options["sort"] else None
    source = CaptureDecoder(paths, sink, DecodeOptions(**read, chosen=chosen))
    with (
        open_output(options["output"], [*files, *paths, *options["key_logs"]]) as out,
        reading(paths, options["quiet"]) as moved,
        summed_up(source, options),
    ):
        end: BaseException | None = None
        try:
            for _ in reader_of(source, options["jobs"])(moved):
                pass
            if "topic" in sink.columns and STANDARD_INPUT not in files:
                learn_derived_names(source.bodies.names, paths, read)
        except (InputError, KeyboardInterrupt) as error:
            end = error  # after the figures of what was read
        write = Lines(out).line
        table = made_of(source, order, options["limit"])
        for line in FORMATS[options["format_"]](table, options):
            write(line)
        out.flush()
        if end is not None:
            raise end
    if table.left and not options["quiet"]:
        note(f"{counted(table.left, 'more row')} (--limit {options['limit']})")
    if not options["quiet"] and "topic" in table.columns:
        again = "" if STANDARD_INPUT in files else file_words(files, options["key_logs"])
        shown = {row.group["topic"] for row, _ in table.rows if row.group is not None}
        for line in unnamed_topics(source.bodies.names, again, note_room(), shown):
            note(line)
    require_exchanges(source)
    if table.rows or table.left or source.chosen.takes_all:
        return 0
    note_no_match(paths, source.chosen, options)
    return 1


def reader_of(source: CaptureDecoder[StatisticsSink], jobs: int) -> Callable[[Callable[[int], None]], Iterator[None]]:
    """Return the reader of captures: in the requested number of processes, if they can be split."""
    if jobs > 1 and "file" not in source.sink.columns:  # processes share connections, whatever file these are in
        from kcli.capture.parallel.processes import can_share

        if can_share([*map(str, source.paths)], source.chosen, source.options.key_logs):
            from kcli.capture.parallel.stats_jobs import SharedStatistics

            return SharedStatistics(source, jobs).read
    return source.read


class Statistics(NamedTuple):
    """The figures to show. columns: of groups; figures: names of those of each row; left: rows beyond the limit."""

    columns: tuple[str, ...]
    figures: tuple[str, ...]
    rows: list[tuple[StatisticsRow, list[Any]]]
    left: int = 0


def columns_of(options: dict[str, Any]) -> tuple[str, ...]:
    """Return the columns to count by. Raises UsageError for a missing interval."""
    columns = tuple(name for each in options["by"] for name in each)
    if "interval" in columns and options["interval"] is None:
        raise UsageError("--by interval: --interval TIME is missing")
    if options["interval"] is not None and "interval" not in columns:
        return ("interval", *columns)
    return columns or ("api",)


def figures_of(sink: StatisticsSink) -> tuple[str, ...]:
    """Return the names of a row's figures."""
    return (*FIGURES, *OF_LOAD, *(OF_CONNECTIONS if has_connections(sink) else ()))


def has_connections(sink: StatisticsSink) -> bool:
    """Return whether rows have connections that are theirs alone."""
    return sink.linked or "connection" in sink.columns


def sort_key(name: str, sink: StatisticsSink) -> Callable[[tuple[StatisticsRow, list[Any]]], Any]:
    """Return the key that rows are sorted by. Raises UsageError for an unknown column."""
    names = figures_of(sink)
    bare = name_of(name.removeprefix("-"), (*sink.columns, *names))
    if bare is None:
        raise UsageError(f"--sort {name}: no such column (there are {', '.join((*sink.columns, *names))})")
    sign = 1 if name.startswith("-") else -1

    def key(each: tuple[StatisticsRow, list[Any]]) -> Any:
        row, values = each
        if bare in sink.columns:
            value = (row.group or {}).get(bare)
            return row.group is None, value is None, value if isinstance(value, int) else str(value or "")
        value = values[names.index(bare)]
        return row.group is None, value is None, sign * (value or 0)

    return key


def name_of(text: str, names: Sequence[str]) -> str | None:
    """Return the column that is meant by its name or its heading, with or without the unit: p99_ms, "p99 ms", p99."""
    meant = text.strip().casefold().replace("-", "_")
    for name in names:
        title = title_of(name)
        if meant in (name, title, title.replace(" ", "_"), title.removesuffix(" ms"), name.removesuffix("_ms")):
            return name
    return None


def made_of(
    source: CaptureDecoder[StatisticsSink],
    order: Callable[[tuple[StatisticsRow, list[Any]]], Any] | None,
    limit: int | None,
) -> Statistics:
    """Return the rows that are shown, in order."""
    sink = source.sink
    seconds = seconds_of(source)
    rows = [(row, values_of(sink, row, seconds(row))) for row in sink.rows()]
    if order is not None:
        rows.sort(key=order)
    shown = rows if limit is None else rows[:limit]
    return Statistics(sink.columns, figures_of(sink), shown, len(rows) - len(shown))


def seconds_of(source: CaptureDecoder[StatisticsSink]) -> Callable[[StatisticsRow], float | None]:
    """Return a function that returns the captured seconds of a row: of the chosen part of the capture, or of the row's
    shortest interval. None: too little to compute a rate from.
    """
    time = source.time.within(source.chosen.since, source.chosen.until)
    widths = {name: source.sink.widths[name] for name in source.sink.columns if name in source.sink.widths}
    if not widths:
        seconds = time.seconds() or None
        return lambda row: seconds
    shortest = min(widths, key=lambda name: widths[name])
    width = widths[shortest]

    @cache
    def captured(begin: str) -> float | None:
        first = parse_instant(begin)
        found = time.within(first, first + width - 1).seconds()
        return found if found * SECOND >= min(LEAST_PART * width, SECOND) else None

    return lambda row: None if row.group is None else captured(row.group[shortest])


def values_of(sink: StatisticsSink, row: StatisticsRow, seconds: float | None) -> list[Any]:
    """Return a row's values by `figures_of`."""
    figures, tcp = row.figures, row.tcp
    sums = [figures.exchanges, figures.errors, figures.request_bytes, figures.response_bytes]
    load = [figures.exchanges / seconds if seconds else None, figures.records_per_request, figures.empty_share]
    links = len(figures.links) if figures.links else None
    connections = [links, *((tcp.opened, tcp.round_trip_ms, tcp.retransmissions) if tcp else (None, None, None))]
    rounded = [None if value is None else float(f"{value:.5g}") for value in load]
    times = [*figures.percentiles(SHARES), figures.max_ms]
    return [*sums, *times, *rounded, *(connections if has_connections(sink) else ())]


def json_lines(table: Statistics, _options: dict[str, Any]) -> Iterator[str]:
    for row, values in table.rows:
        group = dict.fromkeys(table.columns) if row.group is None else row.group
        named = dict(zip(table.figures, values, strict=True))
        more = {"errors_by_name": row.figures.errors_by_name} | ({"others": True} if row.group is None else {})
        yield dumps({**group, **named, **more})


def csv_lines(table: Statistics, _options: dict[str, Any]) -> Iterator[str]:
    yield csv_line([*table.columns, *table.figures, "errors_by_name"])
    for row, values in table.rows:
        group = ["(others)" for _ in table.columns] if row.group is None else [*row.group.values()]
        names = "; ".join(f"{name} {count}" for name, count in row.figures.errors_by_name.items())
        yield csv_line([*group, *values, names])


def text_lines(table: Statistics, options: dict[str, Any]) -> Iterator[str]:
    named = [dict(zip(table.figures, values, strict=True)) for _, values in table.rows]
    rows = [(row.group, values, row.figures) for (row, _), values in zip(table.rows, named, strict=True)]
    return table_lines(table.columns, rows, terminal_room(options["output"]))


FORMATS: dict[str, Callable[[Statistics, dict[str, Any]], Iterator[str]]] = {
    "table": text_lines,
    "jsonl": json_lines,
    "csv": csv_lines,
}

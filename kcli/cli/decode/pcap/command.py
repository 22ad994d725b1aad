"""`kcli decode pcap`: the exchanges in captures of Kafka's traffic."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.io.capture_files import captures_in
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.sinks import LineSink, Sink, Values
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options, note_no_match, say_nameless, words_of
from kcli.cli.options.inputs import (
    dialect_option,
    embedded_option,
    files_argument,
    format_option,
    jobs_option,
    key_log_option,
    memory_option,
    port_option,
    quiet_option,
    read_of,
    records_option,
    secrets_option,
)
from kcli.cli.options.payloads import decoder_of, files_named, payload_options
from kcli.cli.options.traces import broker_capture_option, destination_of, traces_option
from kcli.cli.terminal.console import (
    is_terminal,
    note,
    note_room,
    reading_progress,
    refuse_parquet_on_terminal,
    shows_colour,
    terminal_room,
)
from kcli.cli.terminal.lines import Lines
from kcli.cli.terminal.output import open_output, output_option
from kcli.cli.terminal.streams import write_all
from kcli.errors import InputError, UsageError
from kcli.shell import quoted

if TYPE_CHECKING:
    from kcli.capture.tables.arrow import ArrowSink
    from kcli.cli.decode.pcap.closing import Ended
    from kcli.cli.decode.pcap.rows import TableSink

TIMES = ("relative", "absolute")  # the default on a terminal, and elsewhere
FORMATS = ("table", "jsonl", "tree", "parquet")
Moved = Callable[[int], None]


@click.command(cls=FilterCommand)
@files_argument("FILE|DIR...", expand=captures_in)
@port_option
@format_option(FORMATS, "The output format.", default="table")
@records_option()
@click.option(
    "--time",
    type=click.Choice(TIMES),
    help="Times in the table: seconds after the first packet (on a terminal) or UTC (elsewhere).",
)
@filter_options
@embedded_option
@payload_options
@traces_option
@broker_capture_option
@output_option
@quiet_option("No progress, no closing summary.")
@secrets_option()
@dialect_option
@key_log_option
@jobs_option("lines of JSON and their order do not depend on it")
@memory_option
@click.option("--to-brokers", is_flag=True, hidden=True)  # for a proxy's traffic: each server is a broker
def pcap(files: tuple[str, ...], **options: Any) -> int:
    """Decode captures: every request and response of every connection, whatever its port.

    FILE is a pcap or pcapng file, also in gzip or zstd, or "-" for standard input, as in `tcpdump -w - | kcli decode
    pcap -`; DIR a directory with captures in it or below. Several files are read as one capture, in order of time. Exit
    code 1: the options that choose exchanges leave none.

    Columns: time of the request; conn, a label explained in the last lines; client id; API and version; summary of
    request -> response; ms until the response; bytes of request / response.

    \b
    Events, which are rows of the table and lines of JSON, too:
      gap                bytes that were not captured
      truncated          a packet, file or message that is cut short
      undecodable        bytes that are not a Kafka message, or one of an unknown version
      not-kafka          a connection without one message that decodes
      unanswered-at-end  a request whose response the capture does not have

    \b
    kcli decode pcap night.pcap
    kcli decode pcap night.pcap --errors --since +22.4
    kcli decode pcap captures/ --api Fetch --topic 'orders*' --format jsonl
    kcli decode pcap night.pcap --traces http://localhost:4318
    tcpdump -i any -w - port 9092 | kcli decode pcap -
    """
    output = options["output"]
    if options["traces"] is not None:
        return write_traces(files, options)
    if options["broker_captures"]:
        raise UsageError("--broker-capture: --traces is missing")
    refuse_parquet_on_terminal(options["format_"], output)
    if options["embedded"] and options["format_"] not in ("jsonl", "tree"):
        raise UsageError("--embedded: needs --format jsonl (a tree has them always)")
    decoder = decoder_of(options, files)
    if decoder is not None and (options["records"] != "full" or options["format_"] not in ("jsonl", "table")):
        raise UsageError("keys and values are decoded with --records full and --format jsonl or table")
    options["decoder"] = decoder
    chosen = filter_of(options, files)
    read = read_of(options) | {name: options[name] for name in ("records", "secrets", "to_brokers")}
    source = CaptureDecoder(files, sink_of(options["format_"]), DecodeOptions(**read, chosen=chosen))
    with (
        open_output(output, (*files, *options["key_logs"], *files_named(options))) as out,
        reading(files, options["quiet"]) as moved,
    ):
        watched = WatchedOutput(out)
        WRITERS[options["format_"]](source, watched, moved, options)
    if decoder is not None:
        decoder.raise_failure()
    if watched.used or (source.chosen.takes_all and not options["ports"]):
        return 0
    note_no_match(files, source.chosen, options)
    return 1


def write_traces(files: tuple[str, ...], options: dict[str, Any]) -> int:
    """Write spans instead of rows, and return the exit code. Raises UsageError."""
    if options["output"] is not None or options["records"] != "none" or decoder_of(options) is not None:
        raise UsageError("--traces: spans are written in place of rows (no -o, --records or options of payloads)")
    brokers = captures_in(options["broker_captures"])
    read = DecodeOptions(**read_of(options))
    chosen = filter_of(options, files)
    with destination_of(options["traces"], (*files, *brokers, *options["key_logs"]), quiet=options["quiet"]) as sent:
        from kcli.traces.exporting import broker_times, export

        times = broker_times(brokers, read) if brokers else None
        source = CaptureDecoder(files, Values(), replace(read, chosen=chosen))
        with reading(files, options["quiet"]) as moved, summed_up(source, options):
            if export(source, sent, moved, times) or chosen.takes_all:
                return 0
    note_no_match(files, chosen, options)
    return 1


class WatchedOutput:
    """An output that records whether anything was written to it."""

    def __init__(self, out: BinaryIO) -> None:
        self.out, self.used, self.flush = out, False, out.flush

    def write(self, data: Any) -> int:
        """Write to the output."""
        self.used = True
        return self.out.write(data)

    def write_all(self, pieces: list[memoryview]) -> None:
        """Write pieces to the output at once."""
        self.used = self.used or bool(pieces)
        write_all(self.out, pieces)


class GatheredOutput:
    """Gathers pieces and writes them at each `flush`; they must be valid until then."""

    def __init__(self, out: WatchedOutput) -> None:
        self.out = out
        self.pieces: list[memoryview] = []
        self.write = self.pieces.append

    def flush(self) -> None:
        """Write the gathered pieces."""
        self.out.write_all(self.pieces)
        self.pieces.clear()


@contextlib.contextmanager
def reading(files: tuple[str, ...], quiet: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar over the files' bytes, unless standard output is a terminal, which it would disturb."""
    sizes = [Path(name).stat().st_size for name in files if name != "-" and Path(name).is_file()]
    with reading_progress(sum(sizes) or None, quiet or "-" in files or is_terminal(sys.stdout)) as moved:
        yield moved


@contextlib.contextmanager
def summed_up(source: CaptureDecoder[Any], options: dict[str, Any], table: Any = None) -> Iterator[None]:
    """Print the closing summary on standard error, when everything was read, damaged files included."""
    try:
        yield
    except (InputError, KeyboardInterrupt) as end:
        if source.engine.packets:
            sum_up(source, options, table, "damaged" if isinstance(end, InputError) else "interrupted")
        raise
    sum_up(source, options, table)


def sum_up(source: CaptureDecoder[Any], options: dict[str, Any], table: Any, ended: Ended = "") -> None:
    if options["quiet"]:
        return
    from kcli.cli.decode.pcap.closing import closing

    sys.stdout.flush()
    shown = None if source.chosen.takes_all else source.passed
    read = {"key_logs": options["key_logs"], "shown": shown, "ended": ended, "room": note_room()}
    say_nameless(source, source.chosen.topic)
    for line in closing(source, table, **read, options=" ".join(words_of(options, quoted))):
        note(line)


def write_lines(source: CaptureDecoder[LineSink], out: WatchedOutput, moved: Moved, options: dict[str, Any]) -> None:
    """Write lines of JSON that the engine makes and filters itself."""
    sink = source.sink
    if options["embedded"] or options["decoder"] is not None:
        sink.write = changed_lines(out, options)
        sink.flush = out.flush if "-" in source.paths else None
    else:
        gathered = GatheredOutput(out)
        sink.write, sink.flush = gathered.write, gathered.flush
    with summed_up(source, options):
        for _ in reader_of(source, options["jobs"])(moved):
            pass


def changed_lines(out: WatchedOutput, options: dict[str, Any]) -> Callable[[memoryview], object]:
    """Return the writer of lines with decoded content: messages in bytes fields, keys and values."""
    changes: list[Callable[[bytes], bytes]] = []
    if options["embedded"]:
        from kcli.cli.decode.pcap.embedded import EmbeddedLines

        changes.append(EmbeddedLines(options["dialect"]).line)
    if options["decoder"] is not None:
        from kcli.cli.decode.pcap.payloads import PayloadLines

        changes.append(PayloadLines(options["decoder"]).line)

    def write(data: memoryview) -> None:
        lines: Iterable[bytes] = bytes(data).splitlines(keepends=True)
        for change in changes:
            lines = map(change, lines)
        out.write(b"".join(lines))

    return write


def reader_of(source: CaptureDecoder[LineSink], jobs: int) -> Callable[[Moved], Iterator[None]]:
    """Return the reader of captures: several processes if --jobs is above 1 and the files can be split."""
    if jobs > 1:
        from kcli.capture.parallel.processes import can_share

        if can_share([*map(str, source.paths)], source.chosen, source.options.key_logs):
            from kcli.capture.parallel.pcap_jobs import SharedLines

            return SharedLines(source, jobs).read
    return source.read


def write_table(source: CaptureDecoder[TableSink], out: BinaryIO, moved: Moved, options: dict[str, Any]) -> None:
    from kcli.cli.decode.pcap.table import ExchangeTable, opening

    sink = source.sink
    room = terminal_room(options["output"])
    colour = options["output"] is None and shows_colour(sys.stdout)

    lines = Lines(out)
    write = lines.line
    table = ExchangeTable(
        write, lines.later, width=room, colour=colour, absolute=(options["time"] or TIMES[room is None]) == "absolute"
    )
    if options["records"] in ("batches", "full"):
        from kcli.cli.decode.pcap.records import record_lines

        def show_records(exchange: Exchange) -> None:
            for line in record_lines(exchange, options["records"], options["decoder"]):
                write(line)

        sink.beside = show_records
    with summed_up(source, options, table):
        try:
            for _ in sink.show(table, moved, opening(source.file_names) if room else ""):
                lines.flush()
                out.flush()
        finally:
            lines.flush()


def write_tree(source: CaptureDecoder[Values], out: BinaryIO, moved: Moved, options: dict[str, Any]) -> None:
    from kcli.cli.decode.pcap.tree import tree
    from kcli.cli.decode.slip_hints import SlipNamer, message_text

    write, slips = Lines(out).lines, SlipNamer(message_text)
    with summed_up(source, options):
        for _ in source.read(moved):
            for item in source.sink.taken():
                write(tree(item, slips))
            out.flush()


def write_parquet(source: CaptureDecoder[ArrowSink], out: WatchedOutput, moved: Moved, options: dict[str, Any]) -> None:
    """Write a row for each exchange and event, a row group for each batch of them."""
    from kcli.tables.parquet import parquet_file, parquet_writer

    def write(batch: Any) -> None:
        writer().write_batch(batch)
        out.used = True

    with summed_up(source, options), parquet_file(out.out, source.sink.schema, parquet_writer) as writer:
        source.sink.write(write, moved)


def sink_of(format_: str) -> Sink:
    """Make the sink of that format."""
    if format_ == "parquet":
        from kcli.capture.tables.arrow import ArrowSink

        return ArrowSink(for_file=True)
    if format_ == "table":
        from kcli.cli.decode.pcap.rows import TableSink

        return TableSink()
    return Values() if format_ == "tree" else LineSink()


WRITERS: dict[str, Callable[..., None]] = {
    "jsonl": write_lines,
    "table": write_table,
    "tree": write_tree,
    "parquet": write_parquet,
}

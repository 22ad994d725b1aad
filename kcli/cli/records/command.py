"""`kcli records`: every record that captures and log segments hold, one a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from kcli.capture.decoder import DecodeOptions
from kcli.capture.kafka.record_fields import RecordSink
from kcli.cli.decode.pcap.command import reading
from kcli.cli.options import Command, with_options
from kcli.cli.options.client import client_options
from kcli.cli.options.filter import FilterCommand, filter_of, filter_options
from kcli.cli.options.inputs import (
    files_argument,
    format_option,
    formulas_option,
    port_option,
    quiet_option,
    read_of,
    reading_options,
    secrets_option,
)
from kcli.cli.options.payloads import decoder_of, files_named, payload_options
from kcli.cli.records.choice import RecordChoice
from kcli.cli.records.formats import FORMATS, WRITERS, write_followed, write_values
from kcli.cli.records.plain import PLAIN
from kcli.cli.records.sources import Problems, captures_of, inputs_of, record_groups
from kcli.cli.terminal.console import refuse_parquet_on_terminal, terminal_room, warn
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.output import open_output, output_option
from kcli.counting import counted
from kcli.errors import UsageError

if TYPE_CHECKING:
    from kcli.payloads import PayloadDecoder


KEY_AND_VALUE = ("_key", "_value")

Row = dict[str, Any]
FOLLOWED = ("table", "jsonl")


def live_options(command: Command) -> Command:
    """Add the options that read a live topic."""
    options = (
        click.option("--from-offset", type=click.IntRange(0), metavar="N", help="With --bootstrap: start at offset N."),
        click.option(
            "--last",
            type=click.IntRange(1),
            metavar="N",
            help="With --bootstrap: the last N records of each partition.",
        ),
        click.option(
            "--committed", is_flag=True, help="With --bootstrap: leave out records of aborted and open transactions."
        ),
        click.option(
            "--follow",
            is_flag=True,
            help="With --bootstrap: continue after the current end with new records, until Ctrl-C.",
        ),
    )
    return client_options(with_options(command, options))


def check_live(files: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Return whether a live topic is read. Raises UsageError if the options don't fit together."""
    live = options["bootstrap"] is not None or bool(options["settings"])
    if not live:
        positions = [name for name in ("from_offset", "last", "committed", "follow") if options[name]]
        if positions:
            raise UsageError(f"--{positions[0].replace('_', '-')}: only with --bootstrap")
        if not files:
            raise UsageError("FILE|DIR...: missing (captures or log segments expected; --bootstrap reads a live topic)")
        return False
    if files:
        raise UsageError(f"{files[0]}: --bootstrap reads a live topic, and no file")
    if options["topic"] is None:
        raise UsageError("--topic: missing (of the live topic)")
    if options["follow"] and options["format_"] not in FOLLOWED:
        raise UsageError(f"--follow: --format {' or '.join(FOLLOWED)}, or --values expected")
    if options["from_offset"] is not None and options["last"] is not None:
        raise UsageError("--from-offset, --last: one of them at most")
    return True


@click.command(cls=FilterCommand)
@files_argument("[FILE|DIR]...", required=False)
@live_options
@click.option("--partition", type=click.IntRange(0, 2**31 - 1), metavar="P", help="Only this partition.")
@click.option("--key", metavar="K", help="Only records with this key.")
@click.option("--distinct", is_flag=True, help="Show each offset of a partition once, however often it was seen.")
@click.option("--control", is_flag=True, help="Also show control records: transaction markers.")
@format_option(FORMATS, "The output format.", default="table")
@formulas_option
@click.option("--values", is_flag=True, help="Print only values, one per line.")
@payload_options
@port_option
@filter_options
@output_option
@quiet_option("No progress, no warnings.")
@secrets_option()
@reading_options
def records(files: tuple[str, ...], **options: Any) -> int:
    """Show the records in captures (Produce, Fetch and ShareFetch) and log segments, one per line.

    FILE is a capture, as `kcli decode pcap` reads them, a log segment, or "-" for either on standard input; DIR a
    directory with captures or segments. A record that was produced and fetched is shown twice, with --distinct once.
    The offset of a produced record comes from the response, if that has one. `"aborted": true` marks records of aborted
    transactions, if the Fetch response lists these. --since and --until apply to the time of the request; in log
    segments, to the record's timestamp. Exit code 1: no record matches. With --bootstrap and --topic kcli reads a live
    topic, from its beginning (--since: from the first record of that time) to its current end.

    Columns: topic[partition], offset, the record's timestamp (UTC), key, value, and the API and client that sent it.

    \b
    kcli records night.pcap --topic orders --values
    kcli records night.pcap --key customer-7 --format jsonl
    kcli records night.pcap --value-schema orders=order.avsc
    kcli records --bootstrap localhost:9092 --topic orders --last 10
    kcli records data/orders-0 --format parquet -o orders.parquet
    """
    if options["values"] and options["format_"] == "parquet":
        raise UsageError("--values are lines of text: no --format parquet with them")
    refuse_parquet_on_terminal(options["format_"], options["output"])
    live = check_live(files, options)
    chosen = replace(filter_of(options, files), topic=None)
    problems, choice, decoder = Problems(), RecordChoice(options), decoder_of(options, captures_of(files))
    unread = Counter[str]()

    def end() -> None:
        """Raise the error if no record was shown: then nothing is written, not even headings."""
        if not choice.count:
            conclude(problems.failures, options["quiet"], count=problems.count)

    with (
        open_output(options["output"], [*inputs_of(files), *options["key_logs"], *files_named(options)]) as out,
        reading(files, options["quiet"]) as moved,
    ):
        if live:
            from kcli.cli.records.live import rows_of_topic

            rows = begun(choice.wanted(rows_of_topic(options, chosen, problems.add)))
        else:
            sink = RecordSink(options["topic"], options["partition"], choice.topics)
            read = DecodeOptions(**read_of(options), secrets=options["secrets"], chosen=chosen)
            groups = record_groups(files, problems, moved, sink, read, options["quiet"])
            rows = ended(choice.wanted(row for group in groups for row in group.rows()), end)
        if decoder is not None:
            rows = with_payloads(rows, decoder, unread, KEY_AND_VALUE[options["values"] :])
        is_plain = decoder is None and not options["values"] and options["format_"] in PLAIN
        if not live and is_plain and choice.is_by_place:
            PLAIN[options["format_"]](groups, choice, out, end)
        else:
            write_rows(rows, out, options, decoder)
        out.flush()
        conclude(problems.failures, options["quiet"], count=problems.count)
    if decoder is not None:
        decoder.raise_failure()
    if options["values"] or options["format_"] == "csv":  # which have no place for reasons
        warn_unread(unread, options["quiet"])
    if choice.has_conditions and not choice.count:
        warn(f"no record matches; {choice.occurring()}", options["quiet"])
        return 1
    return 0


def write_rows(rows: Iterator[Row], out: BinaryIO, options: dict[str, Any], decoder: PayloadDecoder | None) -> None:
    """Write rows in the chosen format."""
    room = terminal_room(options["output"])
    if options["follow"]:
        write_followed(rows, out, "values" if options["values"] else options["format_"], room)
    elif options["values"]:
        write_values(rows, out)
    else:
        WRITERS[writer_of(options, decoder)](begun(rows), out, room)


def warn_unread(unread: Counter[str], quiet: bool) -> None:
    """Print a warning about payloads that can't be read, by reason."""
    if unread:
        most, _ = unread.most_common(1)[0]
        text = f"{counted(unread.total(), 'payload')} can't be read: {most}{' and more reasons' * (len(unread) > 1)}"
        warn(f"{text} (each has its reason with --format jsonl)", quiet)


def begun(rows: Iterator[Row]) -> Iterator[Row]:
    """Return the rows once the first has been read, so that an error before it is not printed below headings."""
    return chain([*islice(rows, 1)], rows)


def ended(rows: Iterator[Row], end: Callable[[], None]) -> Iterator[Row]:
    """Yield rows; call `end` after the last."""
    yield from rows
    end()


def writer_of(options: dict[str, Any], decoder: PayloadDecoder | None) -> str:
    """Return the name of the writer of the chosen format."""
    form: str = options["format_"]
    if form == "csv" and options["formulas"]:
        return "csv-escaped"
    return "parquet-payloads" if form == "parquet" and decoder is not None else form


def with_payloads(
    rows: Iterator[Row], decoder: PayloadDecoder, unread: Counter[str], reported: Sequence[str]
) -> Iterator[Row]:
    """Add the decoded keys and values, as `_key` and `_value`. unread: counts the reasons why those of `reported` could
    not be decoded.
    """
    for row in rows:
        if "_control" not in row:
            decoder.add_to(row, row["topic"])
            unread.update(reason for name in reported if (reason := row.get(name, {}).get("reason")))
        yield row

"""Options that choose exchanges of captures, their filter, and the hint where nothing fits."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from kcli.capture.filters import ALL, Choice, Filter, chosen
from kcli.capture.kafka.clock import instant, parse_duration, parse_local_instant
from kcli.capture.name_choice import matches
from kcli.cli.options import Command, with_options
from kcli.cli.options.duration import Milliseconds
from kcli.cli.options.inputs import read_of
from kcli.cli.terminal.console import note, warn
from kcli.counting import counted, here_text
from kcli.errors import UsageError
from kcli.jsontext import loads
from kcli.shell import quoted

if TYPE_CHECKING:
    from kcli.capture.decoder import CaptureDecoder
    from kcli.capture.statistics import StatisticsSink
    from kcli.sql.conditions import SqlCondition


WHEN = "2026-11-21T09:14:02Z, 09:14:02, followed by a zone's name or local, or +22.4s after the first packet"
FORMS = (
    "2026-11-21T09:14:02.5Z, 09:14:02 of the capture's day, either followed by a zone's name or local, "
    "seconds since 1970, or +22.4 or +1m30s after the first packet expected"
)
MOST_IDS = 8  # topics in a line
# The choices of a filter, by the column of `kcli stats` that shows the available values.
FILTERED_COLUMNS = (
    ("client_id", "client"), ("topic", "topic"), ("apis", "api"), ("connection", "connection"), ("error", "error"),
    ("errors", "error"),
)  # fmt: skip
# The same by the columns that a condition looks at.
LOOKED_AT = (
    ("client_id", "client"), ("api", "api"), ("api_key", "api"), ("connection", "connection"), ("client", "connection"),
    ("server", "broker"), ("error", "error"), ("errors", "error"),
)  # fmt: skip


OPTIONS = (
    click.option(
        "--api",
        "apis",
        multiple=True,
        metavar="NAME,...",
        help="Only these APIs (by name or key); after a ! in front of a name: all but these.",
    ),
    click.option(
        "--client-id",
        "--client",
        metavar="ID,...",
        help="Only these clients; * and ? are wildcards, with ! in front: all but these.",
    ),
    click.option(
        "--topic", metavar="T,...", help="Only exchanges that name one of these topics, in the form of --client."
    ),
    click.option("--connection", metavar="TEXT", help="Only connections with this text in an address: 10.0.0.7:41202."),
    click.option(
        "--errors", is_flag=True, help="Only exchanges with an error in the response; --errors=NAME,...: with these."
    ),
    click.option(
        "--error", metavar="NAME,...", help="Only exchanges with one of these errors in the response, as --errors=NAME."
    ),
    click.option(
        "--slower-than",
        type=Milliseconds(),
        metavar="TIME",
        help="Only exchanges that took longer: 10ms, 1.5s; a plain number is ms.",
    ),
    click.option(
        "--where",
        metavar="EXPR",
        help="Only exchanges for which this SQL condition is true, on columns of kcli sql: latency_ms > 100.",
    ),
)


def times_of(subject: str, where: str = "") -> tuple[Callable[[Command], Command], ...]:
    """Return the options that choose by time. subject: the things that are chosen. where: a text after them."""
    return (
        click.option("--since", metavar="T", help=f"Only {subject} at or after this time{where} ({WHEN})."),
        click.option("--until", metavar="T", help=f"Only {subject} at or before this time."),
    )


TIMES = times_of("requests")


class FirstPacketError(UsageError):
    """Raised if a time counts from the first packet, and no file has a packet."""


class FilterCommand(click.Command):
    """A command with these options: `--errors=NAME` is `--error NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart."""
        return super().parse_args(ctx, self.mended(args))

    @staticmethod
    def mended(args: list[str]) -> list[str]:
        """Return the arguments as click takes them."""
        end = args.index("--") if "--" in args else len(args)
        return [
            f"--error={each.partition('=')[2]}" if at < end and each.startswith("--errors=") else each
            for at, each in enumerate(args)
        ]


def filter_options(command: Command) -> Command:
    """Add the options that choose exchanges; the command's class is FilterCommand."""
    return with_options(command, (*OPTIONS, *TIMES))


def time_options(command: Command) -> Command:
    """Add --since and --until alone, for commands with other options to choose exchanges."""
    return with_options(command, TIMES)


def choosing_findings(*, sides: bool = False) -> Callable[[Command], Command]:
    """Return a decorator that adds the options that choose findings by time. sides: of two captures."""
    return partial(with_options, options=times_of("what was seen", ", of both sides" if sides else ""))


def words_of(options: dict[str, Any], word: Callable[[str], str] = str) -> list[str]:
    """Return the given filter options as text: "--topic orders", "--slower-than 1500ms". word: formats a value."""
    made = []
    for param in click.command()(filter_options(lambda: None)).params:
        value = options.get(param.name or "")
        for each in value if isinstance(value, tuple) else (value,):
            if each is not None and each is not False:
                text = f"{each:.15g}ms" if isinstance(each, float) else str(each)
                made.append(param.opts[0] if each is True else f"{param.opts[0]} {word(text)}")
    return made


def filter_of(options: dict[str, Any], files: Sequence[str]) -> Filter:
    """Return the filter of `filter_options` and --dialect. files: the captures; times like +22.4 count from their first
    packet. Raises UsageError for an unknown API or error, or an invalid time.
    """
    choice = Choice(
        api=options["apis"],
        client_id=options["client_id"],
        topic=options["topic"],
        errors=options["errors"],
        error=options["error"],
        slower_than=options["slower_than"],
        connection=options["connection"],
    )
    made = chosen(choice, options["dialect"])
    where = None if options["where"] is None else opened_condition(options["where"], options["dialect"])
    times = filter_of_times(options, files)
    return replace(made, since=times.since, until=times.until, where=where)


def filter_of_times(options: dict[str, Any], files: Sequence[str]) -> Filter:
    """Return the filter of --since and --until, for a command with `time_options`. Raises UsageError if a time is
    invalid, or --since is after --until.
    """
    since, until = (moment(name, options[name], files) for name in ("since", "until"))
    if since is not None and until is not None and since > until:
        raise UsageError(f"--since {options['since']} is after --until {options['until']}: no time is between them")
    return Filter(since=since, until=until)


def opened_condition(text: str, dialect: str | None) -> SqlCondition:
    """Open a condition that is closed when the command ends."""
    from kcli.sql.conditions import SqlCondition

    context = click.get_current_context(silent=True)
    made = SqlCondition(text, dialect)
    return made if context is None else context.with_resource(made)


def moment(name: str, when: str | None, files: Sequence[str]) -> int | None:
    """Return the time (ns) given to an option of that name. Commands without files also take a span before now, "-10m".
    Raises UsageError.
    """
    if when is None:
        return None

    def begin() -> int:
        return first_packet(f"--{name} {when}", files)

    try:
        if when.startswith("+"):
            after = parse_duration(when[1:], "s")
        elif when.startswith("-"):
            if files:
                raise UsageError("only what runs now has a time before now")
            return time.time_ns() - parse_duration(when[1:], "s")
        else:
            return parse_local_instant(when, begin)
    except FirstPacketError:
        raise
    except UsageError:
        raise UsageError(f"--{name} {when}: no time ({FORMS})") from None
    return begin() + after


def first_packet(option: str, files: Sequence[str]) -> int:
    """Return the time of a capture's first packet (ns), from which an option counts. Raises FirstPacketError without
    one.
    """
    from kcli.capture.io.files import first_time
    from kcli.core.capture.packets import PacketReader

    first = first_time([file for file in files if file != "-"], PacketReader)
    if first is None:
        why = "times like this are counted from a capture's first packet, and no file has one"
        raise FirstPacketError(f"{option}: {why}")
    return first


def note_no_match(files: Sequence[str], wanted: Filter, options: dict[str, Any], among: Filter = ALL) -> None:
    """Print one line on stderr: nothing passed the filter, and which values occur. among: the exchanges whose values
    are named. "-" is not read again.
    """
    if not options["quiet"]:
        values = () if "-" in files else occurring_values(files, wanted, options, among)
        note("; ".join(["kcli: nothing matches", *values]))


def say_nameless(source: CaptureDecoder[Any], topic: str | None, *, quiet: bool = False) -> None:
    """Print on stderr the number of exchanges that --topic could not judge, as their topics had no names yet, and the
    option that shows them.
    """
    if not source.tally.nameless or topic is None:
        return
    from kcli.core.codec.values import uuid_bytes

    later, never = Counter[str](), Counter[str]()
    for topic_id, count in source.tally.nameless.items():
        name = source.bodies.names.get(uuid_bytes(topic_id)) if topic_id else None
        if name is None:
            never[topic_id] = count
        elif matches(loads(name), topic):
            later[topic_id] = count
    whys = (
        (later, "come before the capture names their topic"),
        (never, "have a topic id that the capture never names"),
    )
    for found, why in whys:
        ids = [each for each, _ in found.most_common() if each][:MOST_IDS]
        if found:
            shown = f"; with them: --topic {quoted(','.join([topic, *ids]))}" if ids else ""
            warn(f"--topic left out {counted(found.total(), 'exchange')} that {why}{shown}", quiet)


def occurring_values(files: Sequence[str], wanted: Filter, options: dict[str, Any], among: Filter) -> Iterator[str]:
    """Yield the values in captures that a filter asks for: names by their kind, the longest latency, the time."""
    from kcli.capture.names import names_by

    if options["ports"] and (
        brokers := names_by("broker", counted_in("broker", files, options | {"ports": ()}, among))
    ):
        yield f"{here_text('broker', brokers)} (--port names others)"
    looked_at = frozenset[str]() if wanted.where is None else wanted.where.wanted
    timed = wanted.since is not None or wanted.until is not None or "timestamp" in looked_at
    slow = wanted.slower_than is not None or "latency_ms" in looked_at
    for column in filtered_columns(wanted, looked_at):
        yield here_text(column, names_by(column, counted_in(column, files, options, among)))
    if not timed and not slow:
        return
    source = counted_in("api", files, options, among)
    if slow:
        most = max((row.figures.max_ms for row in source.sink.rows() if row.figures.max_ms is not None), default=None)
        yield "no response here" if most is None else f"the slowest here: {most:.1f} ms"
    if timed and source.engine.packets:
        first, last = (f"{instant(ns)[:23]}Z" for ns in (source.engine.first_ns, source.engine.last_ns))
        yield f"packets here: {first} to {last}"


def counted_in(
    column: str, files: Sequence[str], options: dict[str, Any], among: Filter
) -> CaptureDecoder[StatisticsSink]:
    """Count the exchanges of captures."""
    from kcli.capture.decoder import DecodeOptions
    from kcli.capture.names import counted_by

    read = read_of(options)
    return counted_by(column, files, DecodeOptions(chosen=among, **read))


def filtered_columns(wanted: Filter, looked_at: Container[str]) -> dict[str, None]:
    """Return the columns of `kcli stats` that a filter asks for. looked_at: columns that its condition reads."""
    named = [column for name, column in FILTERED_COLUMNS if getattr(wanted, name) not in (None, False, frozenset())]
    return dict.fromkeys([*named, *(column for name, column in LOOKED_AT if name in looked_at)])

"""Which exchanges of captures a command takes: the options, their filter, and what to say where nothing fits."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kcli.capture.clock import parse_instant
from kcli.capture.filters import Filter, chosen
from kcli.cli.lines import print_note
from kcli.errors import InputError, UsageError

if TYPE_CHECKING:
    from kcli.sql.conditions import SqlCondition

__all__ = ["WHEN", "FilterCommand", "filter_of", "filter_options", "moment", "say_what_there_is"]

Command = TypeVar("Command", bound=Callable[..., Any])

RELATIVE = re.compile(r"\+(\d{1,10}(?:\.\d{1,9})?) ?s?")
NAMED = 5  # names that are shown where nothing fits
WHEN = "ISO 8601, seconds since 1970, or +22.4: seconds after the first packet"
FORMS = "2026-11-21T09:14:02.5Z, seconds since 1970, or +22.4 for seconds after the first packet expected"
# What a filter asks for, by the column of `kcli stats` that has what there is.
ASKED = (("client_id", "client"), ("topic", "topic"), ("apis", "api"), ("connection", "connection"), ("error", "error"))
# The same by the columns that a condition looks at.
LOOKED_AT = (
    ("client_id", "client"), ("api", "api"), ("connection", "connection"), ("client", "connection"),
    ("server", "broker"), ("error", "error"), ("errors", "error"),
)  # fmt: skip

OPTIONS = (
    click.option("--api", "apis", multiple=True, metavar="NAME", help="Only this API (by name or key)."),
    click.option("--client-id", "--client", metavar="ID", help="Only this client; * and ? stand for other characters."),
    click.option(
        "--topic", metavar="T", help="Only exchanges that name this topic; * and ? stand for other characters."
    ),
    click.option("--connection", metavar="TEXT", help="Only connections with this text in an address: 10.0.0.7:41202."),
    click.option(
        "--errors", is_flag=True, help="Only exchanges with an error in the response; --errors=NAME: with that error."
    ),
    click.option("--error", metavar="NAME", help="Only exchanges with this error in the response, as --errors=NAME."),
    click.option(
        "--slower-than", type=click.FloatRange(0, 1e12), metavar="MS", help="Only exchanges that took longer."
    ),
    click.option(
        "--where",
        metavar="EXPR",
        help="Only exchanges for which this SQL condition is true, on columns of kcli sql: latency_ms > 100.",
    ),
    click.option("--since", metavar="T", help=f"Only requests at or after this time ({WHEN})."),
    click.option("--until", metavar="T", help="Only requests at or before this time."),
)


class FilterCommand(click.Command):
    """A command with these options: `--errors=NAME` is `--error NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take the arguments apart."""
        end = args.index("--") if "--" in args else len(args)
        mended = [
            f"--error={each.partition('=')[2]}" if at < end and each.startswith("--errors=") else each
            for at, each in enumerate(args)
        ]
        return super().parse_args(ctx, mended)


def filter_options(command: Command) -> Command:
    """The options that choose exchanges; the command's class is FilterCommand."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def filter_of(options: dict[str, Any], files: Sequence[str]) -> Filter:
    """What those options say, and --dialect. files: that times like +22.4 are counted from.

    UsageError: no such API or error, or no time.
    """
    since, until = (moment(name, options[name], files) for name in ("since", "until"))
    made = chosen(
        options["apis"],
        options["client_id"],
        options["topic"],
        options["errors"],
        dialect=options["dialect"],
        error=options["error"],
        slower_than=options["slower_than"],
        connection=options["connection"],
    )
    where = None if options["where"] is None else opened_condition(options["where"], options["dialect"])
    return replace(made, since=since, until=until, where=where)


def opened_condition(text: str, dialect: str | None) -> SqlCondition:
    """Closed when the command ends."""
    from kcli.sql.conditions import SqlCondition

    context = click.get_current_context(silent=True)
    made = SqlCondition(text, dialect)
    return made if context is None else context.with_resource(made)


def moment(name: str, when: str | None, files: Sequence[str]) -> int | None:
    """Nanoseconds of a time that an option of that name gives."""
    if when is None:
        return None
    relative = RELATIVE.fullmatch(when)
    if relative is None:
        try:
            return parse_instant("" if when.startswith("+") else when)
        except UsageError:
            raise UsageError(f"--{name} {when}: no time ({FORMS})") from None
    from kcli.capture.files import first_time
    from kcli.capture.ranges import new_reader

    first = first_time([file for file in files if file != "-"], new_reader)
    if first is None:
        why = "times like this are counted from a capture's first packet, and no file has one"
        raise UsageError(f"--{name} {when}: {why}")
    whole, _, part = relative[1].partition(".")
    return first + int(whole) * 1_000_000_000 + int(part.ljust(9, "0"))


def say_what_there_is(files: Sequence[str], asked: Filter, options: dict[str, Any]) -> None:
    """One line on stderr: nothing passed the filter, and which names do occur in what it asks for."""
    if not options["quiet"]:
        print_note("; ".join(["kcli: nothing matches", *names_there(files, asked, options)]))


def names_there(files: Sequence[str], asked: Filter, options: dict[str, Any]) -> Iterator[str]:
    """What captures have of what a filter asks for, by the kind of its names."""
    from kcli.capture.statistics import StatisticsDecoder

    for column in columns_asked(asked) if "-" not in files else ():
        source = StatisticsDecoder(
            files,
            (column,),
            ports=options["ports"],
            dialect=options["dialect"],
            memory=options["memory"],
            key_logs=options["key_logs"],
        )
        with contextlib.suppress(InputError):
            for _ in source.read():
                pass
        names = [str(row.group[column]) for row in source.rows() if row.group and row.group[column] is not None]
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        plural = {"api": "APIs"}.get(column, f"{column}s")
        yield f"{plural} here: {', '.join(names[:NAMED])}{more}" if names else f"no {plural} here"


def columns_asked(asked: Filter) -> dict[str, None]:
    """The columns of `kcli stats` that a filter asks for."""
    named = [column for name, column in ASKED if getattr(asked, name)]
    looked_at = frozenset[str]() if asked.where is None else asked.where.wanted
    return dict.fromkeys([*named, *(column for name, column in LOOKED_AT if name in looked_at)])

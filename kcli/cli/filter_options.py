"""Which exchanges of captures a command takes: the options, their filter, and what to say where nothing fits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from kcli.capture.filters import Filter, chosen
from kcli.cli.lines import print_note
from kcli.errors import InputError, UsageError

__all__ = ["FilterCommand", "filter_of", "filter_options", "say_what_there_is"]

Command = TypeVar("Command", bound=Callable[..., Any])

RELATIVE = re.compile(r"\+(\d{1,10}(?:\.\d{1,9})?) ?s?")
NAMED = 5  # names that are shown where nothing fits
WHEN = "ISO 8601, seconds since 1970, or +22.4: seconds after the first packet"
# What a filter asks for, by the column of `kcli stats` that has what there is.
ASKED = (("client_id", "client"), ("topic", "topic"), ("apis", "api"), ("connection", "connection"), ("error", "error"))

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
    since, until = (moment(options[name], files) for name in ("since", "until"))
    made = chosen(
        options["apis"],
        options["client_id"],
        options["topic"],
        options["errors"],
        None if isinstance(since, int) else since,
        None if isinstance(until, int) else until,
        options["dialect"],
        error=options["error"],
        slower_than=options["slower_than"],
        connection=options["connection"],
    )
    made = replace(made, since=since) if isinstance(since, int) else made
    return replace(made, until=until) if isinstance(until, int) else made


def moment(when: str | None, files: Sequence[str]) -> str | int | None:
    """Nanoseconds of a time like +22.4; any other as it is."""
    relative = RELATIVE.fullmatch(when or "")
    if relative is None:
        if when is not None and when.startswith("+"):
            raise UsageError(f"{when}: no time; {WHEN}")
        return when
    from kcli.capture.files import first_time
    from kcli.capture.ranges import new_reader

    first = first_time([file for file in files if file != "-"], new_reader)
    if first is None:
        raise UsageError(f"{when}: times like this are counted from a capture's first packet, and no file has one")
    whole, _, part = relative[1].partition(".")
    return first + int(whole) * 1_000_000_000 + int(part.ljust(9, "0"))


def say_what_there_is(files: Sequence[str], asked: Filter, options: dict[str, Any]) -> None:
    """One line on stderr: nothing passed the filter, and which names do occur in what it asks for."""
    if options["quiet"]:
        return
    from kcli.capture.statistics import StatisticsDecoder

    there = list[str]()
    for name, column in ASKED:
        if not getattr(asked, name) or "-" in files:
            continue
        source = StatisticsDecoder(
            files, (column,), ports=options["ports"], dialect=options["dialect"], memory=options["memory"]
        )
        try:
            for _ in source.read():
                pass
        except InputError:
            continue
        names = [str(row.group[column]) for row in source.rows() if row.group and row.group[column] is not None]
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        plural = {"api": "APIs"}.get(column, f"{column}s")
        there.append(f"{plural} here: {', '.join(names[:NAMED])}{more}" if names else f"no {plural} here")
    print_note("; ".join(["kcli: nothing matches", *there]))

"""`kcli records --bootstrap`: the records of a live topic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

import click

from kcli.calendar import NS_IN_MS
from kcli.capture.filters import Filter
from kcli.cli.options.client import client_options, configure
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.client.reading import LiveChoice, live_rows
from kcli.errors import InputError, UsageError

FOLLOWED = ("table", "jsonl")
COMMITTED = "isolation.level=read_committed"

Row = dict[str, Any]


def live_options(command: Any) -> Any:
    """Add the options that read a live topic."""
    options = (
        click.option("--from-offset", type=click.IntRange(0), metavar="N", help="With --bootstrap: begin at offset N."),
        click.option(
            "--last", type=click.IntRange(1), metavar="N", help="With --bootstrap: the last N of each partition."
        ),
        click.option("--committed", is_flag=True, help="With --bootstrap: leave out what is aborted or not committed."),
        click.option("--follow", is_flag=True, help="With --bootstrap: go on behind the present end, until Ctrl-C."),
    )
    for option in reversed(options):
        command = option(command)
    return client_options(command)


def check_live(files: tuple[str, ...], options: dict[str, Any]) -> bool:
    """Return whether a live topic is read. Raises UsageError: the options don't go together."""
    live = options["bootstrap"] is not None or bool(options["settings"])
    if not live:
        asked = [name for name in ("from_offset", "last", "committed", "follow") if options[name]]
        if asked:
            raise UsageError(f"--{asked[0].replace('_', '-')}: only with --bootstrap")
        if not files:
            raise UsageError("FILE|DIR...: missing (captures or log segments expected; --bootstrap reads a live topic)")
        return False
    if files:
        raise UsageError(f"{files[0]}: --bootstrap reads a live topic, and no file")
    if options["topic"] is None:
        raise UsageError("--topic: missing (of the live topic)")
    if options["follow"] and options["format_"] not in FOLLOWED:
        raise UsageError(f"--follow: rows as they come have --format {' or '.join(FOLLOWED)}, or --values")
    if options["from_offset"] is not None and options["last"] is not None:
        raise UsageError("--from-offset, --last: one of them at most")
    return True


def rows_of_topic(options: dict[str, Any], chosen: Filter, problem: Callable[[InputError], None]) -> Iterator[Row]:
    """Yield the records of live topics. Raises NetworkError, and UsageError where exchanges are chosen."""
    if not chosen.is_times:
        raise UsageError("--bootstrap: the options that choose exchanges are for captures")
    settings = (*options["settings"], *((COMMITTED,) if options["committed"] else ()))
    config = configure(options["bootstrap"], settings, quiet=options["quiet"])
    choice = LiveChoice(
        options["topic"],
        options["partition"],
        options["from_offset"],
        None if chosen.since is None else -(-chosen.since // NS_IN_MS),
        options["last"],
        options["follow"],
        options["secrets"],
    )
    with asyncio.Runner() as runner:
        rows = connected(config, choice, lambda text: problem(InputError(text)))
        try:
            while (row := runner.run(following(rows))) is not None:
                if chosen.in_time(row["timestamp"] * NS_IN_MS):
                    yield row
        finally:
            runner.run(rows.aclose())


async def connected(
    config: ClientConfig, choice: LiveChoice, problem: Callable[[str], None]
) -> AsyncGenerator[Row, None]:
    """Yield the records that a client of its own reads."""
    async with Client(config) as client:
        async for row in live_rows(client, choice, problem):
            yield row


async def following(rows: AsyncIterator[Row]) -> Row | None:
    """Return the next row; None behind the last one."""
    return await anext(rows, None)

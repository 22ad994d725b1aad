"""`kcli records --bootstrap`: the records of a live topic."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from typing import Any

from kcli.calendar import NS_IN_MS
from kcli.capture.filters import Filter
from kcli.cli.options.client import configure
from kcli.client.cluster import Client
from kcli.client.properties import ClientConfig
from kcli.client.reading import LiveChoice, live_rows
from kcli.errors import InputError, UsageError

COMMITTED = "isolation.level=read_committed"

Row = dict[str, Any]


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
    """Return the next row; None after the last."""
    return await anext(rows, None)

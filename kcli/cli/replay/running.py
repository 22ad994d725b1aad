"""Runs a replay: at a cluster or a broker in this process, with its progress on a terminal, until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from kcli.cli.terminal.console import console, has_bars
from kcli.client.properties import ClientConfig

if TYPE_CHECKING:
    from kcli.broker.broker import Broker


@contextlib.asynccontextmanager
async def standing(broker: Broker | None, config: ClientConfig) -> AsyncIterator[ClientConfig]:
    """Run a broker in this process and return the configuration for it; None: `config` names a cluster."""
    from kcli.cli.broker.serve import allow_files

    allow_files()  # each captured connection is one here, with both of its ends where the broker is in this process
    if broker is None:
        yield config
        return
    async with broker:
        yield config.replace(bootstrap_servers=tuple(broker.bootstrap.split(",")))


def interrupted(work: Coroutine[Any, Any, object]) -> bool:
    """Run a coroutine to its end, or until Ctrl-C. Returns whether Ctrl-C ended it."""
    try:
        asyncio.run(work)
    except KeyboardInterrupt:
        return True
    return False


@contextlib.contextmanager
def counting(total: int, quiet: bool, label: str = "fetches") -> Iterator[Callable[[], None]]:
    """Show a bar of fetches, or `label`, on a terminal's stderr; the function given is called after each."""
    if quiet or not has_bars():
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)

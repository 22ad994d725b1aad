"""How far a replay is, on a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from kcli.cli.terminal.console import console, has_bars


@contextlib.contextmanager
def counting(total: int, quiet: bool, what: str = "fetches") -> Iterator[Callable[[], None]]:
    """A bar of fetches, or `what`, on a terminal's stderr; the function given is called after each."""
    if quiet or not has_bars():
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def ignore(_text: str) -> None:
    """Take a note and say nothing."""

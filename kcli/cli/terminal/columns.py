"""Rows under headings: a rich table on a terminal, aligned columns in a pipe; or the same rows as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.cli.terminal.cells import align, wrap
from kcli.cli.terminal.console import console, is_terminal, shows_colour
from kcli.cli.terminal.lines import paint, print_line
from kcli.jsontext import dumps

Row = Sequence[str]

WHERE_ALL_IS = "all: | less -S"


def left_out_lines(names: Iterable[str], room: int | None) -> Iterator[str]:
    """Yield the dim line under a table that says what had no room in `room` cells; none where nothing is left out."""
    named = ", ".join(names)
    if named and room is not None:
        for line in wrap(f"left out: {named} ({WHERE_ALL_IS})", room):
            yield paint(line, shows_colour(sys.stdout), dim=True)


def print_rows(headings: Row, rows: Iterable[Row], *, title: str = "") -> None:
    """Print rows of text, each as long as the headings; the last column may be long."""
    if is_terminal(sys.stdout):
        print_table(headings, rows, title)
        return
    if title:
        print_line(title)
    for line in align([headings, *rows]):
        print_line(line)


def print_table(headings: Row, rows: Iterable[Row], title: str) -> None:
    from rich import box
    from rich.table import Table

    from kcli.cli.terminal.screen import shown

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(shown(heading), no_wrap=number < len(headings) - 1, overflow="fold")
    for row in rows:
        table.add_row(*map(shown, row))
    screen = console()
    if title:
        screen.print(shown(title, "bold"))
    screen.print(table)


def print_json(values: Iterable[Mapping[str, Any]], form: str) -> None:
    """Print values. jsonl: an object a line; json: one array."""
    lines = [dumps(value) for value in values]
    if form != "jsonl":
        lines = ["[", *(f"{line}," for line in lines[:-1]), *lines[-1:], "]"] if lines else ["[]"]
    for line in lines:
        print_line(line)

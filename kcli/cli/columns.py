"""Rows under headings: a rich table on a terminal, aligned columns in a pipe; or the same rows as JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kcli.cli.console import console, is_terminal
from kcli.jsontext import dumps

__all__ = ["print_json", "print_rows"]

Row = Sequence[str]


def print_rows(headings: Row, rows: Iterable[Row], *, title: str = "") -> None:
    """Print rows of text, each as long as the headings; the last column may be long."""
    whole = [list(row) for row in rows]
    if is_terminal(sys.stdout):
        print_table(headings, whole, title)
    else:
        print_columns(headings, whole, title)


def print_table(headings: Row, rows: list[list[str]], title: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(Text(heading), no_wrap=number < len(headings) - 1, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    screen = console()
    if title:
        screen.print(Text(title, style="bold"))
    screen.print(table)


def print_columns(headings: Row, rows: list[list[str]], title: str) -> None:
    if title:
        sys.stdout.write(f"{title}\n")
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    for row in [headings, *rows]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        sys.stdout.write(f"{'  '.join(cells).rstrip()}\n")


def print_json(values: Iterable[Mapping[str, Any]], form: str) -> None:
    """jsonl: an object a line; json: one array."""
    lines = [dumps(value) for value in values]
    if form == "jsonl":
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        body = ",\n".join(lines)
        sys.stdout.write(f"[\n{body}\n]\n" if lines else "[]\n")

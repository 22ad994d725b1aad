"""Rows under headings, in columns that fit the terminal; or the same rows as JSON."""

import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from kcli.cli.terminal.cells import GAP, align, line_size, narrowed, pad, width, wrap
from kcli.cli.terminal.console import shows_colour, terminal_room
from kcli.cli.terminal.lines import paint, print_line
from kcli.jsontext import dumps
from kcli.legible import legible

Row = Sequence[str]

NARROW = 12  # minimum cells of a column with wrapped texts
WHERE_ALL_IS = "all: | less -S"


def left_out_lines(names: Iterable[str], room: int | None) -> Iterator[str]:
    """Yield the dim line under a table that says what had no room in `room` cells; none where nothing is left out."""
    named = ", ".join(names)
    if named and room is not None:
        for line in wrap(f"left out: {named} ({WHERE_ALL_IS})", room):
            yield paint(line, shows_colour(sys.stdout), dim=True)


def first_of(lines: Sequence[str], most: int) -> list[str]:
    """Return the first lines, and one that says how many more --format jsonl has."""
    rest = len(lines) - most
    return [*lines[:most], *([f"  and {rest:,} more (--format jsonl has them all)"] if rest > 0 else [])]


def print_rows(headings: Row, rows: Iterable[Row], *, title: str = "", right: Container[str] = ()) -> None:
    """Print rows of text, each as long as the headings. right: headings of right-aligned columns."""
    room, colour = terminal_room(), shows_colour(sys.stdout)
    if title:
        print_line(paint(title, colour, bold=True))
    for line in row_lines(headings, [*rows], room, right):
        print_line(line)


def row_lines(headings: Row, rows: Sequence[Row], room: int | None, right: Container[str] = ()) -> Iterator[str]:
    """Yield the lines of rows. room: cells of a line, None: unlimited. Texts too long for their column are wrapped; if
    all columns would be too narrow, the last ones are left out, with a note.
    """
    if room is None:
        yield from align([headings, *rows], right)
        return
    sizes = [max(map(width, map(legible, column))) for column in zip(headings, *rows, strict=True)]
    shown = len(sizes)
    while shown > 2 and line_size([min(each, NARROW) for each in sizes[:shown]]) > room:
        shown -= 1
    sizes = narrowed(sizes[:shown], room - GAP * (shown - 1), NARROW)
    colour = shows_colour(sys.stdout)
    for place, row in enumerate((headings, *rows)):
        for cells in zip_longest(*(wrap(cell, size) for cell, size in zip(row, sizes, strict=False)), fillvalue=""):
            parts = zip(headings, cells, sizes, strict=False)
            line = (" " * GAP).join(pad(cell, size, right=name in right) for name, cell, size in parts).rstrip()
            yield paint(line, colour, bold=True) if place == 0 else line
    yield from left_out_lines([name for name in headings[shown:] if name], room)


def print_json(values: Iterable[Mapping[str, Any]], form: str) -> None:
    """Print values. jsonl: an object a line; json: one array."""
    lines = [dumps(value) for value in values]
    if form != "jsonl":
        lines = ["[", *(f"{line}," for line in lines[:-1]), *lines[-1:], "]"] if lines else ["[]"]
    for line in lines:
        print_line(line)

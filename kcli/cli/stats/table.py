"""`kcli stats` for people: columns that fit the terminal, the least important left out where it is narrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from kcli.capture.statistics import Figures
from kcli.cli.terminal.cells import GAP, broken, cut, cut_start, fit, narrowed, pad, width
from kcli.cli.terminal.columns import left_out_lines
from kcli.counting import bytes_text, few_of
from kcli.legible import legible

LEAST = 8  # cells of a column of text that is cut
LONGEST = 60  # ... where lines are not cut
LEAST_NAMES = 28  # cells of errors by name that is cut
LAST = 9  # rank of columns that get room last
NAMES = 3  # errors shown by name, where lines are not cut
BY_NAME = "errors by name"
INDENT = "  "  # of errors by name below their row, where there is no room for a column

Row = tuple[dict[str, Any] | None, dict[str, Any], Figures]  # group, figures by name, and the same as they were counted


class StatisticsColumn(NamedTuple):
    """rank: the lower it is, the earlier the column gets room; 0: always. enough: cells beyond which it may be cut."""

    title: str
    cells: list[str]
    rank: int = 0
    right: bool = True
    enough: int = 1 << 30

    @property
    def size(self) -> int:
        """Cells of the widest value."""
        return max(map(width, [self.title, *self.cells]))

    @property
    def needed(self) -> int:
        """Return how many cells the column takes at least."""
        return min(self.size, self.enough)


def table_lines(
    names: Sequence[str], rows: Sequence[Row], room: int | None, *, below: bool = True, kept: Sequence[str] = ()
) -> Iterator[str]:
    """Yield headings and a line for each row, and which columns had no room. room: cells that a line has at most; None:
    as many as it takes. below: errors by name that have no column have a line of their own. kept: figures that are
    shown first, and always.
    """
    columns, left_out = fitted_columns(names, rows, room, kept, below=below)
    yield from column_lines(columns, rows, room, below=below)
    yield from left_out_lines([name for name in left_out if name != BY_NAME or not below], room)


def fitted_columns(
    names: Sequence[str], rows: Sequence[Row], room: int | None, kept: Sequence[str] = (), *, below: bool = False
) -> tuple[list[StatisticsColumn], list[str]]:
    """Return the columns that fit, and the titles of the others. See `table_lines`."""
    groups = [group_column(name, rows) for name in names]
    every = figure_columns(rows, kept)
    if below:  # errors by name are whole there
        every[-1] = every[-1]._replace(enough=every[-1].size)
    if room is None:
        return [*groups, *every], []
    groups, figures = fitted(groups, every, room)
    shown = {each.title for each in figures}
    return [*groups, *figures], [each.title for each in every if each.title not in shown and any(each.cells)]


def group_column(name: str, rows: Sequence[Row]) -> StatisticsColumn:
    cells = [
        "(others)" if group is None else "-" if group[name] is None else cut(str(group[name]), LONGEST)
        for group, _, _ in rows
    ]
    return StatisticsColumn(name, cells, right=name in ("version", "partition"))


def figure_columns(rows: Sequence[Row], kept: Sequence[str] = ()) -> list[StatisticsColumn]:
    first = [each._replace(rank=0) for name in kept for each in SHOWN if each.name == name]
    rest = [each for each in SHOWN if each.name not in kept]
    made = [column for column in (figure_column(each, rows) for each in [*first, *rest]) if column is not None]
    named = [names_text(figures) for _, _, figures in rows]
    return [*made, StatisticsColumn(BY_NAME, named, 3 if any(named) else LAST, False, LEAST_NAMES)]


def figure_column(shown: ShownFigure, rows: Sequence[Row]) -> StatisticsColumn | None:
    """Return a figure's column; None where no row has such a figure, or it is not shown then."""
    found = [values.get(shown.name) for _, values, _ in rows]
    if shown.optional and all(value is None for value in found):
        return None
    cells = ["-" if value is None else shown.text(value) for value in found]
    return StatisticsColumn(shown.title, cells, shown.rank)


def time_text(ms: float) -> str:
    """Format ms as "0.412", "12.3" or "4,210"."""
    return f"{ms:.3f}" if ms < 1 else f"{ms:.1f}" if ms < 1000 else f"{ms:,.0f}"


def rate_text(value: float) -> str:
    """Format a rate as "0.12", "61.2" or "4,210"."""
    if 0 < value < 0.01:
        return "<0.01"
    return f"{value:.2f}" if value < 1 else f"{value:,.1f}" if value < 1000 else f"{value:,.0f}"


def share_text(value: float) -> str:
    """Format a share as "97 %"; only exactly all or nothing is shown as 100 or 0."""
    return "<1 %" if 0 < value < 0.01 else ">99 %" if 0.99 < value < 1 else f"{value:.0%}".replace("%", " %")


def count_text(value: int) -> str:
    return f"{value:,}"


class ShownFigure(NamedTuple):
    """A figure's column. rank: as of StatisticsColumn. optional: not shown where no row has one."""

    name: str
    title: str
    text: Callable[[Any], str]
    rank: int = 0
    optional: bool = False


SHOWN = (
    ShownFigure("exchanges", "exchanges", count_text),
    ShownFigure("errors", "errors", count_text),
    ShownFigure("request_bytes", "req bytes", bytes_text, 6),
    ShownFigure("response_bytes", "resp bytes", bytes_text, 7),
    ShownFigure("p50_ms", "p50 ms", time_text, 2),
    ShownFigure("p95_ms", "p95 ms", time_text, 8),
    ShownFigure("p99_ms", "p99 ms", time_text, 1),
    ShownFigure("max_ms", "max ms", time_text),
    ShownFigure("lag", "lag", count_text, optional=True),
    ShownFigure("idle", "idle/s", rate_text, 6, True),
    ShownFigure("replication", "repl/s", rate_text, 6, True),
    ShownFigure("per_second", "/s", rate_text, 4, True),
    ShownFigure("records_per_request", "rec/req", rate_text, 5, True),
    ShownFigure("empty_share", "empty", share_text, 5, True),
    ShownFigure("connections", "conns", count_text, 5, True),
    ShownFigure("connections_opened", "opened", count_text, 6, True),
    ShownFigure("round_trip_ms", "rtt ms", time_text, 6, True),
    ShownFigure("retransmissions", "resent", count_text, 6, True),
)


def title_of(name: str) -> str:
    """Return the heading of a figure, or the name of something else."""
    return next((each.title for each in SHOWN if each.name == name), name)


def names_text(figures: Figures) -> str:
    return few_of([f"{name} {count:,}" for name, count in figures.errors_by_name.items()], NAMES)


def fitted(
    groups: list[StatisticsColumn], figures: list[StatisticsColumn], room: int
) -> tuple[list[StatisticsColumn], list[StatisticsColumn]]:
    """Return the columns that fit, with the texts of the groups cut as far as needed."""
    reserved = max(2 * LEAST, room // (4 * max(1, len(groups))))  # names of the rows: a quarter of a line, if needed
    left = room - sum(min(column.size, reserved) for column in groups) - GAP * (len(groups) - 1)
    kept = set[int]()
    for place in sorted(range(len(figures)), key=lambda place: figures[place].rank):
        column = figures[place]
        if column.rank == 0 or GAP + column.needed <= left:
            kept.add(place)
            left -= GAP + column.needed
    figures = [column for place, column in enumerate(figures) if place in kept]
    used = sum(GAP + column.needed for column in figures) + GAP * (len(groups) - 1)
    sizes = narrowed([column.size for column in groups], room - used, LEAST)
    return [cut_column(column, size) for column, size in zip(groups, sizes, strict=True)], figures


def cut_column(column: StatisticsColumn, size: int) -> StatisticsColumn:
    """Cut a group's texts to `size` cells. Connections to one broker differ at their ends, so they are cut at the
    start.
    """
    shorter = cut_start if column.title == "connection" else cut
    return column._replace(title=cut(column.title, size), cells=[shorter(cell, size) for cell in column.cells])


def column_lines(
    columns: list[StatisticsColumn], rows: Sequence[Row], room: int | None, *, below: bool
) -> Iterator[str]:
    """Yield headings and rows; errors by name are below a row where they have no column."""
    sizes = [column.size for column in columns]
    below = below and all(column.title != BY_NAME for column in columns)
    for row in range(-1, len(rows)):
        cells = [
            pad(legible(column.title if row < 0 else column.cells[row]), size, right=column.right)
            for column, size in zip(columns, sizes, strict=True)
        ]
        yield fitting((" " * GAP).join(cells).rstrip(), room)
        names = names_text(rows[row][2]) if below and row >= 0 else ""
        if names:
            yield from (fitting(line, room) for line in broken(names, room, INDENT))


def fitting(line: str, room: int | None) -> str:
    return line if room is None or width(line) <= room else fit(line, room).rstrip()

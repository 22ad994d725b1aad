"""`kcli stats` for people: columns that fit the terminal, the least important left out where it is narrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kcli.capture.counters import bytes_text
from kcli.capture.statistics import Figures
from kcli.cli.terminal.cells import cut, cut_start, fit, narrowed, pad, width
from kcli.legible import legible

GAP = 2  # between columns
LEAST = 8  # cells of a column of text that is cut
LONGEST = 60  # ... where lines are not cut
LEAST_NAMES = 28  # cells of errors by name that is cut
FIRST = 7  # rank of what is left out first
NAMES = 3  # errors shown by name, where lines are not cut

Row = tuple[dict[str, Any] | None, Sequence[Any], Figures]  # group, figures, and the same as they were counted


class StatisticsColumn(NamedTuple):
    """rank: the higher it is, the earlier the column is left out. enough: cells beyond which it may be cut."""

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
        """Cells that it takes at least."""
        return min(self.size, self.enough)


def table_lines(names: Sequence[str], rows: Sequence[Row], room: int | None) -> Iterator[str]:
    """Headings and a line for each row. room: cells that a line has at most; None: as many as it takes."""
    groups = [group_column(name, rows) for name in names]
    figures = figure_columns(rows)
    if room is not None:
        groups, figures = fitted(groups, figures, room)
    yield from lines_of([*groups, *figures], len(rows), room)


def group_column(name: str, rows: Sequence[Row]) -> StatisticsColumn:
    cells = [
        "(others)" if group is None else "-" if group[name] is None else cut(str(group[name]), LONGEST)
        for group, _, _ in rows
    ]
    return StatisticsColumn(name, cells, right=name in ("version", "partition"))


def figure_columns(rows: Sequence[Row]) -> list[StatisticsColumn]:
    columns = [[*column] for column in zip(*(values for _, values, _ in rows), strict=True)] or [[] for _ in range(8)]
    counts, sizes, times, tcp = columns[:2], columns[2:4], columns[4:8], columns[8:]
    of_connections = (
        [
            StatisticsColumn("rtt ms", [time_text(value) for value in tcp[0]], 3),
            StatisticsColumn("resent", ["-" if value is None else f"{value:,}" for value in tcp[1]], 3),
        ]
        if tcp
        else []
    )
    named = [names_text(figures) for _, _, figures in rows]
    return [
        StatisticsColumn("exchanges", [f"{value:,}" for value in counts[0]]),
        StatisticsColumn("errors", [f"{value:,}" for value in counts[1]]),
        StatisticsColumn("req bytes", [bytes_text(value) for value in sizes[0]], 4),
        StatisticsColumn("resp bytes", [bytes_text(value) for value in sizes[1]], 5),
        StatisticsColumn("p50 ms", [time_text(value) for value in times[0]], 2),
        StatisticsColumn("p95 ms", [time_text(value) for value in times[1]], 6),
        StatisticsColumn("p99 ms", [time_text(value) for value in times[2]], 1),
        StatisticsColumn("max ms", [time_text(value) for value in times[3]]),
        *of_connections,
        StatisticsColumn("errors by name", named, 3 if any(named) else FIRST, False, LEAST_NAMES),
    ]


def time_text(ms: float | None) -> str:
    """ "0.412", "12.3", "4,210" """
    if ms is None:
        return "-"
    return f"{ms:.3f}" if ms < 1 else f"{ms:.1f}" if ms < 1000 else f"{ms:,.0f}"


def names_text(figures: Figures) -> str:
    named = figures.errors_by_name
    shown = ", ".join(f"{name} {count:,}" for name, count in list(named.items())[:NAMES])
    return shown + (f" and {len(named) - NAMES} more" if len(named) > NAMES else "")


def fitted(
    groups: list[StatisticsColumn], figures: list[StatisticsColumn], room: int
) -> tuple[list[StatisticsColumn], list[StatisticsColumn]]:
    """Those columns that have room, with the texts of the groups cut as far as needed."""
    least = sum(min(column.size, 2 * LEAST) for column in groups) + GAP * (len(groups) - 1)
    for rank in range(FIRST, 0, -1):
        if least + sum(GAP + column.needed for column in figures) <= room:
            break
        figures = [column for column in figures if column.rank != rank]
    used = sum(GAP + column.needed for column in figures) + GAP * (len(groups) - 1)
    sizes = narrowed([column.size for column in groups], room - used, LEAST)
    return [cut_column(column, size) for column, size in zip(groups, sizes, strict=True)], figures


def cut_column(column: StatisticsColumn, size: int) -> StatisticsColumn:
    """A group's texts in so many cells. Connections of one broker differ in their ends, and lose their starts."""
    shorter = cut_start if column.title == "connection" else cut
    return column._replace(title=cut(column.title, size), cells=[shorter(cell, size) for cell in column.cells])


def lines_of(columns: list[StatisticsColumn], count: int, room: int | None) -> Iterator[str]:
    sizes = [column.size for column in columns]
    for row in range(-1, count):
        cells = [
            pad(legible(column.title if row < 0 else column.cells[row]), size, right=column.right)
            for column, size in zip(columns, sizes, strict=True)
        ]
        line = (" " * GAP).join(cells).rstrip()
        yield line if room is None or width(line) <= room else fit(line, room).rstrip()

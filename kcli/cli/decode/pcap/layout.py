"""The widths of columns in `decode pcap`'s table, and where its text is broken."""

from __future__ import annotations

from typing import NamedTuple

from kcli.cli.terminal.cells import fit, pad, width, wrap

PLAIN = 60  # cells of the summary, if lines are not broken
LEAST = 24  # least cells of the summary beside the other columns; with fewer it stands below them
NARROW = 120  # a terminal that has no room for the sizes
INDENT = "    "  # indent of lines below a row
SIZES = 15  # columns
SHORTEST = 4  # least cells of a client's name
RELATIVE, INSTANT = 11, 27  # columns of a time: +12.345 s, 2026-11-21T01:21:58.907123Z
AT_TERMINAL = 12  # cells of both kinds on a terminal: +86400.000 s, 01:21:58.907


class TableLayout(NamedTuple):
    """The widths of columns.

    sizes: whether the column of sizes is shown. room: cells of the summary; 0: it stands below. width: cells of the
    terminal; None: lines are not broken.
    """

    time: int
    client: int
    api: int
    sizes: bool
    room: int
    width: int | None

    def left(self, time: str, conn: str, client: str, api: str) -> str:
        """Return the columns left of the summary."""
        return f"{time:>{self.time}}  {conn:<5} {fit(client, self.client)} {fit(api, self.api)} "

    def right(self, ms: str, size: str) -> str:
        """Return the columns right of the summary."""
        return f" {ms:>8}" + (f"  {size}" if self.sizes else "")

    def broken(self, text: str, left: str) -> list[str]:
        """Return the summary's part in the row, and the lines below. Only a word longer than a line is broken."""
        if self.width is None:
            return [pad(text, self.room)]
        if self.room and (width(text) <= self.room or all(width(word) <= self.room for word in text.split())):
            first, *rest = wrap(text, self.room) or [""]
            return [pad(first, self.room), *(" " * width(left) + part for part in rest)]
        return [" " * self.room, *(INDENT + part for part in wrap(text, self.width - len(INDENT)))]


def layout(width: int | None, absolute: bool = False) -> TableLayout:
    """Return the layout for a terminal of that width, or (None) for a pipe. absolute: times of day, not seconds since
    the start.
    """
    if width is None:
        return TableLayout(INSTANT if absolute else RELATIVE, 20, 24, True, PLAIN, None)
    client, api, sizes = (20, 24, True) if width >= NARROW else (12, 19, False)
    made = TableLayout(AT_TERMINAL, client, api, sizes, 0, width)
    room = width - len(made.left("", "", "", "") + made.right("", " " * SIZES))
    if room >= LEAST:
        return made._replace(room=room)
    return made._replace(client=max(SHORTEST, min(client, client + room)))

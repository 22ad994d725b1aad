"""The view of `kcli top`, as lines, and its keys; it knows no terminal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kcli.capture.kafka.exchange import Exchange
from kcli.cli.diagnose.text import COLOURS, finding_lines
from kcli.cli.stats.table import column_lines, fitted_columns, title_of
from kcli.cli.terminal.cells import cut, width
from kcli.cli.top.exchanges import Wanted, bytes_of, left_out_text, table_of, wanted_by
from kcli.cli.top.rows import SORTS, TABS, TableRow, lines_of, sorted_lines
from kcli.counting import counted
from kcli.diagnose.finding_text import counted_by_severity
from kcli.metrics.figures import IDLE, REPLICATION, WINDOW_S, LiveFigures

MOST_FINDINGS = 3  # shown in full
HELP = (
    "1-5, Tab   clients, brokers, topics, groups, APIs",
    "s, r       sort by another figure; reverse the order",
    "/          only rows with a text; Esc shows all",
    "i          Fetches without records, and of brokers",
    "w          the latest seconds, or all since the start",
    "p          pause; continue",
    "f          all findings",
    "up, down   choose a row (or k, j); Page Up and Down",
    "Enter      its exchanges; the bytes of one; Esc: back",
    "q          quit",
)
KEYS = "Enter open  1-5 Tab  s r sort  / filter  i fold  w time  f findings  ? keys  q"
BACK_KEYS = "Esc back  q end"
OPEN_KEYS = f"Enter open  {BACK_KEYS}"
MOVES = frozenset(["up", "down", "page up", "page down", "home", "end", "k", "j"])


class ScreenLine(NamedTuple):
    """A line of the screen. colour: of click's; chosen: it is the row under the cursor."""

    text: str
    colour: str | None = None
    bold: bool = False
    chosen: bool = False


@dataclass
class Page:
    """A panel above the rows: lines, and the exchanges that they are of, where one can be opened. headings, footings:
    lines that stay where they are."""

    title: str
    make: Callable[[int], list[str]]
    exchanges: Sequence[Exchange] = ()
    headings: int = 0
    footings: int = 0
    cursor: int = 0


@dataclass
class View:
    """The state of the screen. source: names what is read; open: gives the exchanges of a row. saved: commands can
    read the source again."""

    figures: LiveFigures
    source: str
    open: Callable[[Wanted], list[Exchange]]
    whole: bool = False
    saved: bool = True
    tab: int = 0
    sort: str = SORTS[0]
    reverse: bool = False
    wanted: str = ""
    typing: bool = False
    groups_fetches: bool = True
    paused: bool = False
    over: bool = False
    cursor: int = 0
    pages: list[Page] = field(default_factory=list)
    lines: list[TableRow] = field(default_factory=list)
    height: int = 24

    # --- display

    def refresh(self) -> None:
        """Take over the current figures, unless the screen is paused."""
        if self.paused:
            return
        with self.figures.lock:
            counts = self.figures.total if self.whole else self.figures.latest()
            seconds = self.figures.total_seconds() if self.whole else self.figures.latest_seconds()
            lines = lines_of(self.figures, counts, TABS[self.tab], seconds, groups_fetches=self.groups_fetches)
            self.totals = lines_of(self.figures, counts, TABS[1], seconds, groups_fetches=True)
            self.findings = tuple(self.figures.findings)
            self.judged = self.figures.judged
        self.lines = sorted_lines(lines, self.sort, reverse=self.reverse, wanted=self.wanted)
        self.cursor = max(0, min(self.cursor, len(self.lines) - 1))

    def screen(self, columns: int, rows: int) -> list[ScreenLine]:
        """Return the lines of a screen of that size."""
        self.height = rows
        made = [*self.page_lines(columns, rows)] if self.pages else [*self.row_lines(columns, rows)]
        return [each._replace(text=cut(each.text, columns)) for each in made[:rows]]

    def row_lines(self, columns: int, rows: int) -> Iterator[ScreenLine]:
        """Yield the screen of rows."""
        head = [
            ScreenLine(self.headline(columns), bold=True),
            *self.finding_lines(columns),
            ScreenLine(self.tab_line()),
        ]
        yield from head
        fetches_text = self.folded_text(columns)
        room = max(rows - len(head) - 3 - bool(fetches_text), 1)  # headings, folded rows, omitted columns, keys
        first = max(0, min(self.cursor - room + 1, len(self.lines) - room)) if self.cursor >= room else 0
        tab = TABS[self.tab]
        shown = self.lines[first : first + room]
        cells = [line.as_row(tab.column) for line in shown]
        kept = [*dict.fromkeys((self.sort, SORTS[0]))]
        fitting, left_out = fitted_columns((tab.column,), cells, columns - 2, kept)
        table = [*column_lines(fitting, cells, columns - 2, below=False)]
        yield ScreenLine(f"  {table[0]}", bold=True)
        for place, text in enumerate(table[1:]):
            chosen = first + place == self.cursor
            colour = "red" if shown[place].load.errors else None
            yield ScreenLine(f"{'>' if chosen else ' '} {text}", colour, chosen=chosen)
        if not shown:
            yield ScreenLine("  nothing yet" if not self.wanted else f"  no name has {self.wanted!r}")
        for _ in range(room - max(len(shown), 1)):
            yield ScreenLine("")
        if fetches_text:
            yield ScreenLine(fetches_text)
        yield ScreenLine(cut(left_out_text(left_out), columns))
        yield ScreenLine(f"filter: {self.wanted}_" if self.typing else KEYS)

    def page_lines(self, columns: int, rows: int) -> Iterator[ScreenLine]:
        """Yield the screen of the opened row or exchange."""
        page = self.pages[-1]
        yield ScreenLine(page.title, bold=True)
        lines = page.make(columns - 2)
        head, body = lines[: page.headings], lines[page.headings : len(lines) - page.footings]
        foot = [text for text in lines[len(lines) - page.footings :] if text]
        room = max(rows - 2 - len(head) - len(foot), 1)
        page.cursor = max(0, min(page.cursor, len(body) - 1))
        yield from (ScreenLine(f"  {text}", bold=True) for text in head)
        first = max(0, min(page.cursor - room + 1 if page.exchanges else page.cursor, len(body) - room))
        for place, text in enumerate(body[first : first + room]):
            chosen = bool(page.exchanges) and first + place == page.cursor
            yield ScreenLine(f"{'>' if chosen else ' '} {text}", chosen=chosen)
        for _ in range(room - len(body[first : first + room])):
            yield ScreenLine("")
        yield from map(ScreenLine, foot)
        yield ScreenLine(OPEN_KEYS if page.exchanges else BACK_KEYS)

    def headline(self, columns: int) -> str:
        """Return the source, and the amount read."""
        seconds = self.figures.total_seconds() if self.whole else self.figures.latest_seconds()
        count = sum(line.load.exchanges for line in self.totals)
        state = "paused  " if self.paused else "ended  " if self.over else ""
        span = f"all {seconds:,.1f} s" if self.whole else f"latest {WINDOW_S:.0f} s"
        right = f"{state}{span}: {count / seconds:,.1f}/s to {counted(len(self.totals), 'broker')}"
        left = cut(f"kcli top  {self.source}", max(columns - width(right) - 2, 9))
        return f"{left}{' ' * max(columns - width(left) - width(right), 2)}{right}"

    def finding_lines(self, columns: int) -> Iterator[ScreenLine]:
        """Yield the gravest findings."""
        for each in self.findings[:MOST_FINDINGS]:
            word = each.severity.upper() if each.severity == "critical" else each.severity
            yield ScreenLine(cut(f"{word:8}  {each.finding}  {each.text}", columns), COLOURS[each.severity])
        if len(self.findings) > MOST_FINDINGS:
            yield ScreenLine(f"{counted_by_severity(self.findings)}: f shows all")
        if not self.findings:
            yield ScreenLine(self.nothing_found if self.judged else "findings: not judged yet")

    def tab_line(self) -> str:
        """Name the tabs, and how rows are chosen and sorted."""
        tabs = " ".join(f"[{tab.title}]" if place == self.tab else tab.title for place, tab in enumerate(TABS))
        order = f"{title_of(self.sort)}{' reversed' if self.reverse else ''}"
        return f"{tabs}   by {order}" + (f"   with {self.wanted!r}" if self.wanted else "")

    def folded_text(self, columns: int) -> str:
        """Return the line of folded rows."""
        rates = {kind: sum(line.values.get(kind) or 0 for line in self.totals) for kind in (IDLE, REPLICATION)}
        if not self.groups_fetches or not any(rates.values()):
            return ""
        return cut(
            f"folded: {rates[IDLE]:,.1f} Fetches/s without records, {rates[REPLICATION]:,.1f} of brokers (i unfolds)",
            columns,
        )

    # --- keys

    def key(self, key: str) -> bool:
        """Follow a key: a character, or "up", "down", "page up", "enter", "escape", ... Returns False to quit."""
        if key == "interrupt" or (key == "q" and not self.typing):
            return False
        if self.typing:
            self.type(key)
        elif key in MOVES:
            self.move(key)
        elif key == "enter":
            self.enter()
        elif key in ("escape", "backspace"):
            self.go_back()
        elif key == "?":
            self.pages.append(Page("keys", lambda _columns: [*HELP]))
        elif key == "f":
            self.pages.append(Page("findings", self.findings_text))
        elif not self.pages:
            self.choose(key)
        self.refresh()
        return True

    def type(self, key: str) -> None:
        """Add a character to the filter."""
        if key in ("enter", "escape"):
            self.typing = False
            self.wanted = "" if key == "escape" else self.wanted
        elif key == "backspace":
            self.wanted = self.wanted[:-1]
        elif len(key) == 1 and key.isprintable():
            self.wanted += key

    def choose(self, key: str) -> None:
        """Change the rows shown, and their form."""
        if key in ("tab", "back tab") or (key.isdecimal() and 0 < int(key) <= len(TABS)):
            step = {"tab": self.tab + 1, "back tab": self.tab - 1}.get(key)
            self.tab = int(key) - 1 if step is None else step % len(TABS)
            self.cursor = 0
        elif key in ("s", "S"):
            step = 1 if key == "s" else -1
            self.sort = SORTS[(SORTS.index(self.sort) + step) % len(SORTS)]
        elif key == "/":
            self.typing, self.wanted = True, ""
        else:
            name = {"r": "reverse", "i": "groups_fetches", "w": "whole", "p": "paused"}.get(key)
            if name is not None:
                setattr(self, name, not getattr(self, name))

    def move(self, key: str) -> None:
        """Move the cursor."""
        page = max(self.height - 8, 1)
        step = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -page, "page down": page}.get(key)
        target: Page | View = self.pages[-1] if self.pages else self
        target.cursor = (0 if key == "home" else 1 << 30) if step is None else max(0, target.cursor + step)

    def go_back(self) -> None:
        """Close the page, or else end the filter."""
        if self.pages:
            self.pages.pop()
        else:
            self.wanted = ""

    def enter(self) -> None:
        """Open the exchanges of the row, or the bytes of the exchange."""
        if not self.pages:
            if self.lines:
                self.open_row(self.lines[self.cursor].name)
        elif self.pages[-1].exchanges:
            page = self.pages[-1]
            exchange = page.exchanges[min(page.cursor, len(page.exchanges) - 1)]
            title = f"{exchange.api} v{exchange.version}, {exchange.outcome}"
            self.pages.append(Page(title, lambda columns: bytes_of(exchange, columns)))

    def open_row(self, name: str) -> None:
        """Open the latest exchanges of a row."""
        column = TABS[self.tab].column
        with self.figures.lock:
            wanted = wanted_by(self.figures, column, name)
        found = self.open(wanted)
        title = f"{column} {name}: the latest {len(found)} exchanges"
        last = max(len(found) - 1, 0)
        self.pages.append(Page(title, lambda columns: table_of(found, columns), found, 1, 1, cursor=last))

    def findings_text(self, columns: int) -> list[str]:
        """Return all findings in full."""
        found = self.findings if self.saved else [replace(each, see="") for each in self.findings]
        lines = [line for each in found for line in finding_lines(each, columns, colour=False, whole=True)]
        return lines or [self.nothing_found if self.judged else "not judged yet"]

    @property
    def nothing_found(self) -> str:
        """The line about checks without findings."""
        from kcli.rules.judgement import checks

        return f"{checks()} checks: nothing found"

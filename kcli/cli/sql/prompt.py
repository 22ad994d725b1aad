"""Queries typed one after another: a prompt with history and completion on a terminal, lines of a pipe without."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from kcli.cli.sql.results import list_lines, write_answer
from kcli.cli.terminal.console import is_terminal, terminal_room
from kcli.cli.terminal.lines import print_line, print_note
from kcli.cli.terminal.pager import page, stop_paging
from kcli.errors import KcliError, UsageError

if TYPE_CHECKING:
    from kcli.sql.engine import Engine

ENDS = (".quit", ".exit", "exit", "quit", "\\q")
SHOWN = (".tables", "\\d", "help", ".help", "?")
HELP = (
    "SELECT ...;           a query; on several lines until its ;",
    ".tables, \\d           the tables with their columns, questions and examples",
    ".schema [TABLE]       the columns of a table; the names of all",
    "help, ?               this",
    "exit, quit, \\q, Ctrl-D  the end; Ctrl-C interrupts a query",
    "Up and Down bring statements back, Tab completes words, tables and columns.",
)
FIRST, MORE = "kcli sql> ", "     ...> "
REMEMBERED = 1000  # lines
WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "ALL", "LIMIT", "HAVING", "DISTINCT", "COUNT", "SUM", "AVG",
    "MIN", "MAX", "ROUND", "QUANTILE_CONT", "AS", "AND", "OR", "NOT", "NULL", "IS", "IN", "LIKE", "DESC", "JOIN",
    "USING", "WITH", "DESCRIBE", "SUMMARIZE",
)  # fmt: skip


def prompt(engine: Engine, form: str, *, quiet: bool) -> None:
    """Answer queries until the end of input, `.quit`, or an error outside of a terminal. A query ends with `;`, or with
    its line if that is all of it. `.tables` lists the tables, `help` the commands.
    """
    typed = is_terminal(sys.stdin)
    stop_paging()
    if typed and not quiet:
        print_note("A query ends with `;`. `.tables` shows the tables, `help` more, `.quit` or Ctrl-D ends.")
    with line_editing(engine) if typed else contextlib.nullcontext():
        for query in queries(typed):
            try:
                with page():
                    answer(engine, query, form, quiet=quiet)
            except KcliError as error:
                if not typed:
                    raise
                print_note(f"kcli: {error}")
            except KeyboardInterrupt:
                if not typed:
                    raise
                print_note("interrupted")


def answer(engine: Engine, query: str, form: str, *, quiet: bool, escaped: bool = False) -> None:
    """Write the answer to an input. escaped: see `write_answer`. Raises UsageError."""
    word, _, name = query.partition(" ")
    if word in SHOWN:
        for line in HELP if word in ("help", ".help", "?") else list_lines(terminal_room()):
            print_line(line)
        return
    if word == ".schema":
        from kcli.sql.engine import quoted

        query = f"DESCRIBE {quoted(name.strip().rstrip(';'))}" if name.strip() else "SHOW TABLES"
    elif word.startswith("."):
        raise UsageError(f"{word}: no such command (help shows those that there are)")
    sys.stdout.flush()
    write_answer(engine, query, sys.stdout.buffer, form, room=terminal_room(), quiet=quiet, escaped=escaped)
    sys.stdout.buffer.flush()


def queries(typed: bool, lines: TextIO | None = None) -> Iterator[str]:
    """Yield whole queries out of lines: typed, of a file, or of standard input."""
    held: list[str] = []
    for text in read_lines(held, None if typed else lines or sys.stdin):
        command = text.rstrip(";").lower()
        if not held and command in ENDS:
            return
        if not held and (command in SHOWN or text.startswith(".")):
            yield command if command in SHOWN else text
            continue
        held += [text] if text else []
        if text.endswith(";"):
            if typed and len(held) > 1 and not any("--" in line for line in held):
                remember(" ".join(held), len(held))
            yield "\n".join(held)
            held.clear()
    if held:
        yield "\n".join(held)


def read_lines(held: list[str], lines: TextIO | None) -> Iterator[str]:
    """Yield lines without the space around them. held: those of the query so far, which Ctrl-C and Ctrl-D drop. lines:
    where they are read; None: they are typed.
    """
    while True:
        try:
            line = input(MORE if held else FIRST) if lines is None else lines.readline()
        except KeyboardInterrupt:
            print_line()
            held.clear()
            continue
        except EOFError:
            print_line()
            held.clear()
            return
        if lines is not None and not line:
            return
        yield line.strip()


def remember(statement: str, lines: int) -> None:
    """Keep a statement of several lines as one in the history, so that Up brings all of it."""
    with contextlib.suppress(ImportError):
        import readline

        for _ in range(min(lines, readline.get_current_history_length())):
            readline.remove_history_item(readline.get_current_history_length() - 1)
        readline.add_history(statement)


def completions(engine: Engine, start: str, before: str = "") -> list[str]:
    """Complete words of SQL, tables and columns; tables alone after FROM and JOIN. before: the text before the word."""
    tables = {name for name in (*engine.scans, *engine.views) if not name.startswith("_")}
    columns = {name for scan in engine.scans.values() for name in scan.schema.names}
    known = [*sorted({*tables, *columns}), *WORDS]
    if before.upper().split()[-1:] in (["FROM"], ["JOIN"]):
        known = sorted(tables)
    found = [each for each in known if each.lower().startswith(start.lower())]
    return [each.lower() if start and start.islower() else each for each in dict.fromkeys(found)]


@contextlib.contextmanager
def line_editing(engine: Engine) -> Iterator[None]:
    """Provide history, kept in the user's state folder, and completion with Tab; neither where Python
    has no readline.
    """
    try:
        import readline
    except ImportError:
        yield
        return
    path = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "kcli" / "sql_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(path)
    readline.set_completer_delims(" \t\n,()=<>!;'\"")

    def complete(start: str, number: int) -> str | None:
        before = readline.get_line_buffer()[: readline.get_begidx()]
        return [*completions(engine, start, before), None][number]

    readline.set_completer(complete)
    readline.parse_and_bind("tab: complete")
    try:
        yield
    finally:
        readline.set_completer(None)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            readline.set_history_length(REMEMBERED)
            readline.write_history_file(path)

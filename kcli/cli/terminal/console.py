"""Output of commands: the terminal's console, progress and warnings on stderr."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING

from kcli.cli.terminal.lines import print_note, unguarded
from kcli.cli.terminal.pager import when_paged
from kcli.errors import UsageError
from kcli.legible import legible

if TYPE_CHECKING:
    from kcli.cli.terminal.screen import Screen


def is_terminal(stream: IO[str]) -> bool:
    """Return whether the stream is a terminal."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def shows_colour(stream: IO[str]) -> bool:
    """Return whether text may have colours: on a terminal, or where FORCE_COLOR asks for them; NO_COLOR forbids it."""
    if "NO_COLOR" in os.environ:
        return False
    return is_terminal(stream) or os.environ.get("FORCE_COLOR", "0") not in ("", "0")


def terminal_width() -> int:
    """Return the cells of a line of the terminal of standard output or else standard error, or of COLUMNS; 120 if
    unknown.
    """
    width = 0
    with contextlib.suppress(ValueError):
        width = max(0, int(os.environ.get("COLUMNS", "")))
    for stream in filter(None, (sys.__stdout__, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):
            width = width or os.get_terminal_size(stream.fileno()).columns
    return width or 120


def terminal_room(output: str | None = None) -> int | None:
    """Return the cells of a line on standard output's terminal; None where the text goes to a pipe or to the file
    `output`.
    """
    return terminal_width() if output is None and is_terminal(sys.stdout) else None


def refuse_parquet_on_terminal(form: str | None, output: object) -> None:
    """Raise UsageError if a Parquet file would be written to a terminal."""
    if form == "parquet" and output is None and is_terminal(sys.stdout):
        raise UsageError("--format parquet needs -o OUT (or a pipe): it is not for a terminal")


def console(stderr: bool = False) -> Screen:
    """Return rich's console, which honours NO_COLOR; in a pipe it writes plain text and breaks no line."""
    from kcli.cli.terminal.screen import Screen

    stream = unguarded(sys.stderr if stderr else sys.stdout)
    made = Screen(file=stream, soft_wrap=not is_terminal(stream))
    if not is_terminal(stream) and "COLUMNS" not in os.environ:
        made.width = 10_000
    return made


def warn(text: str, quiet: bool = False) -> None:
    """Print one line on stderr about something odd that is no failure; on a terminal it is broken between words."""
    if not quiet:
        note(f"kcli: {text}")


def note_room() -> int | None:
    """Return the cells of a line on standard error's terminal; None if it is no terminal."""
    return terminal_width() if is_terminal(sys.stderr) else None


def note(text: str) -> None:
    """Print one line on stderr; on a terminal it is broken between words."""
    room = note_room()
    if room is None or len(text) <= room:
        print_note(text)
        return
    from kcli.cli.terminal.cells import wrap

    for part in wrap(text, room):
        print_note(part)


def has_bars() -> bool:
    """Return whether bars can be drawn: on a terminal, where no reader of standard output (`| head`) writes between
    them.
    """
    return is_terminal(sys.stderr) and not is_pipe(sys.stdout)


def is_pipe(stream: IO[str]) -> bool:
    """Return whether the stream is a pipe to another process."""
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def progress(total: int | None, label: str, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Show a bar of bytes on a terminal's stderr, nothing elsewhere; the function given takes the bytes done so far."""
    if quiet or not has_bars():
        yield lambda _done: None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        when_paged(bar.stop)
        task = bar.add_task(legible(label), total=total)
        yield lambda done: bar.update(task, completed=done)


@contextlib.contextmanager
def reading_progress(total: int | None, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """Show the same bar; the function given takes the bytes done since its last call."""
    done = 0
    with progress(total, "reading", quiet) as update:

        def moved(count: int) -> None:
            nonlocal done
            done += count
            update(done)

        yield moved

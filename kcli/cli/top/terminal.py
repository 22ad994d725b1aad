"""A terminal as a screen: keys one by one, and lines drawn over the ones before."""

import contextlib
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from typing import Self

from kcli.cli.terminal.console import is_terminal, shows_colour
from kcli.cli.terminal.lines import line_of, paint, unguarded
from kcli.cli.top.view import ScreenLine
from kcli.errors import UsageError

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # a screen of its own, without a cursor
HOME, REST_OF_LINE, REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"
NAMES = {
    "\r": "enter", "\n": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace", "\b": "backspace",
    "\x03": "interrupt", "\x04": "interrupt",
    "\x1b[A": "up", "\x1b[B": "down", "\x1bOA": "up", "\x1bOB": "down", "\x1b[5~": "page up", "\x1b[6~": "page down",
    "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1bOH": "home", "\x1bOF": "end",
    "\x1b[Z": "back tab",
}  # fmt: skip
MOST_KEYS = 1 << 10  # bytes that are read at once


class Terminal:
    """The terminal of standard output while it is open (`with`)."""

    def __init__(self) -> None:
        """Open the terminal. Raises UsageError: there is none."""
        if not is_terminal(sys.stdout):
            raise no_terminal()
        try:
            self.keys = os.open("/dev/tty", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            raise no_terminal() from None
        self.out = unguarded(sys.stdout)
        self.colour = shows_colour(sys.stdout)

    def __enter__(self) -> Self:
        self.before = termios.tcgetattr(self.keys)
        tty.setcbreak(self.keys, termios.TCSANOW)
        settings = termios.tcgetattr(self.keys)
        settings[3] &= ~termios.ISIG  # Ctrl-C is a key
        termios.tcsetattr(self.keys, termios.TCSANOW, settings)
        self.put(ENTER)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self.keys, termios.TCSANOW, self.before)
        with contextlib.suppress(OSError):
            self.put(LEAVE)
        os.close(self.keys)

    def put(self, text: str) -> None:
        """Write text as it is."""
        self.out.write(text)
        self.out.flush()

    def size(self) -> tuple[int, int]:
        """Return columns and rows."""
        try:
            found = os.get_terminal_size(self.out.fileno())
        except OSError:
            return 80, 24
        return max(found.columns, 20), max(found.lines, 6)

    def draw(self, lines: Sequence[ScreenLine]) -> None:
        """Show lines in place of the present ones."""
        texts = [self.painted(each) + REST_OF_LINE for each in lines]
        self.put(HOME + "\r\n".join(texts) + REST_OF_SCREEN)

    def painted(self, line: ScreenLine) -> str:
        """Return a line with its colour. Control characters in it are escaped."""
        if not self.colour:
            return line_of((line.text,))
        return paint(line.text, True, fg=line.colour, bold=line.bold or None, reverse=line.chosen or None)

    def pressed(self, seconds: float) -> Iterator[str]:
        """Yield the keys that are pressed within this time, by name. An end of the terminal counts as Ctrl-C."""
        if not select.select([self.keys], [], [], seconds)[0]:
            return
        try:
            data = os.read(self.keys, MOST_KEYS)
        except OSError:
            data = b""
        yield from keys_in(data.decode("utf-8", "ignore")) if data else ("interrupt",)


def keys_in(text: str) -> Iterator[str]:
    """Yield the names of keys."""
    at = 0
    while at < len(text):
        size = next((size for size in (4, 3, 1) if text[at : at + size] in NAMES), 1)
        key = text[at : at + size]
        if key == "\x1b" and text[at + 1 : at + 2] in ("[", "O"):  # an unknown key
            end = at + 2
            while end < len(text) and not text[end].isalpha() and text[end] != "~":
                end += 1
            at = end + 1
            continue
        at += size
        yield NAMES.get(key, key)


def no_terminal() -> UsageError:
    """Return the error of a command without a terminal."""
    return UsageError(
        "kcli top needs a terminal; elsewhere: kcli stats FILE --by client, kcli diagnose FILE, or figures of live "
        "traffic by kcli capture|proxy --metrics HOST:PORT"
    )

"""Lines of text: what commands show to people passes here, and nothing in it steers the terminal.

What bytes, servers and file names bring is escaped (see `kcli.legible`), in a pipe as on a terminal. A line that is
written stays one line, whatever its values hold; colours are only those of `paint`. `guard_streams` does the same for
whatever is written to sys.stdout and sys.stderr by other ways, line feeds and tabs aside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import IO, Any, BinaryIO, TextIO, cast

import click

from kcli.legible import legible, legible_lines

__all__ = ["Guarded", "Lines", "cut_line", "guard_streams", "paint", "print_line", "print_note", "unguarded"]

LONGEST_NOTE = 1200  # characters of a line on stderr: a server's error text may have 32 kB


class Painted(str):
    """Text with colours of kcli's own."""

    __slots__ = ()


def paint(text: str, colour: bool, **style: Any) -> str:
    """The text, escaped, in click's styles; plain where `colour` is False."""
    shown = legible(text)
    return Painted(click.style(shown, **style)) if colour else shown


def line_of(parts: Iterable[str]) -> str:
    return "".join([part if type(part) is Painted else legible(part) for part in parts]) + "\n"


class Lines:
    """Writes lines of text to where `open_output` leads."""

    __slots__ = ("out",)

    def __init__(self, out: BinaryIO) -> None:
        self.out = out

    def line(self, *parts: str) -> None:
        """One line, made of these parts; only those of `paint` may hold control characters."""
        self.out.write(line_of(parts).encode())


def print_line(*parts: str) -> None:
    """One line on standard output."""
    unguarded(sys.stdout).write(line_of(parts))


def print_note(*parts: str) -> None:
    """One line on standard error, of a bounded length."""
    unguarded(sys.stderr).write(cut_line(line_of(parts)[:-1]) + "\n")


def cut_line(text: str) -> str:
    """The text, cut behind LONGEST_NOTE characters."""
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}… ({len(text):,} characters)"


class Guarded:
    """A text stream that escapes all control characters but line feed and tab; in all else the stream it is given."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(legible_lines(text))
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def unguarded(stream: IO[str]) -> IO[str]:
    """The stream behind a guard, for text that was made legible before, and colours of kcli's own."""
    return stream.stream if isinstance(stream, Guarded) else stream


def guard_streams() -> Callable[[], None]:
    """Guard sys.stdout and sys.stderr; the function returned takes the guards away."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (each and cast(TextIO, Guarded(unguarded(each))) for each in before)

    def restore() -> None:
        sys.stdout, sys.stderr = before

    return restore

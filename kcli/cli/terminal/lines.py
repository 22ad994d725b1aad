"""Lines of text: the output of commands for people passes here, so that no value can control the terminal. Characters
from bytes, servers and file names are escaped (see `kcli.legible`), in a pipe as on a terminal. A line stays one line,
whatever its values; colours are only those of `paint`. `guard_streams` does the same for other writes to sys.stdout and
sys.stderr, except for line feeds and tabs.
"""

import io
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any, BinaryIO, TextIO, cast

import click

from kcli.legible import legible, legible_lines, without_logins

AT_ONCE = 256  # lines
LONG_LINE = 1 << 16  # characters; lines of 60 MB that wait for others would fill the memory
LONG_CELL = 1 << 20  # characters of a cell of CSV
LONGEST_NOTE = 1200  # characters of a line on stderr: a server's error text may have 32 kB

held_notes: list[str] | None = None  # None: nothing holds them


class Painted(str):
    """Text with colours of kcli's own."""

    __slots__ = ()


def paint(text: str, colour: bool, **style: Any) -> str:
    """Escape the text and style it with click; return it as it is where `colour` is False: the writer of the line
    escapes it.
    """
    return Painted(click.style(legible(text), **style)) if colour else text


def line_of(parts: tuple[str, ...]) -> str:
    """Join the parts of a line; unpainted parts are made legible."""
    text = parts[0] if len(parts) == 1 else "".join(parts)
    if text.isprintable():
        return text
    return "".join([part if type(part) is Painted else legible(part) for part in parts])


def joined(*parts: str) -> str:
    """Return the parts of a line as one text that keeps the colours of `paint`; the other parts are escaped."""
    return Painted(line_of(parts)) if any(type(part) is Painted for part in parts) else "".join(parts)


def csv_line(values: Iterable[Any]) -> str:
    """Format a row of CSV, without a line's end.

    A long text is quoted here: csv.writer takes four bytes of memory for each of its characters.
    """
    import csv

    cells = [*values]
    if any(map(is_long, cells)):
        return ",".join(quoted(cell) if is_long(cell) else csv_line([cell, ""])[:-1] for cell in cells)
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(cells)
    return text.getvalue()


def is_long(cell: Any) -> bool:
    return isinstance(cell, str) and len(cell) > LONG_CELL


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


class Lines:
    """Writes lines of text to where `open_output` leads."""

    __slots__ = ("waiting", "write")

    def __init__(self, out: BinaryIO) -> None:
        self.write = out.write
        self.waiting: list[str] = []

    def later(self, text: str) -> None:
        """Write one line later: with others when there are many, with the next `line`, or by `flush`. A long one does
        not wait.
        """
        self.waiting.append(text)
        if len(self.waiting) == AT_ONCE or len(text) > LONG_LINE:
            self.flush()

    def flush(self) -> None:
        """Write the buffered lines."""
        texts, self.waiting = self.waiting, []
        self.put(texts)

    def line(self, *parts: str) -> None:
        """Write one line, made of these parts; only those of `paint` may hold control characters."""
        if self.waiting:
            self.flush()
        self.write(f"{line_of(parts)}\n".encode())

    def lines(self, texts: Iterable[str]) -> None:
        """Write a line for each text; many at once where all of them are plain. Lines before an error are written."""
        try:
            for text in texts:
                self.later(text)
        finally:
            self.flush()

    def put(self, texts: list[str]) -> None:
        """Write texts, a line each."""
        if not texts:
            return
        if not "".join(texts).isprintable():
            texts = [line_of((text,)) for text in texts]
        self.write(("\n".join(texts) + "\n").encode())


def print_line(*parts: str) -> None:
    """Print one line on standard output."""
    unguarded(sys.stdout).write(f"{line_of(parts)}\n")


def print_note(*parts: str) -> None:
    """Print one line on standard error, of a bounded length; while a pager has the terminal, it waits."""
    line = f"{cut_line(without_logins(line_of(parts)))}\n"
    if held_notes is None:
        unguarded(sys.stderr).write(line)
    else:
        held_notes.append(line)


def print_note_now(text: str) -> None:
    """Print a note at once."""
    print_note(text)
    sys.stderr.flush()


def ignore(_text: str) -> None:
    """Ignore a note."""


def hold_notes() -> None:
    """Hold notes back until `release_notes` is called."""
    global held_notes
    held_notes = []


def release_notes() -> None:
    """Write the notes that were held back."""
    global held_notes
    waiting, held_notes = held_notes or [], None
    unguarded(sys.stderr).writelines(waiting)


def cut_line(text: str) -> str:
    """Cut the text after LONGEST_NOTE characters."""
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}… ({len(text):,} characters)"


class Guarded:
    """A text stream that escapes all control characters but line feed and tab; in all else the stream it is given."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text, escaped. Returns the number of its characters."""
        self.stream.write(legible_lines(text))
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write each text, escaped."""
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def unguarded(stream: IO[str]) -> IO[str]:
    """Return the stream behind a guard, for text that was made legible before, and colours of kcli's own."""
    return stream.stream if isinstance(stream, Guarded) else stream


def guard_streams() -> Callable[[], None]:
    """Guard sys.stdout and sys.stderr; the function returned takes the guards away."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (each and cast(TextIO, Guarded(unguarded(each))) for each in before)

    def restore() -> None:
        sys.stdout, sys.stderr = before

    return restore


def without_formula(value: Any) -> Any:
    """Return a cell of CSV that a spreadsheet does not take for a formula: texts that begin as one get a quote in
    front.
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value

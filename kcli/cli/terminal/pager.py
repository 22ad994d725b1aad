"""Pages a command's output on a terminal once it is longer than that: with PAGER, or less."""

import contextlib
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, cast

from kcli.cli.terminal.lines import Guarded, hold_notes, release_notes
from kcli.cli.terminal.streams import STANDARD_OUTPUT, STDOUT, text
from kcli.named_file import NamedFile

if TYPE_CHECKING:
    import subprocess

LESS = "FRX"  # quit where one screen is enough, show colours, leave the text on the screen
MOST_HELD = 1 << 20  # bytes before a pager begins, however few lines they make
NONE = ("", "cat")  # values of PAGER that ask for no pager


class PagedFile(NamedFile):
    """Standard output on a terminal: a screenful is held until the end, and goes to a pager if more comes. at_start:
    called when the pager takes the terminal.
    """

    def __init__(self, rows: int, words: list[str]) -> None:
        super().__init__(STDOUT, STANDARD_OUTPUT, closefd=False)
        self.rows, self.words = rows, words
        self.held: bytearray | None = None
        self.lines = 0
        self.pager: subprocess.Popen[bytes] | None = None
        self.was_left = False  # before it had all
        self.at_start: list[Callable[[], object]] = []

    def hold(self) -> None:
        """Hold output and notes, until a pager is needed or `end` is called."""
        self.held, self.lines = bytearray(), 0
        if sys.stderr.isatty():
            hold_notes()

    def write(self, data: Any) -> int:
        """Hold data, or hand it on. Raises BrokenPipeError if the pager has ended."""
        if self.held is None:
            self.put(data)
        else:
            self.held += data
            self.lines += bytes(data).count(b"\n")
            if self.lines >= self.rows or len(self.held) > MOST_HELD:
                self.start()
        return memoryview(data).nbytes

    def write_some(self, pieces: list[memoryview]) -> int:
        return self.write(pieces[0])

    def put(self, data: Any) -> None:
        """Write all of it to the pager, or to the terminal where there is none."""
        if self.was_left:
            return
        if self.pager is not None and self.pager.stdin is not None:
            try:
                self.pager.stdin.write(data)
                self.pager.stdin.flush()
            except BrokenPipeError:
                self.was_left = True
                raise
            return
        rest = memoryview(data)
        while rest:
            rest = rest[super().write(rest) :]

    def start(self) -> None:
        """Start the pager with the held output; continue without one if it can't start."""
        import subprocess

        for call in self.at_start:
            call()
        with contextlib.suppress(OSError):
            self.pager = subprocess.Popen(
                self.words, stdin=subprocess.PIPE, env={"LESS": LESS, "LESSCHARSET": "utf-8"} | os.environ
            )
        self.release()

    def release(self) -> None:
        """Write the held output, and hold no more."""
        held, self.held = self.held, None
        if held:
            self.put(held)

    def end(self) -> None:
        """Write the held output, or wait until the pager is left; then write the notes."""
        if self.held is not None:
            self.release()
        if self.pager is not None and self.pager.stdin is not None:
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's
            try:
                with contextlib.suppress(BrokenPipeError):
                    self.pager.stdin.close()
                self.pager.wait()
            finally:
                signal.signal(signal.SIGINT, before)
                self.pager = None
        release_notes()


current: PagedFile | None = None


@contextlib.contextmanager
def paging() -> Iterator[None]:
    """Page standard output if it is a terminal, and standard input is one for the pager's keys."""
    global current
    rows = terminal_rows()
    words = pager_words() if rows else []  # a start without a terminal is spared the search for a pager
    if current is not None or not words or not rows:
        yield
        return
    before = sys.stdout
    before.flush()
    current = file = PagedFile(rows, words)
    file.hold()
    made = text(io.BufferedWriter(file), before, line_buffering=True)
    sys.stdout = cast(TextIO, Guarded(made))
    try:
        yield
        made.flush()
    finally:
        with contextlib.suppress(OSError):
            made.flush()
        sys.stdout, current = before, None
        file.end()


def pager_words() -> list[str]:
    """Return the pager's command; nothing if no pager is wanted or installed."""
    import shlex
    import shutil

    if "PAGER" in os.environ:
        words = shlex.split(os.environ["PAGER"]) if os.environ["PAGER"] not in NONE else []
    else:
        words = ["less"]
    return words if words and shutil.which(words[0]) else []


def terminal_rows() -> int:
    """Return the lines of the terminal that both standard input and output are; 0 where one of them is none."""
    with contextlib.suppress(OSError, ValueError):
        if sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
            return os.get_terminal_size(STDOUT).lines
    return 0


def stop_paging() -> None:
    """Write the held output, and page no more, except by `page`: a question follows."""
    if current is not None:
        sys.stdout.flush()
        current.end()


@contextlib.contextmanager
def page() -> Iterator[None]:
    """Page the output of this block alone, if paging is on; leaving the pager early ends only the block."""
    file = current
    if file is None or file.held is not None:
        yield
        return
    file.hold()
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        if not file.was_left:
            raise
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        file.end()
        file.was_left = False


def when_paged(call: Callable[[], object]) -> None:
    """Register a function to call when a pager takes the terminal: other writers to it have to stop."""
    if current is not None:
        current.at_start.append(call)

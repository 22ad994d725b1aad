"""`decode pcap --jobs`: lines of JSON that several processes make in turn, byte for byte those that one would make.

The processes are forks of this one, which reads all as they do, writes the lines of its own turns, and between these
copies theirs. They hand them over in memory: two turns each at most.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import stat
import struct
import tempfile
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from kcli.capture.turns import TurnDecoder
from kcli.core import COMPILED
from kcli.errors import InputError

__all__ = ["SharedDecoder", "most_jobs"]

TURN = 1 << 20  # bytes of messages whose lines a process writes in a turn
PIECE = 1 << 20  # bytes written at once
SUMS = struct.Struct("=qq")  # bytes of a turn's text, exchanges that have passed the filter so far

Write = Callable[[memoryview], Any]


def most_jobs(files: Sequence[str]) -> int:
    """How many processes can share these files: one where a file can be read only once, or there is no core."""
    if not COMPILED or not hasattr(os, "fork"):
        return 1
    plain = all(name != "-" and stat.S_ISREG(Path(name).stat().st_mode) for name in files if Path(name).exists())
    return 64 if plain and "-" not in files else 1


class SharedDecoder(TurnDecoder):
    """A capture whose lines other processes help to make. jobs: how many there are, with this one."""

    def __init__(self, *paths: Any, jobs: int, **options: Any) -> None:
        super().__init__(*paths, **options)
        self.jobs = jobs
        self.helpers: list[Helper] = []

    def lines(
        self,
        write: Write,
        moved: Callable[[int], None] = lambda count: None,
        flush: Callable[[], None] | None = None,
    ) -> None:
        """As `CaptureDecoder.lines`. InputError, too, where another process ended early."""
        self.write, self.on_turn = write, self.pass_on
        try:
            for number in range(1, self.jobs):
                self.helpers.append(Helper(self, number))
            self.engine.take_turns(0, self.jobs, TURN)
            try:
                super().lines(write, moved, flush)
            except InputError:  # what could be read has been
                self.pass_on(self.engine.turn)
                raise
            self.pass_on(self.engine.turn)
        finally:
            for helper in self.helpers:
                helper.stop()

    def pass_on(self, number: int) -> None:
        """Write what the process of that number has made in its turn, which is over."""
        if number:
            self.helpers[number - 1].pass_on(self.write)
        else:
            self.engine.drain_text(self.write)

    def help(self, number: int, turns: TurnWriter) -> None:
        """Make the lines of the turns of that number; what is wrong with the input, the first process says."""

        def hand_over(ended: int) -> None:
            if ended == number:
                self.engine.drain_text(turns.write)
                turns.end(super(SharedDecoder, self).passed)

        self.on_turn = hand_over
        self.engine.take_turns(number, self.jobs, TURN)
        with contextlib.suppress(InputError):
            super().lines(turns.write)
        turns.end(super().passed)

    @property
    def passed(self) -> int:
        """As `CaptureDecoder.passed`, of all processes."""
        return super().passed + sum(helper.exchanges for helper in self.helpers)


class TurnWriter:
    """Where another process puts the text of its turns: in two files by turns, their sizes in a pipe.

    reads: a pipe with a byte for each turn that was read.
    """

    def __init__(self, texts: Sequence[int], sizes: int, reads: int) -> None:
        self.texts, self.sizes, self.reads = texts, sizes, reads
        self.made = self.read = 0  # turns
        self.size = 0  # bytes of this one

    def write(self, text: memoryview) -> None:
        """Put a part of a turn's text. BrokenPipeError: nobody reads any more."""
        file = self.texts[self.made % len(self.texts)]
        if not self.size:
            while self.read <= self.made - len(self.texts):
                if not os.read(self.reads, 1):
                    raise BrokenPipeError
                self.read += 1
            os.lseek(file, 0, os.SEEK_SET)
        done = 0
        while done < len(text):
            done += os.write(file, text[done:])
        self.size += done

    def end(self, exchanges: int) -> None:
        """The turn is over. exchanges: that have passed the filter so far."""
        os.write(self.sizes, SUMS.pack(self.size, exchanges))
        self.made += 1
        self.size = 0


class Helper:
    """Another process, and what it hands over. exchanges: that passed the filter there."""

    def __init__(self, source: SharedDecoder, number: int) -> None:
        self.files = [memory_file() for _ in range(2)]
        self.maps: list[mmap.mmap | None] = [None, None]
        self.sizes, sizes = os.pipe()
        reads, self.reads = os.pipe()
        self.turns = self.exchanges = 0
        self.pid = os.fork()
        if not self.pid:
            os.close(self.sizes)
            os.close(self.reads)
            be_helper(source, number, TurnWriter([file.fileno() for file in self.files], sizes, reads))
        os.close(sizes)
        os.close(reads)

    def pass_on(self, write: Write) -> None:
        """Write the text of its next turn. InputError: it has ended."""
        size, self.exchanges = self.next_sums()
        if size:
            with memoryview(self.text(self.turns % len(self.files), size)) as view:
                for at in range(0, size, PIECE):
                    write(view[at : min(at + PIECE, size)])
        self.turns += 1
        with contextlib.suppress(BrokenPipeError):  # it has nothing more to do
            os.write(self.reads, b"\0")

    def text(self, number: int, size: int) -> mmap.mmap:
        """One of the files, of so many bytes at least, as memory."""
        known = self.maps[number]
        if known is None or len(known) < size:
            known = self.maps[number] = mmap.mmap(self.files[number].fileno(), 0, access=mmap.ACCESS_READ)
        return known

    def next_sums(self) -> tuple[int, int]:
        """Its next turn's SUMS, when that is over."""
        found = b""
        while len(found) < SUMS.size:
            more = os.read(self.sizes, SUMS.size - len(found))
            if not more:
                raise InputError("--jobs: a process ended too early (an input that changes while it is read?)")
            found += more
        size, exchanges = SUMS.unpack(found)
        return size, exchanges

    def stop(self) -> None:
        """End it, whatever it is doing."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for file in self.files:
            file.close()
        os.close(self.sizes)
        os.close(self.reads)


def memory_file() -> BinaryIO:
    """A file that nobody else sees, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kcli-lines"), "w+b", 0)
    return tempfile.TemporaryFile(buffering=0)


def be_helper(source: SharedDecoder, number: int, turns: TurnWriter) -> NoReturn:
    """All that a forked process does; nothing of the first one's runs in it, and nothing is written twice."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        source.help(number, turns)
        code = 0
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the first process ends, too
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)

"""`decode pcap --jobs`: lines of JSON that several processes make, byte for byte those that one would make.

The processes are forks of this one. Each reads all packets and makes the lines of its share of the connections; they
hand over the lines of one stretch of the capture after another, in memory, and this one puts them in order. Where they
share more than they can tell each other (see `ShareDecoder`), this one goes on alone: it begins again, and leaves out
what was written already.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import struct
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, BinaryIO

from kcli.capture.exchanges import CaptureDecoder
from kcli.capture.shares import Counts, ShareDecoder
from kcli.cli.processes import fork_to, read_all, read_packed, stop, write_packed
from kcli.errors import InputError

__all__ = ["SharedDecoder"]

AHEAD = 4  # stretches that a process may be ahead
LARGE = 1 << 25  # bytes of lines: whoever has more at once is not ahead
SIZES = struct.Struct("=4q?")  # bytes of text, marks, names and counts; whether too much is shared

Write = Callable[[memoryview], Any]


class TooMuchSharedError(Exception):
    """The lines can only be made by one process."""


class SharedDecoder(ShareDecoder):
    """A capture whose lines other processes help to make. jobs: how many there are, with this one."""

    def __init__(self, *paths: Any, jobs: int, **options: Any) -> None:
        super().__init__(*paths, **options)
        self.jobs = jobs
        self.helpers: list[Helper] = []
        self.new_decoder = partial(CaptureDecoder, *paths, text=True, **options)

    def lines(
        self,
        write: Write,
        moved: Callable[[int], None] = lambda count: None,
        flush: Callable[[], None] | None = None,
    ) -> None:
        """As `CaptureDecoder.lines`. InputError, too, where another process ended early."""
        out = CountedOutput(write)
        try:
            self.write_together(out.write, moved)
        except TooMuchSharedError:
            self.write_alone(CountedOutput(write, skipped=out.size).write, moved)

    def write_together(self, write: Write, moved: Callable[[int], None]) -> None:
        """Write the lines that all make. TooMuchSharedError: they can't go on."""
        from kcli.core.capture.line_merger import LineMerger

        self.merger = LineMerger(write)
        try:
            for number in range(1, self.jobs):
                self.helpers.append(Helper(self, number))
            self.take_share(0, self.jobs)
            with contextlib.closing(self.stretches(moved)) as stretches:
                try:
                    for _ in stretches:
                        self.merge()
                except InputError:  # what could be read has been
                    self.merge()
                    raise
                self.merge()
        finally:
            for helper in self.helpers:
                helper.stop()
                if helper.counts is not None:
                    self.include(helper.counts)

    def merge(self) -> None:
        """Write the lines of a stretch. TooMuchSharedError."""
        parts = [helper.next_part() for helper in self.helpers]
        if self.engine.order.exceeded or any(helper.exceeded for helper in self.helpers):
            raise TooMuchSharedError
        learnt: list[bytes | None] = []
        self.engine.order.take(lambda *own: learnt.append(self.merger.merge([own, *parts])))
        if learnt[0] is None:
            raise TooMuchSharedError
        for helper in self.helpers:
            helper.answer(learnt[0])
        self.bodies.names.take_in(learnt[0])

    def write_alone(self, write: Write, moved: Callable[[int], None]) -> None:
        """Write all lines, made here."""
        decoder = self.new_decoder()
        try:
            decoder.lines(write, moved)
        finally:
            self.engine, self.tally, self.kept = decoder.engine, decoder.tally, decoder.kept

    def help(self, number: int, outlet: Outlet) -> None:
        """Make the lines of that process's share; what is wrong with the input, the first process says."""
        self.take_share(number, self.jobs)
        with contextlib.suppress(InputError):
            for _ in self.stretches():
                outlet.put(self)
        outlet.put(self)


class CountedOutput:
    """Counts what it writes, in `size`. skipped: so many bytes at the start are not written."""

    def __init__(self, write: Write, skipped: int = 0) -> None:
        self.write_on, self.skipped, self.size = write, skipped, 0

    def write(self, text: memoryview) -> None:
        """Write a piece of text."""
        rest = text[max(0, self.skipped - self.size) :]
        self.size += len(text)
        if len(rest):
            self.write_on(rest)


class Outlet:
    """Where another process puts its lines: in files by turns, their sizes in a pipe.

    answers: a pipe with the names of topics that others have learnt, for each stretch that was written.
    """

    def __init__(self, files: Sequence[int], sizes: int, answers: int) -> None:
        self.rooms = [SharedMemory(file, writable=True) for file in files]
        self.sizes, self.answers = sizes, answers
        self.made = self.answered = 0  # stretches

    def put(self, source: ShareDecoder) -> None:
        """Put the lines of the next stretch. BrokenPipeError: nobody reads any more."""
        counts = pickle.dumps(source.share_counts)
        names = source.bodies.names

        def put_parts(*parts: memoryview) -> None:
            sizes = [*map(len, parts), len(counts)]
            while self.made - self.answered >= (1 if sum(sizes) > LARGE else len(self.rooms)):
                names.take_in(self.next_answer())
            room, end = self.rooms[self.made % len(self.rooms)].bytes(sum(sizes)), 0
            for part in (*parts, memoryview(counts)):
                start, end = end, end + len(part)
                room[start:end] = part
            os.write(self.sizes, SIZES.pack(*sizes, source.engine.order.exceeded))
            self.made += 1

        source.engine.order.take(put_parts)

    def next_answer(self) -> bytes:
        """The names of topics that came with the next answer. BrokenPipeError."""
        self.rooms[self.answered % len(self.rooms)].shrink()
        self.answered += 1
        return read_packed(self.answers)


class SharedMemory:
    """A file as memory: as much of it as was asked for."""

    def __init__(self, file: int, *, writable: bool = False) -> None:
        self.file, self.writable = file, writable
        self.map: mmap.mmap | None = None

    def bytes(self, size: int) -> mmap.mmap:
        """So many bytes at least, which are there; whoever writes makes them."""
        if self.map is None or len(self.map) < size:
            if self.writable:
                os.ftruncate(self.file, size + size // 4)
            self.map = mmap.mmap(self.file, 0, access=mmap.ACCESS_WRITE if self.writable else mmap.ACCESS_READ)
        return self.map

    def shrink(self) -> None:
        """Let go of what is more than is mostly needed."""
        if self.map is not None and len(self.map) > LARGE:
            self.map = None
            os.ftruncate(self.file, 0)


class Helper:
    """Another process, and what it hands over. counts: what it has counted; exceeded: too much is shared."""

    def __init__(self, source: SharedDecoder, number: int) -> None:
        self.files = [memory_file() for _ in range(AHEAD)]
        self.rooms = [SharedMemory(file.fileno()) for file in self.files]
        self.sizes, sizes = os.pipe()
        answers, self.answers = os.pipe()
        self.read = 0  # stretches
        self.counts: Counts | None = None
        self.exceeded = False
        outlet = Outlet([file.fileno() for file in self.files], sizes, answers)
        self.pid = fork_to(lambda: source.help(number, outlet), (self.sizes, self.answers))
        os.close(sizes)
        os.close(answers)

    def next_part(self) -> tuple[memoryview, memoryview, memoryview]:
        """Its part of the next stretch: text, marks, names. InputError: it has ended."""
        try:
            *sizes, self.exceeded = SIZES.unpack(read_all(self.sizes, SIZES.size))
        except BrokenPipeError:
            raise InputError("--jobs: a process ended too early (an input that changes while it is read?)") from None
        data = memoryview(self.rooms[self.read % len(self.rooms)].bytes(sum(sizes)))
        ends = list(accumulate(sizes, initial=0))
        text, marks, names, counts = (data[start:end] for start, end in pairwise(ends))
        self.counts = pickle.loads(counts)
        self.read += 1
        return text, marks, names

    def answer(self, learnt: bytes) -> None:
        """Let it use the file of the oldest stretch again, and know names of topics."""
        with contextlib.suppress(BrokenPipeError):  # it has nothing more to do
            write_packed(self.answers, learnt)

    def stop(self) -> None:
        """End it, whatever it is doing."""
        stop(self.pid)
        for file in self.files:
            file.close()
        os.close(self.sizes)
        os.close(self.answers)


def memory_file() -> BinaryIO:
    """A file that nobody else sees, in memory where the system has such."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kcli-lines"), "w+b", 0)
    return tempfile.TemporaryFile(buffering=0)

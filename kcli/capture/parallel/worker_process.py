"""A worker process that reads a share of a capture, and its messages.

It is a fork of the first process, which deals out segments to it in shared memory, a stretch of the capture at a time;
the worker returns its output the same way. Pipes carry only sizes, so that a signal never cuts a message.
"""

from __future__ import annotations

import enum
import mmap
import os
import pickle
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kcli.capture.parallel.processes import fork_to, read_all, read_packed, stop, write_packed
from kcli.errors import InputError
from kcli.temporary import temporary_file

if TYPE_CHECKING:
    from kcli.core.capture.line_order import LineOrder

AHEAD = 4  # most stretches at a time
LARGE = 1 << 24  # bytes of output for a stretch; larger output waits for its turn, in a file
MESSAGE = struct.Struct("=Bqq")  # a Task; bytes of segments, and of the topic names after them
SIZES = struct.Struct("=3q?q?")  # bytes of text, marks, names; whether they are in the file; spent, exceeded


class Task(enum.IntEnum):
    """The messages of the first process to a worker."""

    READ = 0  # read a stretch
    FINISH = 1  # read the last stretch
    TAKEN = 2  # the output for the oldest stretch was taken
    STOP = 3  # stop at once


class Stretch(NamedTuple):
    """Segments from `SegmentDealer`, and a log of topic names that other processes learned."""

    segments: memoryview
    names: bytes
    last: bool


class WorkerOutput(NamedTuple):
    """The output of a process for a stretch, from `LineOrder.take`.

    spent: processor time of the process until then, in ns. exceeded: it holds more than its part of the memory.
    """

    text: memoryview
    marks: memoryview
    names: memoryview
    spent: int
    exceeded: bool


class StoppedError(Exception):
    """The worker has to stop."""


class Helper:
    """A worker process, as the first process uses it. Its methods raise InputError if it has ended early."""

    def __init__(self, help_out: Callable[[Desk], None], room: int) -> None:
        """Start a worker. help_out: its work. room: the most bytes of segments in a stretch."""
        self.rooms, self.texts = rooms_of(room), rooms_of(LARGE)
        self.file = memory_file()
        messages, self.messages = os.pipe()
        self.sizes, sizes = os.pipe()
        self.results, results = os.pipe()
        self.dealt = self.taken = 0  # stretches
        self.is_asked = False
        desk = Desk(self.rooms, self.texts, self.file.fileno(), messages, sizes, results)
        self.pid = fork_to(lambda: help_out(desk), (self.messages, self.sizes, self.results))
        for pipe in (messages, sizes, results):
            os.close(pipe)

    @property
    def room(self) -> mmap.mmap:
        """The buffer for the segments of the next stretch."""
        return self.rooms[self.dealt % AHEAD]

    def deal(self, size: int, names: bytes, *, last: bool) -> None:
        """Send the buffer in `room` to the worker. Raises ValueError if the names have no room after the segments."""
        memoryview(self.room)[size : size + len(names)] = names
        self.tell(Task.FINISH if last else Task.READ, size, len(names))
        self.dealt += 1

    def take(self) -> WorkerOutput:
        """Return the output of the oldest stretch; it is valid until `let_go`."""
        try:
            *sizes, large, spent, exceeded = SIZES.unpack(read_all(self.sizes, SIZES.size))
        except BrokenPipeError:
            raise ended_early() from None
        room = self.texts[self.taken % AHEAD]
        if large:
            room = mmap.mmap(self.file.fileno(), sum(sizes), access=mmap.ACCESS_READ)
        return part_of(room, sizes, spent, exceeded=exceeded)

    def let_go(self) -> None:
        """Free the memory of the oldest stretch for the worker."""
        self.taken += 1
        self.tell(Task.TAKEN)

    def result(self, *, whole: bool) -> Any:
        """Return the worker's final report, None if it was taken before. whole: it read its entire share."""
        if self.is_asked:
            return None
        if not whole:
            self.tell(Task.STOP)
        self.is_asked = True
        try:
            return pickle.loads(read_packed(self.results))
        except BrokenPipeError:
            raise ended_early() from None

    def tell(self, task: Task, *sizes: int) -> None:
        """Send a message."""
        try:
            os.write(self.messages, MESSAGE.pack(task, *(sizes or (0, 0))))
        except BrokenPipeError:
            if task is not Task.TAKEN:  # the worker may have ended after the last stretch
                raise ended_early() from None

    def stop(self) -> None:
        """End the worker at once."""
        stop(self.pid)
        self.file.close()
        for pipe in (self.messages, self.sizes, self.results):
            os.close(pipe)


class Desk:
    """The worker's side: it receives stretches and returns output.

    rooms: shared memory for segments; texts: shared memory for output. file: for output that is too large. messages,
    sizes, results: pipes.
    """

    def __init__(
        self,
        rooms: Sequence[mmap.mmap],
        texts: Sequence[mmap.mmap],
        file: int,
        messages: int,
        sizes: int,
        results: int,
    ) -> None:
        self.rooms, self.texts, self.file = rooms, texts, file
        self.messages, self.sizes, self.results = messages, sizes, results
        self.dealt: deque[tuple[Task, int, int]] = deque()
        self.made = self.taken = 0  # stretches
        self.is_filed = False  # whether the last output is in the file

    def stretches(self, order: LineOrder) -> Iterator[Stretch]:
        """Yield the stretches dealt out; call `put` for each. Raises StoppedError, or BrokenPipeError if the first
        process has ended.
        """
        task = Task.READ
        while task is Task.READ:
            while not self.dealt:
                self.read_message()
            task, size, names = self.dealt.popleft()
            place = self.made % len(self.rooms)  # the place is free, or the stretch would not have been dealt out
            order.open(self.texts[place])
            room = memoryview(self.rooms[place])
            yield Stretch(room[:size], bytes(room[size : size + names]), task is Task.FINISH)

    def put(self, order: LineOrder) -> None:
        """Return the output for a stretch. Raises StoppedError, or BrokenPipeError if the first process no longer
        reads.
        """
        sizes = order.close()
        if sizes is None:
            order.take(partial(self.put_large, order.exceeded))
        else:
            self.say(sizes, large=False, exceeded=order.exceeded)

    def put_large(self, exceeded: bool, *parts: memoryview) -> None:
        """Write a large output into the file, once all earlier ones have been taken."""
        while self.made > self.taken:
            self.read_message()
        sizes = [*map(len, parts)]
        os.ftruncate(self.file, sum(sizes))
        with mmap.mmap(self.file, sum(sizes)) as room:
            for part in parts:
                room.write(part)
        self.is_filed = True
        self.say(sizes, large=True, exceeded=exceeded)

    def say(self, sizes: Sequence[int], *, large: bool, exceeded: bool) -> None:
        """Send the sizes of an output to the first process. large: it is in the file."""
        os.write(self.sizes, SIZES.pack(*sizes, large, time.process_time_ns(), exceeded))
        self.made += 1

    def read_message(self) -> None:
        """Read one message. Raises StoppedError."""
        number, size, names = MESSAGE.unpack(read_all(self.messages, MESSAGE.size))
        task = Task(number)
        if task is Task.STOP:
            raise StoppedError
        if task is not Task.TAKEN:
            self.dealt.append((task, size, names))
            return
        self.taken += 1
        if self.is_filed:
            os.ftruncate(self.file, 0)
            self.is_filed = False

    def give(self, result: Any) -> None:
        """Send the final report to the first process."""
        write_packed(self.results, pickle.dumps(result))


def rooms_of(size: int) -> list[mmap.mmap]:
    """Allocate memory that forks share; unused pages take no memory."""
    return [mmap.mmap(-1, size) for _ in range(AHEAD)]


def part_of(room: mmap.mmap | bytes, sizes: Sequence[int], spent: int, *, exceeded: bool = False) -> WorkerOutput:
    """Return an output from a buffer, with the sizes of `LineOrder.close`."""
    data = memoryview(room)
    text, marks, names = (data[start:end] for start, end in pairwise(accumulate(sizes, initial=0)))
    return WorkerOutput(text, marks, names, spent, exceeded)


def memory_file() -> IO[bytes]:
    """Open an anonymous file, in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kcli-lines"), "w+b", 0)
    return temporary_file(buffering=0)


def ended_early() -> InputError:
    return InputError("--jobs: a process ended before its work was done: killed, perhaps for lack of memory")

"""Reads capture files through an engine as one: in order of time, in pieces, skipping damage."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from kcli.capture.io.capture_file import NO_CAPTURE, CaptureFile, is_piped
from kcli.capture.kafka.events import Event
from kcli.counting import counted
from kcli.errors import InputError, all_of, unreadable
from kcli.filelike import Stream, name_of

EXPECTED = "(pcap, pcapng, or either in gzip or zstd expected)"
FOREVER = (1 << 64) - 1  # no packet is later: the core counts nanoseconds in 64 bits


S = TypeVar("S")


class PacketReader(Protocol):
    """The reader of one file's packets: kcli.core.capture.packets.PacketReader, or the tests' oracle."""

    problem: str | None

    def peek(self, data: memoryview) -> int | None:
        """Return the time (ns) of the first packet; None if it is not in these bytes."""

    def resume(self, data: memoryview) -> int:
        """Return the number of damaged bytes to skip."""


class CaptureEngine(Protocol):
    """kcli.core.capture.engine.CaptureEngine, or the tests' oracle."""

    next_ns: int

    def run(self, reader: Any, data: memoryview, limit: int) -> tuple[int, str]:
        """Read packets up to a time (ns). Return the number of used bytes, and why reading stopped: "end", "limit" or
        "damage".
        """

    def finish(self) -> None:
        """End all connections, as there are no more packets."""


class FileCursor:
    """A file that the engine is reading. open_file: opens a path."""

    def __init__(
        self,
        path: str | Stream,
        number: int,
        new_reader: Callable[[], PacketReader],
        open_file: Callable[[Any], CaptureFile] = CaptureFile,
    ) -> None:
        self.path, self.number, self.new_reader, self.open_file = path, number, new_reader, open_file
        self.file: CaptureFile | None = None
        self.reader = new_reader()
        self.begun = False
        self.size = 0  # bytes, when the first packet was read
        self.first = self.look()

    def look(self) -> int:
        """Return the time (ns) of the first packet; 0 for a file without any. Raises InputError if it is no capture."""
        self.file = self.open_file(self.path)
        self.size = self.file.size
        if is_piped(self.path):
            return 0  # a pipe may be slow, and can't be read twice
        try:
            return self.probe(self.file)
        finally:
            self.file.close()
            self.file = None

    def probe(self, file: CaptureFile) -> int:
        """Return the time (ns) of the first packet; 0 without any. Raises InputError if the file is no capture."""
        probe = self.new_reader()
        at = probe.peek(file.data)
        while at is None and probe.problem is None and file.end < (1 << 20) and file.fill():
            probe = self.new_reader()
            at = probe.peek(file.data)
        if file.failure is not None and not len(file.data):
            raise InputError(f"can't be decompressed: {file.failure}", file=file.name)
        if at is None:
            check_start(file, probe)
        return at or 0

    def close(self) -> None:
        """Close the file, if it is open."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def opened(self) -> CaptureFile:
        """Return the file, opened at its start, or at its current position."""
        if self.file is None:
            self.file = self.open_file(self.path)
            self.file.expect(self.size)
        return self.file


def check_start(file: CaptureFile, probe: PacketReader) -> None:
    """Raise InputError if a file does not begin like a capture."""
    if probe.problem is not None and probe.problem.startswith("starts with"):
        raise no_capture(probe.problem, file)
    if len(file.data) < 24:
        raise no_capture(f"only {counted(len(file.data), 'byte')}" if len(file.data) else "empty", file)


def no_capture(problem: str, file: CaptureFile) -> InputError:
    """Make the error for a file that is no capture, with the kind of file that it looks like."""
    from kcli.file_kinds import recognized

    kind = recognized(file.data)
    known = kind is not None and "capture" not in kind  # the bytes do not begin a capture themselves
    inside = "" if file.stream is file.raw else ", once it is decompressed"
    return InputError(f"{NO_CAPTURE}{problem} {f'({kind}{inside})' if known else EXPECTED}", file=file.name)


def drive(
    paths: Sequence[str | Stream],
    engine: CaptureEngine,
    new_reader: Callable[[], PacketReader],
    emit: Callable[[Event], None],
    moved: Callable[[int], None] = lambda count: None,
    entered: Callable[[int], None] = lambda number: None,
    paused: Callable[[int], None] = lambda until: None,
) -> Iterator[None]:
    """Run captures through the engine as one, in order of time; yield after each piece of a file, not after each turn.

    moved: called with the number of bytes read. entered: called with a file's number, from 0 on (a repeated file counts
    once), before its packets. paused: called with the time (ns) of the next file's first packet if no other file is
    being read.

    Raises InputError at the end, after all readable bytes, for files that are damaged or no captures.
    """
    failures: list[InputError] = []
    queue: list[tuple[int, int, FileCursor]] = []
    for number, path in enumerate(dict.fromkeys(paths)):
        try:
            source = FileCursor(path, number, new_reader)
            queue.append((source.first, number, source))
        except InputError as error:
            failures.append(error)
        except OSError as error:
            failures.append(unreadable(error, name_of(path)))
    heapq.heapify(queue)
    sources = [entry[2] for entry in queue]
    try:
        while queue:
            take_turns(queue, engine, entered, paused)
            _, number, source = heapq.heappop(queue)
            limit = queue[0][0] if queue else FOREVER
            for after in run_source(source, engine, limit, emit, failures, moved):
                if after is None:
                    yield
                else:
                    heapq.heappush(queue, (after, number, source))
    finally:
        for source in sources:
            source.close()
    engine.finish()
    yield
    if failures:
        raise all_of(failures)


def first_time(paths: Sequence[str | Stream], new_reader: Callable[[], PacketReader]) -> int | None:
    """Return the time (ns) of the earliest file's first packet; None if no file has one, or can be read twice."""
    found = list[int]()
    for number, path in enumerate(paths):
        try:
            cursor = FileCursor(path, number, new_reader)
        except (InputError, OSError):
            continue  # the reader of the file reports the error
        found.append(cursor.first)
        cursor.close()
    return min((first for first in found if first), default=None)


def take_turns(
    queue: list[tuple[int, int, FileCursor]],
    engine: CaptureEngine,
    entered: Callable[[int], None],
    paused: Callable[[int], None],
) -> None:
    """Read the files of a heap by time, packet by packet if necessary, until the first one has no complete packet at
    hand.

    Captures taken on several brokers at the same time need a turn for each packet, so a turn has to be cheap.
    """
    while True:
        first, number, source = queue[0]
        entered(number)
        if not source.begun:
            if not any(other.begun for _, _, other in queue):
                paused(first)
            source.begun = True
        if len(queue) == 1:
            return
        limit = queue[1][0]
        if len(queue) > 2 and queue[2][0] < limit:
            limit = queue[2][0]
        file = source.opened()
        used, why = engine.run(source.reader, file.data, limit)
        file.use(used)
        if why != "limit":
            return
        heapq.heapreplace(queue, (engine.next_ns, number, source))


def by_time(queue: list[tuple[int, int, S]], until: int = FOREVER) -> Iterator[tuple[int, S, int]]:
    """Yield (number, source, ns up to which to read it) for the first source of a heap, while it has packets up to
    `until`. The caller adds the source again if it has more.
    """
    while queue and queue[0][0] <= until:
        _, number, source = heapq.heappop(queue)
        yield number, source, min(until, queue[0][0] if queue else FOREVER)


def run_source(
    source: FileCursor,
    engine: CaptureEngine,
    limit: int,
    emit: Callable[[Event], None],
    failures: list[InputError],
    moved: Callable[[int], None],
) -> Iterator[int | None]:
    """Read a file up to `limit`; the last value yielded is the time of its next packet if the limit stopped it, else
    None.
    """
    file, reader = source.opened(), source.reader
    while True:
        used, why = engine.run(reader, file.data, limit)
        file.use(used)
        if why == "limit":  # many files take turns packet by packet
            yield engine.next_ns
            return
        moved(file.moved())
        if why == "damage":
            if not skip_damage(source, file, emit, failures):
                break
            continue
        yield None
        if not file.fill():
            break
    report_end(file, emit, failures)
    source.close()
    yield None


def skip_damage(
    source: FileCursor, file: CaptureFile, emit: Callable[[Event], None], failures: list[InputError]
) -> bool:
    """Skip bytes that are no packet, up to the next packet; return False if the file is no capture at all."""
    problem = source.reader.problem or ""
    if problem.startswith("starts with"):
        failures.append(no_capture(problem, file))
        file.use(len(file.data))
        return False
    offset, count = file.offset, 0
    while True:
        step = source.reader.resume(file.data)
        whole = step < len(file.data)
        file.use(step)
        count += step
        if whole or not file.fill():
            break
    emit(Event("undecodable", None, 0, offset, count, problem, file=file.name))
    failures.append(InputError(f"{problem} at {offset:#x}; {count:,} bytes passed over", file=file.name))
    return True


def report_end(file: CaptureFile, emit: Callable[[Event], None], failures: list[InputError]) -> None:
    left = len(file.data)
    if text := file.cut_meanwhile():
        failures.append(InputError(text, file=file.name))
        emit(Event("truncated", None, 0, file.offset, left, text, file=file.name))
    elif file.failure is not None:
        failures.append(
            InputError(f"can't be decompressed beyond {file.offset + left:,} bytes: {file.failure}", file=file.name)
        )
        emit(Event("truncated", None, 0, file.offset, left, f"can't be decompressed: {file.failure}", file=file.name))
    elif file.piped and not file.offset and left < 24:
        size = f"only {counted(left, 'byte')}" if left else "empty"
        failures.append(InputError(f"{NO_CAPTURE}{size} {EXPECTED}", file=file.name))
    elif left:
        why = f"the file ends in the middle of a packet, {left} bytes into it"
        failures.append(InputError(f"{why}, at {file.offset:#x}", file=file.name))
        emit(Event("truncated", None, 0, file.offset, left, why, file=file.name))

"""Windows of time: a connection that is too big for one task, decoded by several, each a stretch of its packets.

A moment divides each staged file before its first packet that is later; all files together are read in the same order
as without windows. The first window begins as any share does. A later one begins where its connection is found to be
in step behind the moment that was aimed at (`standing`), and goes on from there as a later run goes on from an earlier
one. So a frame, an answer or a repetition that straddles the edge is in the window behind it, once. Where a
connection is not found in step, its window is part of the one before.

How a connection stands was found out from what comes behind the moment alone. So it is compared, afterwards, with how
the window before it left the connection: if anything differs, the window is decoded again, from there.
"""

from __future__ import annotations

import contextlib
import heapq
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from kcli.capture.files import FOREVER, run_source
from kcli.errors import InputError
from kcli.pipeline.carrying import Carried
from kcli.pipeline.decoding import Decoded, RowSource, run_share
from kcli.pipeline.ranges import RangeFile
from kcli.pipeline.scattering import Part, Staged
from kcli.pipeline.writing import TableWriter

__all__ = ["START", "Heavy", "Reading", "Slice", "Window", "moments"]

HEADER = 24  # bytes of a staged file before its first packet
START = -1  # the moment before all packets


@dataclass(frozen=True, slots=True)
class Slice:
    """A staged file from a place on; the packets of the window behind it begin there or later."""

    uri: str
    link: int
    offset: int


@dataclass(frozen=True, slots=True)
class Window:
    """Packets of one connection behind the moment `after`, up to `until` (ns).

    heavy: the connection's hash. size: bytes, about. carried, clock: the connection as it stands at `after`, and the
    time that it was then. names: (id, name) of topics, taught before.
    """

    share: int
    number: int
    heavy: int
    slices: tuple[Slice, ...]
    size: int
    after: int = START
    until: int = FOREVER
    carried: tuple[Carried, ...] = ()
    clock: int = 0
    names: tuple[tuple[str, str], ...] = ()

    @property
    def last(self) -> bool:
        return self.until == FOREVER

    def behind(self, before: Decoded) -> Window:
        """Going on from how the window before this one left the connection."""
        return replace(self, carried=tuple(before.under_way), clock=before.last_ns)

    def decode(self, folder: str, options: dict[str, Any]) -> Decoded:
        names, chosen = options["names"], {name: options[name] for name in ("ports", "dialect")}
        name = f"{self.share:04d}-{self.number:03d}-{os.urandom(4).hex()}"
        writer, passing = TableWriter(folder, name), TableWriter(folder, f"{name}-open")
        source = WindowSource(self, writer.put, put_batch=writer.put_batch, **chosen)
        known = [*names, *self.names]
        made = run_share(self.share, source, options["end_ns"], known, self.carried, self.clock, passing)
        made.files, made.passing = writer.close(), passing.close()
        made.window = self.number
        return made


@dataclass(frozen=True, slots=True)
class Heavy:
    """A connection that is too big for one task, by its hash: where its packets are, among others' of its share."""

    share: int
    heavy: int
    staged: tuple[Staged, ...]
    carried: tuple[Carried, ...] = ()
    clock: int = 0

    def windows(self, edges: Sequence[int]) -> list[Window]:
        """Those between the edges (ns)."""
        ends = [START, *edges, FOREVER]
        return [self.window(number, *pair) for number, pair in enumerate(pairwise(ends))]

    def window(self, number: int, after: int, until: int) -> Window:
        slices = tuple(each for file in self.staged for each in slice_of(file, after, until))
        size = sum(part.bytes for file in self.staged for part in file.parts if after < part.last_ns <= until)
        carried, clock = (self.carried, self.clock) if after == START else ((), 0)
        return Window(self.share, number, self.heavy, slices, size, after, until, carried, clock)


class WindowSource(RowSource):
    """Rows of a window. Only the last one tells what is under way at its end; the others leave it to the next."""

    def __init__(self, window: Window, put: Any, **options: Any) -> None:
        super().__init__([], put, **options)
        self.window = window
        self.engine.choose(window.heavy, True)

    def run(self, before_end: Callable[[], None] = lambda: None) -> None:
        with contextlib.closing(Reading(self.window, self.engine, self.new_reader)) as reading:
            reading.run(self.window.until)
        self.flush(last=True)
        before_end()
        if self.window.last:
            self.engine.finish()
            self.flush(last=True)
            self.rows.finish()


class Reading:
    """The packets of a window, on their way through an engine."""

    def __init__(self, window: Window, engine: Any, new_reader: Callable[[], Any]) -> None:
        self.engine = engine
        self.queue: list[tuple[int, int, SliceSource]] = []
        for number, each in enumerate(window.slices):
            source = SliceSource(each, window.after, new_reader)
            if source.first is None:
                source.close()
            else:
                self.queue.append((source.first, number, source))
        heapq.heapify(self.queue)

    @property
    def next_ns(self) -> int:
        """Of the next packet; FOREVER behind the last one."""
        return self.queue[0][0] if self.queue else FOREVER

    def run(self, until: int) -> None:
        """Read all packets up to a moment. InputError: a staged file is damaged."""
        while self.queue and self.queue[0][0] <= until:
            _, number, source = heapq.heappop(self.queue)
            limit = min(until, self.next_ns)
            failures: list[InputError] = []
            *_, after = run_source(source, self.engine, limit, pass_over, failures, pass_over)  # type: ignore[arg-type]
            if failures:
                raise failures[0]
            if after is not None:
                heapq.heappush(self.queue, (after, number, source))

    def close(self) -> None:
        for _, _, source in self.queue:
            source.close()


def pass_over(_: Any) -> None:
    return


class SliceSource:
    """A slice as `kcli.capture.files.run_source` reads it, at its first packet behind a moment (`first`: its time)."""

    def __init__(self, part: Slice, after: int, new_reader: Callable[[], Any]) -> None:
        from kcli.core.scatter import pcap_header

        self.path = part.uri
        self.reader = new_reader()
        self.reader.skip(pcap_header(part.link), 0)
        self.file = RangeFile(part.uri, part.offset)
        self.first = self.begin(after)

    def begin(self, after: int) -> int | None:
        while self.file.fill():
            if after == START:
                found = self.reader.peek(self.file.data)
            else:
                used, found = self.reader.skip(self.file.data, after)
                self.file.use(used)
            if found is not None:
                return int(found)
        return None

    def opened(self) -> RangeFile:
        return self.file

    def close(self) -> None:
        self.file.close()


def moments(staged: Sequence[Staged], count: int) -> list[int]:
    """Times (ns) that divide the packets into `count` pieces of about as many bytes, in order; fewer where times are
    equal."""
    parts: list[Part] = [part for file in staged for part in file.parts]
    total = sum(part.bytes for part in parts)
    wanted = [total * number // count for number in range(1, count)]
    found = set()
    passed = 0
    for part in sorted(parts, key=lambda part: part.first_ns):
        while wanted and wanted[0] < passed + part.bytes:
            found.add(part.first_ns + (part.last_ns - part.first_ns) * (wanted.pop(0) - passed) // part.bytes)
        passed += part.bytes
    return sorted(found)


def slice_of(file: Staged, after: int, until: int) -> list[Slice]:
    """One, or none where the file has no packet between the moments."""
    rest = [number for number, part in enumerate(file.parts) if part.last_ns > after]
    if not rest or min(part.first_ns for part in file.parts[rest[0] :]) > until:
        return []
    offset = file.parts[rest[0]].offset if after != START else HEADER
    return [Slice(file.uri, file.link, offset)]

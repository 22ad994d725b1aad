"""Windows of time: parts of a connection that is too big for one task, each decoded by a task of its own.

A time divides each staged file before its first packet that is later; all files together are read in the same order as
without windows. The first window begins like any share. A later one begins after its time at a packet where its
connection is in step (`resync`), and continues from there as a later run continues an earlier one. So a frame, a
response or a retransmission that crosses the edge is in the window after it, once. If a connection is in step nowhere
in a window, the window is joined to the one before.

The state at the start of a window was found from later packets alone. So it is compared afterwards with the state at
the end of the window before. If they differ, the window is decoded again, from the latter state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from kcli.capture.io.files import FOREVER
from kcli.pipeline.packets.decoding import Decoded, DecodingOptions, Portion, decode
from kcli.pipeline.packets.open_connections import Carried
from kcli.pipeline.packets.reading import START, Reading
from kcli.pipeline.packets.shuffle_files import Part, ShuffleFile, Slice


@dataclass(frozen=True, slots=True)
class Window:
    """The packets of one connection after the time `after`, up to `until` (ns).

    heavy: the connection's hash. size: bytes, approximately. carried: the connection's state at `after`; clock: the
    latest time of a packet up to there. names: (id, name) of topics known before.
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

    def behind(self, before: Decoded) -> Window:
        """Return this window, beginning with the state in which the one before ended."""
        return replace(self, carried=tuple(before.under_way), clock=before.last_ns)

    def decode(self, folder: str, options: DecodingOptions) -> Decoded:
        """Decode the window into files below `folder`."""
        opened = partial(Reading, slices=self.slices, after=self.after)
        portion = Portion(self.share, opened, self.until, (self.heavy, True), self.number, self.carried)
        return decode(portion, folder, replace(options, clock=self.clock, names=(*options.names, *self.names)))


@dataclass(frozen=True, slots=True)
class Heavy:
    """A connection that is too big for one task, by its hash, and the files that have its packets among others of its
    share.
    """

    share: int
    heavy: int
    staged: tuple[ShuffleFile, ...]
    carried: tuple[Carried, ...] = ()
    clock: int = 0

    def windows(self, edges: Sequence[int]) -> list[Window]:
        """Return the windows between the given times (ns)."""
        ends = [START, *edges, FOREVER]
        return [self.window(number, *pair) for number, pair in enumerate(pairwise(ends))]

    def window(self, number: int, after: int, until: int) -> Window:
        """Return a window with this number, with the packets in (after, until] (ns)."""
        slices = tuple(each for file in self.staged for each in slice_of(file, after, until))
        size = sum(part.bytes for file in self.staged for part in file.parts if after < part.last_ns <= until)
        carried, clock = (self.carried, self.clock) if after == START else ((), 0)
        return Window(self.share, number, self.heavy, slices, size, after, until, carried, clock)


def moments(staged: Sequence[ShuffleFile], count: int) -> list[int]:
    """Return times (ns), in order, that divide the packets into `count` pieces of about equal size; fewer times if some
    are equal.
    """
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


def slice_of(file: ShuffleFile, after: int, until: int) -> list[Slice]:
    """Return one slice; none if the file has no packet between the times."""
    rest = [number for number, part in enumerate(file.parts) if part.last_ns > after]
    if not rest or min(part.first_ns for part in file.parts[rest[0] :]) > until:
        return []
    return [file.slice(file.parts[rest[0]].offset)]

"""Windows of time: a connection that is too big for one task, decoded by several, each a stretch of its packets.

A moment divides each staged file before its first packet that is later; all files together are read in the same order
as without windows. The first window begins as any share does. A later one begins after its moment, where its connection
is in step (`resync`), and continues from there as a later run continues an earlier one. So a frame, an answer or a
repetition across the edge is in the window after it, once. If a connection is never in step, its window is part of the
one before.

The state at the beginning was derived from later packets alone. So it is compared, afterwards, with the state at the
end of the window before: if they differ, the window is decoded again, from that.
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

    def behind(self, before: Decoded) -> Window:
        """Return this window as it goes on from how the one before left the connection."""
        return replace(self, carried=tuple(before.under_way), clock=before.last_ns)

    def decode(self, folder: str, options: DecodingOptions) -> Decoded:
        """Decode the window into files below `folder`."""
        opened = partial(Reading, slices=self.slices, after=self.after)
        portion = Portion(self.share, opened, self.until, (self.heavy, True), self.number, self.carried)
        return decode(portion, folder, replace(options, clock=self.clock, names=(*options.names, *self.names)))


@dataclass(frozen=True, slots=True)
class Heavy:
    """A connection that is too big for one task, by its hash: where its packets are, among others' of its share."""

    share: int
    heavy: int
    staged: tuple[ShuffleFile, ...]
    carried: tuple[Carried, ...] = ()
    clock: int = 0

    def windows(self, edges: Sequence[int]) -> list[Window]:
        """Return the windows between the edges (ns)."""
        ends = [START, *edges, FOREVER]
        return [self.window(number, *pair) for number, pair in enumerate(pairwise(ends))]

    def window(self, number: int, after: int, until: int) -> Window:
        """Return the window of this number, of the packets in (after, until] (ns)."""
        slices = tuple(each for file in self.staged for each in slice_of(file, after, until))
        size = sum(part.bytes for file in self.staged for part in file.parts if after < part.last_ns <= until)
        carried, clock = (self.carried, self.clock) if after == START else ((), 0)
        return Window(self.share, number, self.heavy, slices, size, after, until, carried, clock)


def moments(staged: Sequence[ShuffleFile], count: int) -> list[int]:
    """Return times (ns) that divide the packets into `count` pieces of about as many bytes, in order; fewer where times
    are equal."""
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
    """Return one slice, or none where the file has no packet between the moments."""
    rest = [number for number, part in enumerate(file.parts) if part.last_ns > after]
    if not rest or min(part.first_ns for part in file.parts[rest[0] :]) > until:
        return []
    return [file.slice(file.parts[rest[0]].offset)]

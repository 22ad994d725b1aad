"""Captures of made-up hosts, as a fleet leaves them: small, rotated, some late, some of a connection's other end.

A host is one copy of what real captures' connections said (`benchmarks.grow`), with a client address of its own, at the
same time as all others, cut into rotated files. Every eighth host is the other end of the one before: the same packets,
300 us later. Of every tenth one the first files come late, when the rest was read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.grow import GLOBAL, Unit, build

__all__ = ["Fleet", "make_fleet"]

ROTATED = 7  # files of a host
OTHER_END = 8  # every so many hosts
LATE = 10
BEHIND_US = 300  # the clock of the other end
APART_US = 1_700  # one host's start behind the one before
SEGMENT = 1448


class Fleet(NamedTuple):
    """Folders of captures: `folder`, and `late` of those that come when the others were read; bytes of all."""

    folder: Path
    late: Path
    bytes: int


def make_fleet(captures: Sequence[Path], count: int, folder: Path) -> Fleet:
    """Write `count` captures below a folder, a folder for each host."""
    unit = build(captures, SEGMENT, None, 1)
    fleet = Fleet(folder / "first", folder / "late", 0)
    size = 0
    for host in range(-(-count // ROTATED)):
        for part, data in enumerate([*parts_of(unit, host)][: count - host * ROTATED]):
            is_late = host % LATE == LATE - 1 and part < ROTATED // 2
            path = (fleet.late if is_late else fleet.folder) / f"host{host:05d}" / f"broker_{part:05d}.pcap"
            path.parent.mkdir(parents=True, exist_ok=True)
            size += path.write_bytes(GLOBAL + data)
    return fleet._replace(bytes=size)


def parts_of(unit: Unit, host: int) -> Iterator[bytes]:
    """Yield a host's packets, file by file."""
    is_other_end = host % OTHER_END == OTHER_END - 1
    twin = host - is_other_end
    data = np.frombuffer(unit.packets, np.uint8).copy()
    addresses = np.array(unit.addresses)[:, None] + np.arange(4)
    data[addresses] = np.frombuffer((0x0A000001 + twin).to_bytes(4, "big"), np.uint8)
    places = np.array(unit.times)[:, None] + np.arange(8)
    seconds, us = data[places].copy().view("<u4").astype(np.int64).T
    us += twin * APART_US + BEHIND_US * is_other_end
    times = np.stack([seconds + us // 1_000_000, us % 1_000_000], axis=1).astype("<u4")
    data[places] = times.view(np.uint8).reshape(-1, 8)
    edges = [unit.times[len(unit.times) * number // ROTATED] for number in range(ROTATED)]
    for start, end in zip(edges, [*edges[1:], len(data)], strict=True):
        yield data[start:end].tobytes()

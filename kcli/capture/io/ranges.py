"""Splits a capture file for readers that share it: a part has the packets that begin in a range of its bytes.

Only plain pcap can be split: the reader of a later part searches for the first position at which packets follow each
other. A pcapng or compressed file is one part.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kcli.capture.io.capture_file import NO_CAPTURE, CaptureFile
from kcli.core.capture.packets import PacketReader
from kcli.errors import InputError
from kcli.grammar.files.capture_formats import pcap_magic

HEADER = 24
PROBED = 1 << 20  # bytes searched for a packet's start


class RangePacket(NamedTuple):
    """A packet. connection: the same bytes for both directions of a connection, b"" without TCP."""

    ns: int
    link: int
    length: int
    connection: bytes
    data: bytes


def cut(path: str, size: int) -> list[tuple[int, int | None]]:
    """Return ranges (start, end) of about `size` bytes for `rows`; one without an end if the file is not larger,
    or can't be split.
    """
    whole = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        plain = file.read(4) in pcap_magic
    if not plain or whole <= size:
        return [(0, None)]
    parts = -(-whole // size)
    edges = [whole * number // parts for number in range(parts + 1)]
    return list(itertools.pairwise(edges))


def rows(path: str, start: int = 0, end: int | None = None) -> Iterator[RangePacket]:
    """Yield the packets whose records begin in `start` to `end` (excluded), in the file's order.

    Adjacent ranges have every packet once. Damage is skipped. Raises InputError if the file is no capture.
    """
    file = CaptureFile(path)
    try:
        reader = PacketReader()
        if start <= HEADER or skip_to(file, reader, start):
            yield from read(file, reader, end)
    finally:
        file.close()


def skip_to(file: CaptureFile, reader: Any, start: int) -> bool:
    """Skip to the first packet at or after `start`; return False if there is none."""
    while len(file.data) < HEADER and file.fill():
        pass
    reader.rows(file.data[:HEADER])
    file.raw.seek(start - 1)  # `resume` searches after the first byte
    file.start = file.end = 0
    file.offset = start - 1
    while len(file.data) < PROBED and file.fill():
        pass
    step = reader.resume(file.data)
    while step == len(file.data):
        file.use(step)
        if not file.fill():
            return False
        step = reader.resume(file.data)
    file.use(step)
    return True


def read(file: CaptureFile, reader: Any, end: int | None) -> Iterator[RangePacket]:
    while True:
        used, found = reader.rows(file.data)
        for at, *row in found:
            if end is not None and file.offset + at >= end:
                return
            yield RangePacket(*row)
        file.use(used)
        if reader.problem is not None:
            if not file.offset:
                raise InputError(f"{NO_CAPTURE}{reader.problem}", file=file.name)
            file.use(reader.resume(file.data))
        elif not file.fill():
            return

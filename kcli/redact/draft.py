"""The redacted packets on their way: written blank as they come, filled in when their bytes have been decoded.

A draft is a temporary file of packets, so that memory does not grow with the capture: a message may become whole long
after its first packet went by. Nothing is in it that was not redacted.
"""

from __future__ import annotations

import os
import struct
import tempfile
from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import NamedTuple

# ns, link type, connection, length on the wire, bytes here, where IP, TCP and payload begin, kind
HEAD = struct.Struct("<QHIIIIIIB")
CAPTURED, OPENING, MADE = range(3)  # kinds of packets; OPENING: captured, of a connection's handshake
TAIL = 1 << 20  # bytes at the end that are kept in memory
KEPT = 64  # packets that were filled in, but may come again
LOOKED_AT = 256  # packets that a repeated one may have its bytes from


class DraftPacket(NamedTuple):
    """A packet of a draft. flow: its connection's number. kind: CAPTURED, OPENING or MADE (here)."""

    ns: int
    link: int
    flow: int
    length: int
    places: tuple[int, int, int]
    kind: int
    data: bytearray


class Draft:
    """Packets in a temporary file. OSError: there is no room for it."""

    def __init__(self, folder: str | None = None) -> None:
        """folder: where the file is made, which has no name; None: where the system has its temporary files."""
        self.file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        self.tail = bytearray()
        self.start = 0  # of the tail, in the file

    def close(self) -> None:
        """Let the file go."""
        self.file.close()

    def add(self, packet: DraftPacket) -> int:
        """Append a packet; the place of its first byte."""
        if len(self.tail) > TAIL:
            self.flush()
        head = HEAD.pack(
            packet.ns, packet.link, packet.flow, packet.length, len(packet.data), *packet.places, packet.kind
        )
        self.tail += head
        place = self.start + len(self.tail)
        self.tail += packet.data
        return place

    def flush(self) -> None:
        """Write out what is kept in memory."""
        self.file.seek(self.start)
        self.file.write(self.tail)
        self.start += len(self.tail)
        self.tail.clear()

    def fill(self, place: int, data: bytes) -> None:
        """Write over bytes that are there."""
        if place >= self.start:
            at = place - self.start
            self.tail[at : at + len(data)] = data
            return
        self.file.flush()
        os.pwrite(self.file.fileno(), data, place)

    def read(self, place: int, size: int) -> bytes:
        """Bytes that are there."""
        if place >= self.start:
            at = place - self.start
            return bytes(self.tail[at : at + size])
        self.file.flush()
        return os.pread(self.file.fileno(), size, place)

    def packets(self) -> Iterator[DraftPacket]:
        """All packets, in order."""
        self.flush()
        self.file.flush()
        self.file.seek(0)
        while head := self.file.read(HEAD.size):
            ns, link, flow, length, size, ip, tcp, payload, kind = HEAD.unpack(head)
            yield DraftPacket(ns, link, flow, length, (ip, tcp, payload), kind, bytearray(self.file.read(size)))


class Extents:
    """Where the bytes of one direction of a connection stand in the draft; places in the direction do not wrap.

    settled: bytes before it have been decided upon. What is repeated gets the same bytes.
    """

    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.entries: list[tuple[int, int, int]] = []  # (first byte, bytes, place in the draft), by the first byte
        self.longest = self.end = self.settled = 0
        self.pruned = 0

    def add(self, first: int, size: int, place: int) -> None:
        """Note that `size` bytes from `first` on stand at a place in the draft."""
        if not size:
            return
        if first < self.end:
            for begin, count, at in self.near(first, size)[-LOOKED_AT:]:
                self.copy(first, size, place, begin, self.draft.read(at, count))
        self.longest, self.end = max(self.longest, size), max(self.end, first + size)
        insort(self.entries, (first, size, place))
        if len(self.entries) > 2 * self.pruned + 2 * KEPT:
            self.prune()

    def near(self, first: int, size: int) -> list[tuple[int, int, int]]:
        """The entries that may have some of these bytes."""
        start = bisect_left(self.entries, (first - self.longest,))
        return self.entries[start : bisect_left(self.entries, (first + size,))]

    def prune(self) -> None:
        """Forget what was decided upon long ago."""
        done = sum(begin + count <= self.settled for begin, count, _ in self.entries)
        spare = max(0, done - KEPT)
        left = []
        for entry in self.entries:
            if spare and entry[0] + entry[1] <= self.settled:
                spare -= 1
            else:
                left.append(entry)
        self.entries, self.pruned = left, len(left)
        self.longest = max((count for _, count, _ in left), default=0)

    def fill(self, first: int, data: bytes) -> None:
        """Write redacted bytes, from `first` on, wherever they stand."""
        for begin, size, place in self.near(first, len(data)):
            self.copy(begin, size, place, first, data)

    def copy(self, begin: int, size: int, place: int, first: int, data: bytes) -> None:
        """Write what an entry of `size` bytes from `begin` on has of `data`, which begins at `first`."""
        low, high = max(begin, first), min(begin + size, first + len(data))
        if low < high:
            self.draft.fill(place + low - begin, data[low - first : high - first])

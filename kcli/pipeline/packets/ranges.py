"""Splits captures into ranges of bytes, so that several tasks can read one big file.

A range has the packets that begin in it. Where its first packet begins is guessed by searching for a chain of plausible
headers. The range before knows where its last packet ended, so a wrong guess is noticed (`Ends`), and the range is read
again from the right place. For pcapng interfaces likewise: those described at the beginning of the file are assumed to
be all; if an earlier range describes more, the later ranges are read again with them. Compressed files, and files not
much bigger than one range, are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcli.capture.io.capture_file import CaptureFile
from kcli.capture.io.capture_files import GZIP, SECTION, ZSTD
from kcli.capture.io.files import check_start
from kcli.capture.io.ranges import HEADER
from kcli.errors import InputError
from kcli.pipeline.storage import StoragePath, StoredFile

if TYPE_CHECKING:
    from kcli.core.capture.packet_shuffle import Scatter

RANGE_BYTES = 128 << 20
HEAD = 1 << 16  # bytes at the start of a file that contain its header, or its interfaces
WINDOW = 4 << 20  # bytes that are searched for a packet at first
CHAIN = 6  # plausible packets in a row that are needed


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes [start, end) of a file; end None: up to the end of the file. began: the position of the first packet, if
    known. head: the blocks before the range that describe its packets, if known.
    """

    uri: str
    size: int
    start: int = 0
    end: int | None = None
    began: int | None = None
    head: bytes | None = None

    @property
    def length(self) -> int:
        """The number of bytes in the range."""
        return (self.size if self.end is None else self.end) - self.start


def cut(file: StoredFile, range_bytes: int = RANGE_BYTES) -> list[Range]:
    """Cut one capture into ranges of about `range_bytes` bytes."""
    if file.size <= range_bytes * 3 // 2 or is_packed(StoragePath(file.uri)):
        return [Range(file.uri, file.size)]
    count = -(-file.size // range_bytes)
    places = [file.size * number // count for number in range(count)]
    return [Range(file.uri, file.size, at, end) for at, end in zip(places, [*places[1:], file.size], strict=True)]


def is_packed(place: StoragePath) -> bool:
    """Return whether a file is compressed, judging by its first bytes. Raises OSError."""
    with place.open() as opened:
        return bytes(opened.read(4)).startswith((GZIP, ZSTD))


class RangeFile(CaptureFile):
    """A capture given by its URI, read from the byte `start` on."""

    def __init__(self, uri: str, start: int = 0) -> None:
        self.home = StoragePath(uri)
        self.begin = start
        super().__init__(uri)
        self.name = uri
        self.offset = start

    def open_raw(self) -> Any:
        raw = self.home.open()
        if self.begin:
            raw.seek(self.begin)
        return raw

    def open(self) -> Any:
        if not self.begin:
            return super().open()
        self.raw = self.open_raw()
        return self.raw

    def close(self) -> None:
        self.raw.close()


class RangeEngine:
    """An engine that knows its position in the file, and stops where the range ends."""

    def __init__(self, scatter: Scatter, file: CaptureFile, end: int | None) -> None:
        self.scatter, self.file, self.end = scatter, file, end

    @property
    def next_ns(self) -> int:
        """The time of the next packet (ns), from the inner engine."""
        return self.scatter.next_ns

    def run(self, reader: Any, data: memoryview, limit: int) -> tuple[int, str]:
        """Read packets with the inner engine, up to the end of the range."""
        self.scatter.place = self.file.offset
        if self.end is not None:  # the engine counts from the first byte it was given
            self.scatter.end = self.scatter.done + max(0, self.end - self.file.offset)
        return self.scatter.run(reader, data, limit)

    def finish(self) -> None:
        """Finish reading the range's packets."""
        self.scatter.finish()


class RangeSource:
    """A range in the form that `kcli.capture.io.files.run_source` needs: the file at the first packet, and a reader
    that knows the file's header.
    """

    def __init__(self, part: Range, scatter: Scatter, found_secrets: Callable[[bytes], None] | None = None) -> None:
        """Open a range. found_secrets: called with each part of a TLS key log in the range."""
        from kcli.core.capture.packets import PacketReader

        self.path = part.uri
        self.reader = PacketReader(found_secrets)
        self.began = part.start
        if part.start:
            head = part.head or read_at(part.uri, 0, min(HEAD, part.size))
            self.began = find_begin(part, head) if part.began is None else part.began
            self.prime(scatter, head)
        self.file = RangeFile(part.uri, self.began)
        if not part.start:
            try:
                self.check_start()
            except InputError:
                self.close()
                raise

    def check_start(self) -> None:
        """Raise InputError if the file is too short to be a capture."""
        from kcli.core.capture.packets import PacketReader

        while len(self.file.data) < HEADER and self.file.fill():
            pass
        check_start(self.file, PacketReader())

    def prime(self, scatter: Scatter, head: bytes) -> None:
        """Read the descriptions of packets at the start of the file."""
        scatter.prime(self.reader, head)

    def opened(self) -> RangeFile:
        """Return the file, at the next packet."""
        return self.file

    def close(self) -> None:
        """Close the file."""
        self.file.close()


def read_at(uri: str, start: int, size: int) -> bytes:
    with StoragePath(uri).open() as file:
        file.seek(start)
        return read_all(file, size)


def read_all(file: Any, size: int) -> bytes:
    """Return `size` bytes of a file; fewer only if it ends before."""
    parts = []
    while size and (part := bytes(file.read(size))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def find_begin(part: Range, head: bytes) -> int:
    """Return where the first packet of a range begins; the end of the range if no packet does."""
    from kcli.core.capture.packet_boundaries import Boundaries

    assert part.end is not None
    boundaries = Boundaries(head)
    window = WINDOW
    while True:
        data = read_at(part.uri, part.start, window)
        whole = part.start + len(data) >= part.size
        at = boundaries.find(data, CHAIN, whole) if data else -1
        if at >= 0:
            return part.start + at
        if whole or window >= part.end - part.start:
            return part.end
        window *= 4


@dataclass(frozen=True, slots=True)
class Ends:
    """The positions where a range's first packet began, and where the packet after its last one would begin. known,
    described: see `kcli.core.capture.packet_shuffle.Scatter`.
    """

    part: Range
    began: int
    stopped: int
    known: bytes = b""
    described: bytes = b""


def misread(ends: Iterable[Ends]) -> Iterator[Range]:
    """Yield corrected ranges for those that did not begin where the one before stopped, or were read with other
    interfaces.
    """
    uri, stopped, described = None, 0, b""
    for each in sorted(ends, key=lambda each: (each.part.uri, each.part.start)):
        part = each.part
        if part.uri != uri:
            uri, described = part.uri, b""
        elif each.began != stopped or each.known != described:
            yield Range(part.uri, part.size, part.start, part.end, stopped, described or None)
        stopped = each.stopped
        described = each.described if each.described.startswith(SECTION) else described + each.described

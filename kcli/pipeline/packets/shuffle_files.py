"""The files between the two stages: for each share the packets of its connections, from the ranges of one task.

The packets are copied into these files. If the capture is on this machine and not compressed, they can stay in it
instead: then the staged file is an index with a few bytes for each packet. Either way, the section of each range is
read like a pcap file.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kcli.capture.io.capture_file import CaptureFile
from kcli.errors import InputError
from kcli.pipeline.journal import fingerprint
from kcli.pipeline.packets.ranges import RangeFile, is_packed, read_all
from kcli.pipeline.storage import StoragePath, StoredFile
from kcli.temporary import TemporaryFolder

PIECE = 8 << 20  # bytes copied from an object store at a time


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a staged file: its position, and the times and number of bytes (as captured) of its packets."""

    offset: int
    first_ns: int
    last_ns: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The capture that has the packets of an index. mark: the fingerprint of its first `size` bytes."""

    path: str
    size: int
    mark: str

    @classmethod
    def of(cls, uri: str) -> Origin | None:
        """Return the origin; None if packets can't be found again by position: in compressed files, and on other
        machines.
        """
        place = StoragePath(uri)
        try:
            return None if place.remote or is_packed(place) else cls.marked(place.path)
        except OSError:
            return None

    @classmethod
    def marked(cls, path: str) -> Origin:
        """Return an origin with the present size and fingerprint of a capture on this machine. Raises OSError."""
        size = Path(path).stat().st_size
        return cls(path, size, fingerprint(StoredFile(path, size, 0)))

    def open(self) -> Any:
        """Open the capture. Raises InputError if it has changed, as happens when tcpdump writes a ring of files."""
        try:
            if fingerprint(StoredFile(self.path, self.size, 0)) != self.mark:
                raise self.changed("it was rewritten")
            return Path(self.path).open("rb", buffering=0)
        except OSError as error:
            raise self.changed(error.strerror or str(error)) from None

    def changed(self, why: str) -> InputError:
        """Return the error for a capture that has changed."""
        return InputError(f"has changed while it was read: {why} (run again when it is left alone)", file=self.path)


@dataclass(slots=True)
class ShuffleFile:
    """The section of a staged file with the packets of one share from one range. origin: the capture, if the file is an
    index. capture: the capture's name, as given. heavy, votes: the connection with the most bytes, and by how many it
    outweighs the others (see `vote`). end: where the section ends.
    """

    share: int
    link: int
    uri: str
    origin: Origin | None = None
    capture: str = ""
    packets: int = 0
    bytes: int = 0
    heavy: int = 0
    votes: int = 0
    parts: list[Part] = field(default_factory=list)
    end: int = 0

    def add(self, part: Part, packets: int, heavy: int, votes: int, end: int = 0) -> None:
        """Add a part that was written up to `end`, with the vote of its packets."""
        self.parts.append(part)
        self.end = end
        self.packets += packets
        self.bytes += part.bytes
        self.heavy, self.votes = vote((self.heavy, self.votes), (heavy, votes))

    @property
    def whole(self) -> Slice:
        """The whole section."""
        return self.slice(self.parts[0].offset)

    def slice(self, offset: int) -> Slice:
        """Return the packets from an offset on."""
        return Slice(self.uri, self.link, offset, self.end, self.origin, self.capture)


def vote(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    """Return (connection, votes) of both together: the majority vote of Boyer and Moore, done in pieces."""
    if one[0] == other[0]:
        return one[0], one[1] + other[1]
    more, less = (other, one) if other[1] > one[1] else (one, other)
    return more[0], more[1] - less[1]


@dataclass(frozen=True, slots=True)
class Slice:
    """A staged file from one position to another; 0 and 0: the whole file. capture: the name of the capture that had
    the packets.
    """

    uri: str
    link: int = 0
    offset: int = 0
    end: int = 0
    origin: Origin | None = None
    capture: str = ""

    def open(self, new_reader: Callable[[], Any]) -> tuple[CaptureFile, Any]:
        """Return the packets of the slice, and a reader that knows their header. Raises InputError, OSError."""
        from kcli.core.capture.packet_shuffle import pcap_header

        reader = new_reader()
        if self.origin is not None or self.offset:
            reader.skip(pcap_header(self.link), 0)
        if self.origin is None:
            return SectionFile(self.uri, self.offset, self.end), reader
        return IndexedFile(self, self.origin), reader


class SectionFile(RangeFile):
    """The bytes of a staged file between two positions."""

    def __init__(self, uri: str, start: int, end: int) -> None:
        self.stop = end
        super().__init__(uri, start)

    def open_raw(self) -> Any:
        raw = super().open_raw()
        return BoundedReader(raw, self.stop - self.begin) if self.stop else raw


class BoundedReader:
    """A file that ends after its next `size` bytes."""

    def __init__(self, raw: Any, size: int) -> None:
        self.raw, self.left = raw, size

    def readinto(self, room: memoryview) -> int:
        """Read into `room` the bytes that there are, see io.RawIOBase."""
        count = int(self.raw.readinto(room[: self.left]))
        self.left -= count
        return count

    def tell(self) -> int:
        """Return the position up to which the file was read."""
        return int(self.raw.tell())

    def close(self) -> None:
        """Close the file."""
        self.raw.close()


class IndexedFile(CaptureFile):
    """The packets of an index, in the form of a pcap file without its header."""

    def __init__(self, part: Slice, origin: Origin) -> None:
        self.part, self.origin = part, origin
        super().__init__(part.uri)

    def open(self) -> Any:
        from kcli.core.capture.packet_fetch import Gatherer

        with StoragePath(self.part.uri).open() as file:
            file.seek(self.part.offset)
            index = read_all(file, self.part.end - self.part.offset) if self.part.end else file.read()
        self.raw = self.origin.open()
        return Gatherer(self.raw.fileno(), index)

    @property
    def place(self) -> int:
        return self.offset

    def fill(self) -> bool:
        """Read more bytes. Raises InputError if the capture has become shorter."""
        try:
            return super().fill()
        except EOFError as error:
            raise self.origin.changed(str(error)) from None

    def close(self) -> None:
        self.raw.close()


@contextlib.contextmanager
def at_hand(slices: Sequence[Slice]) -> Iterator[list[Slice]]:
    """Yield the slices with files on this machine: files in an object store are copied here for the time being."""
    with TemporaryFolder("kcli-share-") as folder:
        yield [replace(each, uri=fetched(StoragePath(each.uri), folder)) for each in slices]


def fetched(place: StoragePath, folder: str) -> str:
    """Copy a file to this machine if it is not there, and return its local path."""
    if not place.remote:
        return place.path
    path = Path(folder) / place.name
    if path.exists():  # another section of the same file
        return str(path)
    with place.open() as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, PIECE)
    return str(path)

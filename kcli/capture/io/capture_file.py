"""The bytes of one capture file: opened, decompressed, and kept until they are used.

A file is a path ("-" is standard input) or a `Stream`; a stream that can't seek is read from its current position.
"""

import io
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

from kcli.capture.io.capture_files import GZIP, ZSTD
from kcli.filelike import Stream, name_of
from kcli.input_names import STDIN
from kcli.whole_file import WholeFile

NO_CAPTURE = "not a capture: "  # begins the text about a file of which nothing can be read
PACKED = 1 << 14  # bytes decompressed at a time, which are the most that damage loses
PIECE = 1 << 20  # bytes read at a time; they fit into the processor's cache until they are used


class CaptureFile:
    """The decompressed bytes of one file; `data` has the unused ones."""

    def __init__(self, path: str | Stream) -> None:
        self.name = name_of(path)
        self.path = path
        self.piped = is_piped(path)
        self.room = bytearray(PIECE)
        self.start = self.end = 0
        self.offset = 0  # the position of `start` in the decompressed file
        self.reported = 0  # the position at the last call of `moved`
        self.failure: str | None = None
        self.breaks: tuple[type[Exception], ...] = ()  # errors that the decompressor raises
        self.stream = self.open()

    def open(self) -> Any:
        """Open the stream of decompressed bytes, chosen by the first bytes of the file."""
        raw = self.open_raw()
        self.raw = raw
        self.read_some(raw, 4)
        head = bytes(self.data[:4])
        if head.startswith(GZIP):
            from isal import isal_zlib

            self.breaks = (EOFError, isal_zlib.error)  # type: ignore[assignment]
            return Inflated(self.rewound(raw))
        if head == ZSTD:
            import zstandard

            self.breaks = (zstandard.ZstdError,)
            return zstandard.ZstdDecompressor().stream_reader(self.rewound(raw), read_across_frames=True)
        return raw

    def open_raw(self) -> Any:
        """Open the bytes as they are stored; a subclass may read them from elsewhere."""
        if isinstance(self.path, Stream):
            return self.path
        return StandardInput() if self.path == STDIN else WholeFile(self.path)

    def rewound(self, raw: Any) -> Any:
        """Return the compressed stream from its first byte on, even where it can't seek (a pipe)."""
        head = bytes(self.data)
        self.start = self.end = 0
        return Rejoined(head, raw)

    @property
    def data(self) -> memoryview:
        """The bytes that were read and not yet used."""
        return memoryview(self.room)[self.start : self.end]

    def read_some(self, stream: Any, least: int) -> None:
        """Read until `data` has at least this many bytes, or the stream ends."""
        while self.end < least:
            count = stream.readinto(memoryview(self.room)[self.end :])
            if count == 0:
                return
            self.end += count or 0

    @property
    def place(self) -> int:
        """The number of bytes read from the file itself, compressed or not; 0 for a pipe."""
        return 0 if self.piped else int(self.raw.tell())

    def moved(self) -> int:
        """Return the number of bytes read from the file itself since the last call."""
        before, self.reported = self.reported, self.place
        return self.reported - before

    def use(self, count: int) -> None:
        """Drop `count` bytes at the start of `data`."""
        self.start += count
        self.offset += count

    def fill(self) -> bool:
        """Append more bytes to `data`; return False at the end, or if the compression is broken (`failure`).

        A stream that returns None has no bytes yet, and has not ended.
        """
        left = self.end - self.start
        room = self.room if left * 2 <= len(self.room) else bytearray(len(self.room) * 2)
        room[:left] = self.room[self.start : self.end]
        self.room, self.start, self.end = room, 0, left
        try:
            count = self.stream.readinto(memoryview(room)[left:])
        except self.breaks as error:
            self.failure = str(error)
            return False
        self.end += count or 0
        return bool(count != 0)

    @property
    def size(self) -> int:
        """The file's size in bytes when it was opened; 0 if unknown."""
        return self.raw.size if isinstance(self.raw, WholeFile) else 0

    def expect(self, size: int) -> None:
        """Set the size that the file had when its first packet was read."""
        if isinstance(self.raw, WholeFile):
            self.raw.size = max(self.raw.size, size)

    def cut_meanwhile(self) -> str | None:
        """Return the message about a file that another program has truncated meanwhile; None if it has not."""
        return self.raw.cut() if isinstance(self.raw, WholeFile) else None

    def close(self) -> None:
        """Close the file, if it was opened here."""
        if not self.piped or isinstance(self.raw, io.FileIO):
            self.raw.close()


def is_piped(path: str | Stream) -> bool:
    """Return whether a file can be read only once."""
    return isinstance(path, Stream) or path == STDIN or Path(path).is_fifo()


def always() -> bool:
    """Return True: a read waits for as long as it takes."""
    return True


class StandardInput(io.RawIOBase):
    """The rest of standard input, whose first bytes may have been read already.

    given_up: more bytes are no longer needed, so a thread that reads them ends; the main thread is interrupted instead.
    is_worth_waiting: set by commands; waits until there are bytes, and returns False if they are no longer needed.
    """

    given_up = threading.Event()
    is_worth_waiting: ClassVar[Callable[[], bool]] = staticmethod(always)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        """Read the bytes that are there; see io.RawIOBase."""
        if threading.current_thread() is not threading.main_thread() and not StandardInput.is_worth_waiting():
            return 0
        return cast(io.BufferedReader, sys.stdin.buffer).readinto1(room)


class Rejoined(io.RawIOBase):
    """A byte stream with its first bytes put back."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self.head, self.rest = head, rest

    def readinto(self, room: Any) -> int:
        while not self.head:
            if (got := self.rest.readinto(room)) is not None:  # None: no bytes yet
                return int(got)
        count = min(len(room), len(self.head))
        room[:count] = self.head[:count]
        self.head = self.head[count:]
        return count

    def readable(self) -> bool:
        return True


class Inflated(io.RawIOBase):
    """The bytes of a gzip stream with any number of members, up to damage or the end."""

    def __init__(self, packed: Any) -> None:
        self.packed = packed
        self.input = b""
        self.member = self.new_member()

    @staticmethod
    def new_member() -> Any:
        from isal import isal_zlib

        return isal_zlib.decompressobj(wbits=31)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        """Read decompressed bytes into `room`. Raises EOFError for a cut stream, isal_zlib.error for a damaged one."""
        while True:
            if not self.input:
                self.input = self.packed.read(PACKED) or b""
            if self.member.eof and not self.input.startswith(GZIP):
                return 0  # the end, or padding after it, as from tar and tapes
            if not self.input:
                raise EOFError("it ends in the middle")
            if self.member.eof:
                self.member = self.new_member()
            found = self.member.decompress(self.input, len(room))
            self.input = self.member.unused_data if self.member.eof else self.member.unconsumed_tail
            if found:
                room[: len(found)] = found
                return len(found)

"""Sources that a grammar's words read: a buffer with a limit, or a stream read piece by piece."""

import io
from typing import Any, Protocol

from kcli.errors import DecodeError

# The limit of a stream of unknown length, such as a pipe.
ENDLESS = 1 << 62


class ReadableStream(Protocol):
    """The methods of a stream that construct uses for parsing."""

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes, or all bytes left by default."""

    def tell(self) -> int:
        """Return the offset of the next byte."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Seek to an offset, and return the new one."""


class ByteSource(io.BytesIO):
    """A buffer that is read only up to `limit`; errors tell how many bytes are missing.

    Offsets are those of the given buffer.
    """

    def __init__(self, data: bytes | bytearray | memoryview, offset: int = 0) -> None:
        super().__init__(data)
        self.limit = len(data)
        self.seek(offset)

    def left(self) -> int:
        """Return the number of bytes up to the limit."""
        return self.limit - self.tell()

    def take(self, size: int, path: str) -> bytes:
        """Return the next `size` bytes. Raises DecodeError if fewer are left."""
        if self.left() < size:
            raise self.short(size, path)
        return self.read(size)

    def short(self, size: int, path: str) -> DecodeError:
        """Return the error for a value of `size` bytes if fewer are left."""
        at, unit = self.tell(), "byte" if size == 1 else "bytes"
        return DecodeError(path, at, f"needs {size} {unit} at {at:#x}, {self.left()} left")


class StreamSource(ByteSource):
    """A source that reads from a stream only the bytes that words need, so that the stream is at their end
    afterwards.
    """

    def __init__(self, stream: ReadableStream) -> None:
        self.stream = stream
        try:
            self.start = stream.tell()
            end = stream.seek(0, io.SEEK_END)
            stream.seek(self.start)
            end = end if end > self.start else ENDLESS  # devices return 0
        except (AttributeError, OSError, ValueError):
            self.start, end = 0, ENDLESS
        super().__init__(b"", self.start)
        self.limit = end

    def tell(self) -> int:
        return self.start + super().tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Seek to an offset of the stream, which must have been read before; return the new offset."""
        return self.start + super().seek(offset - self.start, whence)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes, or all bytes left by default. Raises DecodeError if a pipe ends before `size`."""
        at, every = super().tell(), size is None or size < 0
        wanted = self.left() if size is None or size < 0 else size
        missing = wanted - (super().seek(0, io.SEEK_END) - at)
        if missing > 0:
            self.write(self.stream.read(-1 if every and self.limit == ENDLESS else missing))
        super().seek(at)
        data = super().read(wanted)
        if len(data) < wanted and not every and self.limit == ENDLESS:
            super().seek(at)
            self.limit = self.tell() + len(data)
            raise self.short(wanted, "")
        return data


class Window:
    """A view of a source for construct's own words, which read only up to its limit."""

    def __init__(self, source: ByteSource) -> None:
        self.source = source

    def read(self, size: int = -1, /) -> bytes:
        """Read up to `size` bytes, but none beyond the limit."""
        left = self.source.left()
        return self.source.read(left if size < 0 else min(size, left))

    def tell(self) -> int:
        """Return the offset of the next byte."""
        return self.source.tell()

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Seek to an offset, and return the new one."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self.source.tell(), io.SEEK_END: self.source.limit}[whence]
        return self.source.seek(base + offset)


def source_of(stream: Any) -> ByteSource:
    """Return the source of a stream that construct passes to a word. A BytesIO is not copied."""
    if isinstance(stream, ByteSource):
        return stream
    if isinstance(stream, Window):
        return stream.source
    if type(stream) is io.BytesIO:
        return ByteSource(stream.getvalue(), stream.tell())
    return StreamSource(stream)


def leave(stream: Any, source: ByteSource) -> None:
    """Move a stream to the end of the bytes that were read from its source."""
    if type(stream) is io.BytesIO:
        stream.seek(source.tell())

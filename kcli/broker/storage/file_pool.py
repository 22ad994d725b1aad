"""The open files of many logs. At the limit the least recently used file is closed for the next one.

A file is really closed when no object refers to it any more, so that a response that is sending a slice of a segment
can read it even after the topic was deleted. In a temporary folder short files are held in memory, so that thousands of
partitions with a batch each need no files and no folders.
"""

import errno
import io
import os
import resource
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

# Open files that are left for sockets, indexes and the interpreter.
RESERVED = 2048
FEWEST, MOST = 64, 8192
# The most bytes of one file in memory, and of all together.
LONGEST_HELD, MOST_HELD = 64 << 10, 64 << 20


def files_in(folder: Path, end: str) -> list[Path]:
    """Return the files of a folder with this suffix, sorted; [] if the folder does not exist.

    It takes a tenth of the time of Path.glob, and is called for each partition when a broker starts.
    """
    try:
        with os.scandir(folder) as found:
            return sorted(folder / each.name for each in found if each.name.endswith(end) and each.is_file())
    except FileNotFoundError:
        return []


class LogFile:
    """An open file. Positions are explicit, so that several users can share it."""

    __slots__ = ("fd",)

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def __del__(self) -> None:
        if hasattr(self, "fd"):
            os.close(self.fd)

    def fileno(self) -> int:
        """Return the file's descriptor."""
        return self.fd

    def read(self, position: int, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end of the file. Raises OSError."""
        return os.pread(self.fd, size, position)

    def write(self, parts: Sequence[bytes | memoryview], position: int, size: int) -> None:
        """Write all parts at the file's end, or nothing: after an error the file is truncated again. Raises OSError."""
        try:
            write_whole(self.fd, parts, position, size)
        except OSError:
            os.ftruncate(self.fd, position)
            raise

    def cut(self, size: int) -> None:
        """Truncate the file to `size` bytes. Raises OSError."""
        os.ftruncate(self.fd, size)

    def sync(self) -> None:
        """Wait until the data is on the disk. Raises OSError."""
        os.fsync(self.fd)


class HeldFile(LogFile):
    """A file in memory. After the pool has stored it, its users can still read the bytes that it had then."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def fileno(self) -> int:
        """Raise UnsupportedOperation (an OSError), as a file in memory has no descriptor."""
        raise io.UnsupportedOperation("a file in memory has no descriptor")

    def read(self, position: int, size: int) -> bytes:
        return bytes(self.data[position : position + size])

    def write(self, parts: Sequence[bytes | memoryview], position: int, size: int) -> None:
        self.data[position:] = b"".join(parts)

    def cut(self, size: int) -> None:
        """Truncate the file to `size` bytes."""
        del self.data[size:]

    def sync(self) -> None:
        """Do nothing, as the file does not outlive the process."""


def write_whole(fd: int, parts: Sequence[bytes | memoryview], position: int, size: int) -> None:
    """Write all parts, with as many system calls as it takes. Raises OSError."""
    done = os.pwritev(fd, parts, position)
    if done < size:
        rest = memoryview(b"".join(parts))
        while done < size:
            done += os.pwrite(fd, rest[done:], position + done)


class FilePool:
    """Files by path. limit: the most open files, by default the process's limit less a reserve. lasting: the folder
    stays after the broker. If not, files that only the next start would read are not written, and short files are held
    in memory.
    """

    def __init__(self, limit: int | None = None, *, lasting: bool = True) -> None:
        self.lasting = lasting
        if limit is None:
            granted = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
            limit = max(FEWEST, min(MOST, (granted - RESERVED) if granted > 2 * RESERVED else granted // 4))
        self.limit = limit
        self._open: OrderedDict[Path, LogFile] = OrderedDict()
        self._held: dict[Path, HeldFile] = {}
        self._held_bytes = 0

    def open(self, path: Path) -> LogFile:
        """Return the open file; create it if there is none. Raises OSError."""
        file = self._held.get(path) or self._open.get(path)
        if isinstance(file, HeldFile):
            return file
        if file is None:
            if not self.lasting and not path.exists():
                self._held[path] = held = HeldFile()
                return held
            while len(self._open) >= self.limit:
                self._open.popitem(last=False)
            file = self._open[path] = self._opened(path)
        else:
            self._open.move_to_end(path)
        return file

    def open_to_write(self, path: Path, size: int) -> LogFile:
        """Return the open file for a write of `size` bytes; first store it if it gets too long for memory. Raises
        OSError.
        """
        file = self.open(path)
        if not isinstance(file, HeldFile):
            return file
        if len(file.data) + size > LONGEST_HELD or self._held_bytes + size > MOST_HELD:
            self.store(path)
            return self.open(path)
        self._held_bytes += size
        return file

    def store(self, path: Path) -> None:
        """Write a file in memory to its folder, which is created if needed. Raises OSError."""
        held = self._held.get(path)
        if held is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held.data)
        self._release(path)

    def _release(self, path: Path) -> None:
        held = self._held.pop(path, None)
        self._held_bytes -= len(held.data) if held is not None else 0

    def _opened(self, path: Path) -> LogFile:
        """Open the file; if the system's limit is reached, close others first. Raises OSError."""
        while True:
            try:
                return LogFile(path)
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                    raise
                self._open.popitem(last=False)

    def forget(self, path: Path) -> None:
        """Close a file that will be deleted."""
        self._open.pop(path, None)
        self._release(path)

    def close(self) -> None:
        """Close all files."""
        self._open.clear()
        self._held.clear()

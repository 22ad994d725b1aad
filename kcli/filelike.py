"""File arguments of library calls: a path, an open binary file, or several of these."""

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from kcli import input_names
from kcli.errors import UsageError

CAPTURE_SUFFIXES = (".pcap", ".pcapng", ".cap", ".dmp")
PACKED_SUFFIXES = (".gz", ".zst", ".zstd")

BINARY = "a file opened in binary mode expected (open(path, 'rb'))"

File: TypeAlias = "str | Path | io.IOBase | Stream"
Files: TypeAlias = "File | Iterable[File]"


class Stream(io.RawIOBase):
    """A file that the caller has opened. It is read like a pipe, from its current position, and stays open."""

    def __init__(self, file: Any) -> None:
        self.file = file
        name = getattr(file, "name", None)
        self.name: str = name if isinstance(name, str) else "the open file"

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int | None:
        """Read bytes into the buffer and return their number; 0 is the end, None means that a non-blocking file has no
        bytes yet. Raises UsageError if the file is in text mode.
        """
        # `read1` of a buffered pipe returns the bytes at hand; only `read` distinguishes the end from no bytes yet, but
        # it waits for all bytes.
        some = getattr(self.file, "read1", self.file.read)
        data = some(len(room)) or self.file.read(1)
        if data is None:
            return None
        if not isinstance(data, bytes | bytearray | memoryview):
            raise UsageError(f"{self.name}: {BINARY}")
        room[: len(data)] = data
        return len(data)


def files_of(given: Files, what: str) -> list[str | Stream]:
    """Return paths and streams for the file arguments. what: the call's name in errors, as "read_capture". Raises
    UsageError if there is no file, or an argument of another type.
    """
    if isinstance(given, str | os.PathLike) or hasattr(given, "read"):
        return [file_of(given, what)]
    if isinstance(given, bytes | bytearray | memoryview):
        raise UsageError(f"{what}: a path or an open file expected, not bytes (for bytes: io.BytesIO(data))")
    if not isinstance(given, Iterable):
        raise UsageError(f"{what}: {expected(given)}")
    found = [file_of(each, what) for each in given]
    if not found:
        raise UsageError(f"{what}: no file was given")
    return found


def file_of(given: Any, what: str) -> str | Stream:
    if isinstance(given, str | os.PathLike):
        path = os.fsdecode(given)
        if not path:
            raise UsageError(f"{what}: an empty path")
        return path
    if isinstance(given, Stream):
        return given
    if isinstance(given, io.TextIOBase):
        raise UsageError(f"{what}: {BINARY}")
    if hasattr(given, "read"):
        return Stream(given)
    raise UsageError(f"{what}: {expected(given)}")


def expected(given: Any) -> str:
    return f"a path, a file opened in binary mode, or several of these expected, not {type(given).__name__}"


def name_of(file: str | Stream) -> str:
    """Return a file's name for errors."""
    return file.name if isinstance(file, Stream) else input_names.name_of(file)

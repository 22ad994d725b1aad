"""Finds the captures among the files and directories of a command."""

import contextlib
import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeVar

from kcli.errors import InputError

T = TypeVar("T")
ORDERS: tuple[Literal["big", "little"], ...] = ("big", "little")
SECTION = b"\x0a\x0d\x0d\x0a"  # the type of the block that begins a section of a pcapng file
# The first bytes of captures: pcap with either clock, in its modified form, and pcapng.
STARTS = frozenset(
    [SECTION, *(magic.to_bytes(4, order) for magic in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34) for order in ORDERS)]
)
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def captures_in(files: Iterable[T]) -> tuple[T | str, ...]:
    """Return the files; in place of a directory, the captures in it and its subdirectories, by name, and files that may
    not be read: the reader names them behind the others. Raises InputError for a directory without captures.

    files: paths, "-" for standard input, and open files.
    """
    found: list[T | str] = []
    for file in files:
        if not isinstance(file, str) or file == "-" or not Path(file).is_dir():
            found.append(file)
            continue
        inside = [str(path) for path in sorted(Path(file).rglob("*")) if path.is_file() and may_be_capture(path)]
        if not inside:
            raise InputError("no capture in this directory (pcap, pcapng, or either in gzip or zstd)", file=file)
        found += inside
    return tuple(found)


def may_be_capture(path: Path) -> bool:
    """Return whether a file begins like a capture, or may not be read."""
    try:
        return is_capture(path)
    except PermissionError:
        return True


def is_capture(path: Path) -> bool:
    """Return whether a file begins like a capture, also inside gzip or zstd. Raises OSError."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start.startswith(GZIP):
            with gzip.GzipFile(fileobj=file) as unpacked, contextlib.suppress(EOFError, OSError, zlib.error):
                start = unpacked.read(4)
        elif start == ZSTD:
            import zstandard

            with contextlib.suppress(zstandard.ZstdError):
                start = zstandard.ZstdDecompressor().stream_reader(file).read(4)
    return start in STARTS


def starts_capture(start: bytes) -> bool:
    """Return whether these bytes begin a capture, or a file in gzip or zstd, which may hold one."""
    return start[:4] in STARTS or start[:4] == ZSTD or start[:2] == GZIP

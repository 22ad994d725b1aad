"""The files that snapshot commands read: opened as maps, so that size costs no memory; directories by content."""

from __future__ import annotations

import mmap
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from kcli.cli.output import open_output
from kcli.errors import InputError, UsageError

if TYPE_CHECKING:
    from kcli.snapshots.directory import Listing
    from kcli.snapshots.names import SnapshotId

__all__ = [
    "OpenFile",
    "chosen_files",
    "listing_of",
    "metadata_directory",
    "open_file",
    "place_snapshot",
    "publish",
    "settle",
]

PIECE = 1 << 20


class OpenFile(NamedTuple):
    """name: as the file is called, without its directory; mapped: the map behind `data`, None for an empty file."""

    path: str
    name: str
    data: memoryview
    mapped: mmap.mmap | None


@contextmanager
def open_file(path: str) -> Iterator[OpenFile]:
    """A file's bytes, or standard input's for "-" (put aside in a temporary file: it may be large)."""
    if path == "-":
        import shutil
        import tempfile

        with tempfile.TemporaryFile() as aside:
            shutil.copyfileobj(sys.stdin.buffer, aside, PIECE)
            aside.flush()
            with opened_map(aside, "-", "standard input") as file:
                yield file
        return
    if Path(path).is_dir():
        raise InputError("is a directory (a file expected)", file=path)
    with Path(path).open("rb") as stream, opened_map(stream, path, Path(path).name) as file:
        yield file


@contextmanager
def opened_map(stream: IO[bytes], path: str, name: str) -> Iterator[OpenFile]:
    if stream.seek(0, 2) == 0:
        yield OpenFile(path, name, memoryview(b""), None)
        return
    mapped = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
    data = memoryview(mapped)
    try:
        yield OpenFile(path, name, data, mapped)
    finally:
        close(data, mapped)


def close(data: memoryview, mapped: mmap.mmap) -> None:
    """Unmap; where an error still holds a view of the bytes, leave that to the end of the process."""
    try:
        data.release()
        mapped.close()
    except BufferError:
        pass


def metadata_directory(path: str) -> Path:
    """The partition's directory: the one given, or its `__cluster_metadata-0`. InputError when it has no such files."""
    folder = Path(path)
    if not folder.is_dir():
        raise InputError("not a directory", file=path)
    inner = folder / "__cluster_metadata-0"
    return inner if inner.is_dir() else folder


def listing_of(folder: Path) -> Listing:
    from kcli.snapshots.directory import list_directory

    return list_directory(each.name for each in folder.iterdir() if each.is_file())


def chosen_files(paths: tuple[str, ...], *, logs: bool = False) -> list[str]:
    """The files themselves; of a directory its snapshots, and with `logs` its segments. InputError: it has none."""
    chosen: list[str] = []
    for path in paths:
        if path == "-" or not Path(path).is_dir():
            chosen.append(path)
            continue
        folder = metadata_directory(path)
        listing = listing_of(folder)
        names = [name for name, _ in listing.snapshots]
        if logs:
            names += [name for name, _ in listing.segments]
        if not names:
            raise InputError(f"no snapshot here (`<offset>-<epoch>.checkpoint` in {folder})", file=path)
        chosen += [str(folder / name) for name in names]
    return chosen


@contextmanager
def place_snapshot(folder: Path, identity: SnapshotId) -> Iterator[tuple[IO[bytes], Path]]:
    """Write a snapshot as Kafka does: under another name, to the disk, read-only, renamed. A failure leaves nothing.

    UsageError when there is one of this id already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    final = folder / identity.file_name
    if final.exists():
        raise UsageError(f"{final} is there already")
    with open_output(final, (), sealed=True) as stream:
        yield stream, final


def settle(stream: IO[bytes]) -> None:
    """Everything written, down to the disk."""
    stream.flush()
    os.fsync(stream.fileno())


def publish(part: Path, final: Path) -> None:
    """Give a finished file its name, and make it read-only as Kafka's snapshots are; the directory down to the disk."""
    part.chmod(0o444)
    part.rename(final)
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)

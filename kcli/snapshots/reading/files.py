"""Opens snapshots and metadata logs as memory maps, so that memory does not grow with their size; lists directories."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

from kcli.endless import refuse_endless
from kcli.errors import InputError, unreadable
from kcli.filelike import Stream, name_of
from kcli.input_names import STDIN
from kcli.records.recognition import LOOKED_AT, segment_name
from kcli.snapshots.reading.names import META_PROPERTIES, parse_snapshot_name, segment_offset
from kcli.temporary import temporary_file
from kcli.topic_names import METADATA_FOLDER
from kcli.whole_file import cut_text

if TYPE_CHECKING:
    import mmap

    from kcli.core.snapshots.map_guard import MapGuard
    from kcli.snapshots.reading.directory import Listing

PIECE = 1 << 20
SMALL = 4 << 20  # bytes; a file up to this size is read, not mapped
LOOKS, PATIENCE = 3, 30.0  # how often, and for how many seconds, `steady` reads folders that change

T = TypeVar("T")


class OpenFile(NamedTuple):
    """An open file. name: without its directory; mapped: the map behind `data`, None for a small file."""

    path: str
    name: str
    data: memoryview
    mapped: mmap.mmap | None


@contextmanager
def open_file(path: str | Stream) -> Iterator[OpenFile]:
    """Open a file. A stream, standard input ("-") or a named pipe is first copied to a temporary file.

    Raises OSError at the end if another program has truncated the file, as a node does with the end of its log.
    """
    if isinstance(path, Stream) or path == STDIN:
        is_stream = isinstance(path, Stream)
        with copied(
            path if isinstance(path, Stream) else sys.stdin.buffer, name_of(path) if is_stream else STDIN
        ) as file:
            yield file
        return
    if Path(path).is_dir():
        raise InputError("is a directory (a file expected)", file=path)
    refuse_endless(path)
    with (
        Path(path).open("rb") as stream,
        opened_map(stream, path, Path(path).name) if stream.seekable() else copied(stream, path) as file,
    ):
        yield file


@contextmanager
def copied(stream: IO[bytes] | Stream, path: str) -> Iterator[OpenFile]:
    """Open a temporary file with a stream's contents. It gets the stream's name, if that is a snapshot's or
    segment's.
    """
    import shutil

    with temporary_file() as aside:
        shutil.copyfileobj(stream, aside, PIECE)
        aside.flush()
        aside.seek(0)
        own = Path(name_of(stream if isinstance(stream, Stream) else path)).name
        unknown = own if isinstance(stream, Stream) else name_of(STDIN)
        name = name_of_contents(own, aside.read(LOOKED_AT)) or unknown
        with opened_map(aside, path, name) as file:
            yield file


def refuse_other(file: OpenFile) -> None:
    """Raise InputError for a file that is empty, unless it is a log segment, which may be; and for one that neither has
    the name of a snapshot or segment nor begins with a batch, as nothing in it can be read.
    """
    from kcli.snapshots.reading.framing import Fault, batches

    if not file.data and not file.name.endswith(".log"):
        raise InputError("no snapshot (empty)", file=file.path)
    if parse_snapshot_name(file.name) is None and segment_offset(file.name) is None:
        first = next(batches(file.data), None)
        if isinstance(first, Fault):
            raise InputError(f"no snapshot: at byte 0: {first.reason}", file=file.path)


def name_of_contents(name: str, start: bytes) -> str | None:
    """Return a stream's name if it is that of a snapshot or segment; else the name of the segment that begins with
    these bytes; None if neither is known.
    """
    if parse_snapshot_name(name) is not None or segment_offset(name) is not None:
        return name
    return segment_name(start)


@contextmanager
def opened_map(stream: IO[bytes], path: str, name: str) -> Iterator[OpenFile]:
    """Open a file mapped into memory; a small one is read. Raises OSError if the file is truncated meanwhile, where a
    bare map would end the process with a signal.
    """
    if stream.seek(0, 2) <= SMALL:
        stream.seek(0)
        yield OpenFile(path, name, readable(memoryview(stream.read()), path), None)
        return
    import mmap

    from kcli.core.snapshots.map_guard import MapGuard

    mapped = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
    data, guard = memoryview(mapped), MapGuard(mapped)
    try:
        try:
            yield OpenFile(path, name, readable(data, path), mapped)
        except InputError:
            check_whole(stream, path, data, guard)
            raise
        check_whole(stream, path, data, guard)
    finally:
        guard.close()
        close(data, mapped)


def readable(data: memoryview, path: str) -> memoryview:
    """Return a file's bytes. Raises InputError if they are no metadata."""
    from kcli.snapshots.reading.foreign import foreign_log

    if reason := foreign_log(data):
        raise InputError(reason, file=path)
    if data[:1].tobytes() != b"\0":  # most files begin with it and save the import
        from kcli.file_kinds import recognized

        if kind := recognized(data, certain=True):
            raise InputError(f"no snapshot ({kind})", file=path)
    return data


def check_whole(stream: IO[bytes], path: str, data: memoryview, guard: MapGuard) -> None:
    """Raise OSError if a file is shorter than its map, because zeros can have been read in place of its contents."""
    left = os.fstat(stream.fileno()).st_size
    if left < len(data) or guard.was_cut:
        raise OSError(errno.EIO, cut_text(len(data), left), path) from None


def close(data: memoryview, mapped: mmap.mmap) -> None:
    """Close the map. If an error still holds a view of the bytes, the map stays open until the process ends."""
    try:
        data.release()
        mapped.close()
    except BufferError:
        pass


def metadata_directory(path: str) -> Path:
    """Return the partition's directory: `__cluster_metadata-0` in the path if there is one, else the path. Raises
    InputError if it is no directory, or only has the log of KRaft's preview.
    """
    from kcli.snapshots.reading.foreign import FOLDER, PREVIEW

    folder = Path(path)
    if not folder.is_dir():
        try:
            folder.stat()
        except OSError as error:
            raise unreadable(error, path) from None
        raise InputError(f"not a directory ({METADATA_FOLDER}, or the log directory around it, expected)", file=path)
    inner = folder / METADATA_FOLDER
    if not inner.is_dir() and (folder / FOLDER).is_dir():
        raise InputError(PREVIEW, file=path)
    return inner if inner.is_dir() else folder


def cluster_of(folder: Path) -> str | None:
    """Return the cluster id in the `meta.properties` beside a partition's directory; None if there is none."""
    from kcli.java_properties import read_properties

    try:
        return read_properties(folder.parent / META_PROPERTIES).get("cluster.id") or None
    except InputError:
        return None


def several_clusters(nodes: Iterable[tuple[str | Path, str | None]]) -> str | None:
    """Return the problem of nodes of different clusters; None if no two are known to be. nodes: (path, cluster id)."""
    known = [(path, cluster) for path, cluster in nodes if cluster]
    if len({cluster for _, cluster in known}) < 2:
        return None
    named = ", ".join(f"{path} {cluster}" for path, cluster in known)
    return f"nodes of several clusters, by meta.properties: {named}"


def listing_of(folder: Path) -> Listing:
    """Return the files of a directory, by kind."""
    from kcli.snapshots.reading.directory import list_directory, note_odd

    entries = {each.name: each.is_file() for each in folder.iterdir()}
    listing = list_directory(name for name, is_file in entries.items() if is_file)
    for name in sorted(name for name, is_file in entries.items() if not is_file):
        note_odd(listing, name, kind_of(folder / name))
    return listing


def kind_of(path: Path) -> str:
    """Return what a path is that is no file."""
    from kcli.snapshots.reading.directory import NO_TARGET

    if path.is_dir():
        return "a folder"
    if path.is_fifo():
        return "a pipe"
    return NO_TARGET if path.is_symlink() else "a device or a socket"


def log_directory(folder: Path) -> Path:
    """Return the log directory of a partition's directory, named as the user named that one where it can be."""
    return folder.parent if folder.name not in ("", "..") else folder.absolute().parent


def chosen_files(paths: tuple[str, ...], *, logs: bool = False) -> list[str]:
    """Return the files; a directory is replaced by its snapshots and, with `logs`, its segments. Raises InputError if
    it has none.
    """
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


def steady(
    folders: Sequence[Path], look: Callable[[], T], is_fine: Callable[[T], bool], is_whole: Callable[[T], bool]
) -> T:
    """Call `look` on folders, and repeat it while its result is not fine and a running node wrote or removed files
    meanwhile.

    After LOOKS calls a result that is whole (every file was read) is returned, and after PATIENCE seconds any.
    """
    until, left = time.monotonic() + PATIENCE, LOOKS
    while True:
        before, left = sizes(folders), left - 1
        found = look()
        if is_fine(found) or sizes(folders) == before:
            return found
        if left <= 0 and (is_whole(found) or time.monotonic() > until):
            return found


def sizes(folders: Sequence[Path]) -> dict[Path, int]:
    """Return {path: size in bytes} of the files in folders."""
    found = {}
    for folder in folders:
        for path in folder.iterdir():
            with suppress(OSError):  # deleted meanwhile, or a loop of links
                found[path] = path.stat().st_size
    return found

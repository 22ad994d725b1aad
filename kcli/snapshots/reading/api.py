"""Reads a metadata image from a snapshot, or from a directory of snapshots and the log after them."""

import os
import time
from pathlib import Path
from typing import NamedTuple

from kcli.arguments import need
from kcli.errors import InputError, UsageError, unreadable
from kcli.filelike import Files, Stream, files_of, name_of
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.files import listing_of, metadata_directory, open_file, refuse_other
from kcli.snapshots.reading.load import Loader
from kcli.snapshots.reading.names import NOTHING, SnapshotName, parse_snapshot_name


class Wanted(NamedTuple):
    """The image to load.

    path: a snapshot, or a directory of snapshots and segments; log: a directory of segments to replay after it;
    at_offset: the first log offset that is not included; at_time: instead of it, the last time (ms) that is included;
    before: of a directory use no snapshot that ends at this offset or later
    """

    path: str | Stream
    log: str | None = None
    at_offset: int | None = None
    before: int | None = None
    at_time: int | None = None


class Loaded(NamedTuple):
    """A loaded image.

    loader: has the image; sources: the files that were read; seconds: of loading; note: why the image ends before the
    requested offset, None if it does not
    """

    loader: Loader
    sources: list[str]
    seconds: float
    note: str | None = None


def parse_wanted(text: str) -> Wanted:
    """Parse `PATH`, `PATH@OFFSET` or `PATH@TIME`. A text that is a file's name is a path."""
    path, mark, place = text.rpartition("@")
    if not mark or Path(text).exists():
        return Wanted(text)
    if place.isdecimal():
        return Wanted(path, None, int(place))
    try:
        return Wanted(path, at_time=parse_time(place))
    except UsageError:
        return Wanted(text)


def parse_time(text: str) -> int:
    """Return the ms since 1970 of an ISO 8601 time (UTC without a zone). Raises UsageError."""
    from kcli.capture.kafka.clock import parse_instant

    return parse_instant(text) // 1_000_000


def read_snapshot(
    file: Files,
    *,
    log: str | os.PathLike[str] | None = None,
    at_offset: int | None = None,
    dialect: str | None = None,
) -> Image:
    """Return the metadata image of a KRaft snapshot (KIP-630): topics, brokers, configs, ACLs, features.

    file: a snapshot, by path or opened in binary mode, or a directory, of which the newest snapshot and the log after
    that are read. log: a directory of segments to replay after the snapshot. at_offset: the first log offset that is
    not included; an offset inside a batch means the state before that batch, because no node ever had the state in
    between. Raises InputError at the first thing that can't be read or applied, UsageError for arguments that make no
    sense.
    """
    found = files_of(file, "read_snapshot")
    if len(found) > 1:
        raise UsageError("read_snapshot: one snapshot or directory expected")
    need("log", "" if log is None else log, (str, os.PathLike), "a directory")
    need("at_offset", 0 if at_offset is None else at_offset, int, "an offset")
    wanted = Wanted(found[0], None if log is None else os.fspath(log), at_offset)
    try:
        return load_image(wanted, dialect=dialect, strict=True).loader.image
    except OSError as error:
        raise unreadable(error, name_of(found[0])) from None


def apart(*both: Wanted) -> list[Wanted]:
    """Return two sources of which neither reads its state from the other one's snapshot; it is replayed from an earlier
    state instead. Times are replaced by offsets.

    Raises InputError if nothing leads to a state but that snapshot, or the log does not reach back to a time; raises
    UsageError if there is no log for a time.
    """
    first, second = map(at_its_offset, both)
    return [apart_from(first, second), apart_from(second, first)]


def apart_from(wanted: Wanted, other: Wanted) -> Wanted:
    if wanted.at_offset is None or not is_directory(wanted.path) or isinstance(other.path, Stream):
        return wanted
    folder, file = metadata_directory(str(wanted.path)), Path(other.path)
    name = parse_snapshot_name(file.name)
    if name is None or name.id.end_offset != wanted.at_offset or file.resolve().parent != folder.resolve():
        return wanted
    found = wanted._replace(before=wanted.at_offset)
    listing = listing_of(folder)
    if chosen_snapshot(found) is None and (not listing.segments or listing.segments[0][1] > 0):
        raise InputError(f"no log leads to offset {wanted.at_offset} but from {file.name} itself", file=str(folder))
    return found


def load_image(wanted: Wanted, *, dialect: str | None = None, strict: bool = False) -> Loaded:
    """Load the image from the newest snapshot that is not past the offset, and the log after it. Raises InputError,
    UsageError.
    """
    began = time.perf_counter()
    loader, sources = Loader(dialect, strict=strict), list[str]()
    folder, wanted = log_folder(wanted), at_its_offset(wanted)
    snapshot = chosen_snapshot(wanted)
    if snapshot is not None:
        take_snapshot(loader, snapshot)
        sources.append(name_of(snapshot))
    if folder is not None:
        sources += take_log(loader, folder, wanted.at_offset)
    reached = loader.image.provenance.end_offset
    note = None
    if loader.split is not None:
        first, after = loader.split
        note = f"offset {wanted.at_offset} lies inside the batch of {first} to {after - 1}: the state before {first}"
    elif wanted.at_offset is not None and reached < wanted.at_offset:
        raise InputError(
            f"offset {wanted.at_offset} is not reached: the files end at {reached}", file=name_of(wanted.path)
        )
    return Loaded(loader, sources, time.perf_counter() - began, note)


def at_its_offset(wanted: Wanted) -> Wanted:
    """Return the source with its time replaced by an offset. Raises UsageError if it has no log, InputError if the log
    begins after the time.
    """
    if wanted.at_time is None:
        return wanted
    folder = log_folder(wanted)
    if folder is None:
        raise UsageError(f"{name_of(wanted.path)}: a time is one of a log: give the directory, or --log")
    from kcli.snapshots.reading.log_batches import offset_at

    segments = [str(folder / name) for name, _ in listing_of(folder).segments]
    return wanted._replace(at_offset=offset_at(segments, wanted.at_time, str(folder)), at_time=None)


def log_folder(wanted: Wanted) -> Path | None:
    if wanted.log is not None:
        return metadata_directory(wanted.log)
    return metadata_directory(str(wanted.path)) if is_directory(wanted.path) else None


def is_directory(path: str | Stream) -> bool:
    return not isinstance(path, Stream) and Path(path).is_dir()


def chosen_snapshot(wanted: Wanted) -> str | Stream | None:
    """Return the file itself, or of a directory the newest snapshot that ends at or before the offset; None if it has
    none. Raises UsageError if the file ends after the offset.
    """
    if isinstance(wanted.path, Stream) or not is_directory(wanted.path):
        name = parse_snapshot_name(Path(name_of(wanted.path)).name)
        if name is not None and wanted.at_offset is not None and name.id.end_offset > wanted.at_offset:
            raise UsageError(
                f"{name_of(wanted.path)} ends at {name.id.end_offset}, past --at-offset {wanted.at_offset}"
            )
        return wanted.path
    folder = metadata_directory(wanted.path)
    usable = [
        (each.id, name)
        for name, each in listing_of(folder).snapshots
        if (wanted.at_offset is None or each.id.end_offset <= wanted.at_offset)
        and (wanted.before is None or each.id.end_offset < wanted.before)
    ]
    return str(folder / max(usable)[1]) if usable else None


def take_snapshot(loader: Loader, path: str | Stream) -> None:
    """Load one snapshot file. Raises InputError with the file's name."""
    with open_file(path) as file:
        refuse_other(file)
        name: SnapshotName | None = parse_snapshot_name(file.name)
        end, epoch = (name.id.end_offset, name.id.epoch) if name else (0, 0)
        try:
            loader.snapshot(file.data, end_offset=end, epoch=epoch, mapped=file.mapped)
        except InputError as error:
            raise error.within(name_of(path)) from None


def take_log(loader: Loader, folder: Path, until: int | None) -> list[str]:
    """Replay the segments of a folder after the loader's image. Returns the paths of the segments that were read.
    Raises InputError.
    """
    listing = listing_of(folder)
    segments = listing.segments
    start = loader.image.provenance.end_offset
    if not segments:
        if not listing.snapshots:
            raise InputError(NOTHING, file=str(folder))
        return []
    if segments[0][1] > start:
        text = f"the log begins at {segments[0][1]}, the snapshot ends at {start}: what is between is missing"
        raise InputError(text, file=str(folder))
    ends = [base for _, base in segments[1:]] + [None]
    used = [
        str(folder / name)
        for (name, base), end in zip(segments, ends, strict=True)
        if (end is None or end > start) and (until is None or max(base, start) < until)
    ]
    for path in used:
        with open_file(path) as file:
            try:
                loader.segment(file.data, until=until, mapped=file.mapped, more=path != used[-1])
            except InputError as error:
                raise error.within(path) from None
    return used

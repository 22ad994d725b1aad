"""Loading a metadata image from what a command line names: a snapshot, a directory, a log, an offset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kcli.cli.snapshot_files import listing_of, metadata_directory, open_file
from kcli.errors import InputError, UsageError
from kcli.snapshots.load import Loader
from kcli.snapshots.names import SnapshotName, parse_snapshot_name

__all__ = ["Loaded", "Wanted", "load_image", "parse_wanted"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """path: a snapshot, or a directory of snapshots and segments; log: a directory of segments to replay behind it;
    at_offset: the first log offset that is not wanted."""

    path: str
    log: str | None = None
    at_offset: int | None = None


@dataclass(slots=True)
class Loaded:
    """loader: with the image; sources: the files that were read; seconds it took."""

    loader: Loader
    sources: list[str]
    seconds: float


def parse_wanted(text: str) -> Wanted:
    """`PATH` or `PATH@OFFSET` (where no file has that name)."""
    path, mark, offset = text.rpartition("@")
    if mark and offset.isdecimal() and not Path(text).exists():
        return Wanted(path, None, int(offset))
    return Wanted(text)


def load_image(wanted: Wanted, *, dialect: str | None = None, strict: bool = False) -> Loaded:
    """The image, by the newest snapshot that is not past the offset, and the log behind it. InputError, UsageError."""
    import time

    began = time.perf_counter()
    loader, sources = Loader(dialect, strict=strict), list[str]()
    folder = log_folder(wanted)
    snapshot = chosen_snapshot(wanted)
    if snapshot is not None:
        take_snapshot(loader, snapshot)
        sources.append(snapshot)
    if folder is not None:
        sources += take_log(loader, folder, wanted.at_offset)
    reached = loader.image.provenance.end_offset
    if wanted.at_offset is not None and reached < wanted.at_offset:
        raise InputError(f"offset {wanted.at_offset} is not reached: the files end at {reached}", file=wanted.path)
    return Loaded(loader, sources, time.perf_counter() - began)


def log_folder(wanted: Wanted) -> Path | None:
    if wanted.log is not None:
        return metadata_directory(wanted.log)
    return metadata_directory(wanted.path) if Path(wanted.path).is_dir() else None


def chosen_snapshot(wanted: Wanted) -> str | None:
    """The file itself, or of a directory the newest snapshot that ends at or before the offset."""
    if not Path(wanted.path).is_dir():
        name = parse_snapshot_name(Path(wanted.path).name)
        if name is not None and wanted.at_offset is not None and name.id.end_offset > wanted.at_offset:
            raise UsageError(f"{wanted.path} ends at {name.id.end_offset}, past --at-offset {wanted.at_offset}")
        return wanted.path
    folder = metadata_directory(wanted.path)
    usable = [
        (each.id, name)
        for name, each in listing_of(folder).snapshots
        if wanted.at_offset is None or each.id.end_offset <= wanted.at_offset
    ]
    return str(folder / max(usable)[1]) if usable else None


def take_snapshot(loader: Loader, path: str) -> None:
    with open_file(path) as file:
        name: SnapshotName | None = parse_snapshot_name(file.name)
        end, epoch = (name.id.end_offset, name.id.epoch) if name else (0, 0)
        try:
            loader.snapshot(file.data, end_offset=end, epoch=epoch, mapped=file.mapped)
        except InputError as error:
            raise error.within(path) from None


def take_log(loader: Loader, folder: Path, until: int | None) -> list[str]:
    """Replay the segments of a folder behind the image; the files that were read."""
    listing = listing_of(folder)
    segments = listing.segments
    start = loader.image.provenance.end_offset
    if not segments:
        if not listing.snapshots:
            raise InputError("neither a snapshot nor a log segment is here", file=str(folder))
        return []
    if segments[0][1] > start:
        text = f"the log begins at {segments[0][1]}, the snapshot ends at {start}: what is between is missing"
        raise InputError(text, file=str(folder))
    used = []
    for index, (name, base) in enumerate(segments):
        following = segments[index + 1][1] if index + 1 < len(segments) else None
        if (following is not None and following <= start) or (until is not None and max(base, start) >= until):
            continue
        used.append(str(folder / name))
        with open_file(used[-1]) as file:
            try:
                loader.segment(file.data, until=until, mapped=file.mapped)
            except InputError as error:
                raise error.within(used[-1]) from None
    return used

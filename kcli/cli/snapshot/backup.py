"""kcli snapshot backup: a checked copy of a node's metadata log."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.options.inputs import dialect_option, quiet_option
from kcli.cli.snapshot.findings import Look, findings, is_fine, is_whole
from kcli.cli.terminal.lines import print_line, print_note
from kcli.cli.terminal.output import PRIVATE, SEALED, sync_folder
from kcli.counting import bytes_text, counted
from kcli.errors import InputError, UsageError, all_of, unreadable
from kcli.filelike import name_of
from kcli.small_files import read_small
from kcli.snapshots.reading.files import listing_of, metadata_directory, steady
from kcli.snapshots.reading.names import META_PROPERTIES, SMALL_FILES
from kcli.temporary import TemporaryFolder
from kcli.topic_names import METADATA_FOLDER

if TYPE_CHECKING:
    from kcli.snapshots.reading.directory import Listing


@click.command()
@click.argument("source", metavar="DIR")
@click.option("-o", "--output", required=True, metavar="NEW", help="The folder for the copy; it must not exist.")
@quiet_option("Print nothing but errors.")
@dialect_option
def backup(source: str, output: str, quiet: bool, dialect: str | None) -> int:
    """Copy the metadata log of a node, its snapshots and meta.properties, into a new folder, and verify the copy.

    DIR is `__cluster_metadata-0` or the log directory around it, also of a running node: if the node deletes a part of
    its log meanwhile, kcli copies again. NEW gets its name only after the copy has passed `kcli snapshot verify` and is
    synced to disk; an existing NEW is never changed. `kcli snapshot restore NEW` starts a quorum with it. Exit code 1:
    the files are damaged, and there is no copy.

    \b
    kcli snapshot backup /var/kafka/meta -o backup/2026-11-27
    """
    folder, target = metadata_directory(source), Path(output)
    refuse_place(folder, target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryFolder(".kcli-", beside=target) as made:
        try:
            found, problems = checked_copy(folder, Path(made), dialect)
        except OSError as error:
            error.filename = error.filename or output  # of a full disk: the system names no file
            raise
        if problems:
            raise all_of(problems)
        errors = [each for each in found if each.is_error]
        for each in errors:
            print_note("kcli: ", f"{original(each.file, Path(made), folder)}: {each.message} ({each.rule})")
        if errors:
            return 1
        copied = sorted(path for path in Path(made).rglob("*") if path.is_file())
        size = sum(path.stat().st_size for path in copied)
        sync_folder(Path(made) / METADATA_FOLDER)
        sync_folder(Path(made))
        refuse_place(folder, target)  # it may have come meanwhile
        Path(made).rename(target)
        sync_folder(target.parent)
    if not quiet:
        print_line(str(target))
        print_note(f"{counted(len(copied), 'file')}, {bytes_text(size)}; kcli snapshot restore starts a quorum with it")
    return 0


def refuse_place(folder: Path, target: Path) -> None:
    """Raise UsageError if the target exists, or lies within the copied folder."""
    if os.path.lexists(target):
        raise UsageError(f"-o {target}: exists already (a new folder expected)")
    if folder.resolve() in (target.resolve(), *target.resolve().parents):
        raise UsageError(f"-o {target}: is inside {folder}, which is copied")


def original(copied: str, made: Path, folder: Path) -> Path:
    """Return the file that a copy was made from."""
    inside = Path(copied).relative_to(made)
    first, *rest = inside.parts
    return folder.joinpath(*rest) if first == METADATA_FOLDER else folder.parent / inside


def checked_copy(folder: Path, made: Path, dialect: str | None) -> Look:
    """Copy the files of a metadata log; return the faults of the copy.

    If a node writes meanwhile, it can be copied again. Raises InputError if there is nothing to copy.
    """

    def look() -> Look:
        problems: list[InputError] = []
        try:
            copy_files(folder, made)
        except FileNotFoundError as error:  # it was dropped on the way
            return [], [unreadable(error, error.filename)]
        found = [*findings(str(made), dialect, problems, replay=False)]
        for each in problems:
            each.file = str(original(name_of(each.file or str(made)), made, folder))
        return found, problems

    return steady([folder], look, is_fine, is_whole)


def copy_files(folder: Path, made: Path) -> None:
    """Copy the files of a metadata log, and nothing else, in place of an earlier copy. Raises InputError."""
    listing = listing_of(folder)
    if not listing.snapshots and not listing.segments:
        raise InputError("no snapshot and no log segment of a metadata log here", file=str(folder))
    inside = made / METADATA_FOLDER
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir(mode=0o700)
    for name in names_of(listing):
        if name in SMALL_FILES:
            check_small(folder / name)
        copy_file(folder / name, inside / name)
    properties = folder.parent / META_PROPERTIES
    if folder.name == METADATA_FOLDER and properties.is_file():
        check_small(properties)
        copy_file(properties, made / META_PROPERTIES)


def names_of(listing: Listing) -> Iterator[str]:
    """Yield the files to copy, in the order in which a node deletes them."""
    for name, _ in (*listing.segments, *listing.snapshots):
        yield name
    # Not the indexes: a node that starts on the log makes them again.
    yield from (name for name in SMALL_FILES if name in listing.others)


def check_small(path: Path) -> None:
    """Raise InputError for a file that is too large for what it should be, before it fills the disk."""
    try:
        read_small(path)
    except InputError as error:
        raise error.within(str(path)) from None


def copy_file(source: Path, target: Path) -> None:
    """Copy a file and sync it, readable by its owner only, as metadata contains SCRAM keys."""
    mode = SEALED if target.suffix == ".checkpoint" else PRIVATE
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    with source.open("rb") as reading, os.fdopen(handle, "wb") as writing:
        shutil.copyfileobj(reading, writing, 1 << 20)
        writing.flush()
        os.fsync(writing.fileno())
        os.fchmod(writing.fileno(), mode)

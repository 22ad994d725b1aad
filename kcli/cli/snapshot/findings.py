"""Findings of `kcli snapshot verify` in files, and in the folders of metadata logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kcli.errors import InputError, unreadable
from kcli.small_files import read_small
from kcli.snapshots.reading.files import listing_of, log_directory, metadata_directory, open_file, steady
from kcli.snapshots.rules.evidence import Evidence
from kcli.snapshots.rules.examination import Follower, Lookups, examine
from kcli.snapshots.rules.findings import SnapshotFinding
from kcli.snapshots.rules.verification import judge

if TYPE_CHECKING:
    from kcli.snapshots.rules.directory_rules import DirectoryEvidence

HEAD = 1 << 16  # bytes of a snapshot that its header lies in

T = TypeVar("T")
Examined = tuple[Evidence, list[SnapshotFinding]]
Look = tuple[list[SnapshotFinding], list[InputError]]  # findings; files that could not be read


def findings(path: str, dialect: str | None, problems: list[InputError], replay: bool) -> Iterator[SnapshotFinding]:
    """Yield the findings on a file or folder; errors of reading are added to `problems`."""
    if is_folder(path):
        yield from steady_findings(metadata_directory(path), dialect, problems, replay)
    elif found := examined(path, dialect, problems):
        yield from in_order(found[1], path)


def is_folder(path: str) -> bool:
    """Return whether a path is a folder."""
    return path != "-" and Path(path).is_dir()


def examined(
    path: str,
    dialect: str | None,
    problems: list[InputError],
    lookups: Lookups | None = None,
    follower: Follower | None = None,
) -> Examined | None:
    """Examine and judge a file. None: it can't be read, which is added to `problems`."""
    try:
        with open_file(path) as file:
            found = examine(
                file.data, file.name, dialect=dialect, mapped=file.mapped, lookups=lookups, follower=follower
            )
            judged = list(judge(found))
            found.rescan = lambda: ()
            return found, judged
    except InputError as error:
        problems.append(error)
    except OSError as error:
        problems.append(unreadable(error, path))
    return None


def in_order(found: Iterable[SnapshotFinding], path: str) -> Iterator[SnapshotFinding]:
    """Yield errors first, each with the path of its file."""
    for finding in sorted(found, key=lambda each: not each.is_error):
        yield replace(finding, file=path)


def steady_findings(
    folder: Path, dialect: str | None, problems: list[InputError], replay: bool
) -> Iterator[SnapshotFinding]:
    """Yield the findings on a folder, from a look during which nothing changed there, where there is one."""

    def look() -> Look:
        unread: list[InputError] = []
        return list(directory_findings(folder, dialect, unread, replay)), unread

    found, unread = steady([folder], look, is_fine, is_whole)
    problems += unread
    yield from found


def replay_findings(folder: Path, dialect: str | None, problems: list[InputError]) -> list[SnapshotFinding]:
    from kcli.snapshots.history.replayed import replay_folder

    try:
        return list(replay_folder(folder, dialect))
    except OSError as error:
        problems.append(unreadable(error, error.filename or str(folder)))
    except InputError as error:
        problems.append(error)
    return []


def directory_findings(
    folder: Path, dialect: str | None, problems: list[InputError], replay: bool
) -> Iterator[SnapshotFinding]:
    """Judge each file by itself, then all together, where all could be read."""
    from kcli.snapshots.rules.directory_rules import DirectoryEvidence, judge_directory

    evidence = DirectoryEvidence(listing_of(folder))
    lookups = asked_of(folder, evidence)
    known: dict[Path, Examined | None] = {}

    def look_at(path: Path, follower: Follower | None = None) -> Examined | None:
        if path not in known:
            known[path] = examined(str(path), dialect, problems, lookups, follower)
        return known[path]

    before = len(problems)
    follows = replay and is_replayed(folder, dialect, evidence, look_at)
    for name, kept in files_of(evidence):
        if found := look_at(folder / name):
            kept.append(found[0])
            yield from in_order(found[1], str(folder / name))
    if len(problems) > before:
        return
    read_small_files(folder, evidence)
    for finding in judge_directory(evidence):
        path = os.path.normpath(folder / finding.file) if finding.file else str(folder)
        yield SnapshotFinding(finding.severity, finding.rule, finding.message, finding.offset, path)
    if replay and not follows:
        yield from replay_findings(folder, dialect, problems)


def asked_of(folder: Path, evidence: DirectoryEvidence) -> Lookups:
    """Return what to look up in the folder's segments for its snapshots."""
    from kcli.snapshots.reading.log_spans import header_time

    times = set()
    for name, _ in evidence.listing.snapshots:
        with suppress(OSError), (folder / name).open("rb") as file:
            times.add(header_time(memoryview(file.read(HEAD))))
    return Lookups({each.end_offset for each in evidence.ids}, {time for time in times if time is not None})


def is_replayed(
    folder: Path,
    dialect: str | None,
    evidence: DirectoryEvidence,
    look_at: Callable[[Path, Follower], Examined | None],
) -> bool:
    """Return whether a replay of the log, while its segments are read, leads to every snapshot on the way."""
    from kcli.snapshots.history.folder_replay import FolderReplay

    replayed = FolderReplay(folder, dialect, look_at)
    for name, _ in evidence.listing.segments:
        look_at(folder / name, replayed)
    return replayed.finish()


def files_of(evidence: DirectoryEvidence) -> Iterator[tuple[str, list[Evidence]]]:
    for name, _ in evidence.listing.snapshots:
        yield name, evidence.snapshots
    for name, _ in evidence.listing.segments:
        yield name, evidence.segments


def read_small_files(folder: Path, evidence: DirectoryEvidence) -> None:
    from kcli.snapshots.reading.directory import parse_leader_epochs, parse_partition_metadata, parse_quorum_state

    identify(folder, evidence)
    evidence.quorum = small_file(folder / "quorum-state", parse_quorum_state, evidence)
    evidence.epochs = small_file(folder / "leader-epoch-checkpoint", parse_leader_epochs, evidence)
    evidence.topic_id = small_file(folder / "partition.metadata", parse_partition_metadata, evidence)


def identify(folder: Path, evidence: DirectoryEvidence) -> None:
    """Read who the node is."""
    from kcli.snapshots.quorum.node import identity_of

    evidence.identity = identity_of(log_directory(folder))


def small_file(path: Path, parse: Callable[[str], T], evidence: DirectoryEvidence) -> T | None:
    """Parse a file. Returns None if it is missing, or can't be read, which is noted."""
    if not path.is_file():
        return None
    try:
        return parse(read_small(path))
    except InputError as error:
        evidence.unread.append((path.name, str(error)))
        return None


def is_fine(seen: Look) -> bool:
    """Return whether everything could be read, without errors."""
    return is_whole(seen) and not any(each.is_error for each in seen[0])


def is_whole(seen: Look) -> bool:
    """Return whether everything could be read."""
    return not seen[1]

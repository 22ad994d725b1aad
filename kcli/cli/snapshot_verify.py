"""kcli snapshot verify: is a snapshot, a segment, or a whole directory as Kafka needs it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from kcli.cli.inputs import (
    dialect_option,
    format_option,
    quiet_option,
)
from kcli.cli.lines import print_line, print_note
from kcli.cli.problems import conclude
from kcli.counting import counted
from kcli.errors import InputError
from kcli.snapshots.directory import parse_leader_epochs, parse_partition_metadata, parse_quorum_state
from kcli.snapshots.evidence import Evidence
from kcli.snapshots.examination import Asked, Follower, examine
from kcli.snapshots.files import listing_of, metadata_directory, open_file, steady
from kcli.snapshots.findings import SnapshotFinding
from kcli.snapshots.log_spans import header_time
from kcli.snapshots.names import parse_snapshot_name
from kcli.snapshots.rules_directory import DirectoryEvidence, judge_directory
from kcli.snapshots.verification import judge

__all__ = ["verify"]

if TYPE_CHECKING:
    from kcli.snapshots.replayed import Node

HEAD = 1 << 16  # bytes of a snapshot that its header lies in

T = TypeVar("T")
Examined = tuple[Evidence, list[SnapshotFinding]]
Look = tuple[list[SnapshotFinding], list[InputError]]  # what was found; what could not be read


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...")
@format_option(("table", "jsonl"), "Findings as text, or one JSON object each.", default="table", name="form")
@click.option(
    "--replay",
    is_flag=True,
    help="Replay the log from each snapshot to the next, and compare; compare snapshots of one id, of several nodes.",
)
@quiet_option("Only findings: no summary.")
@dialect_option
def verify(paths: tuple[str, ...], form: str, replay: bool, quiet: bool, dialect: str | None) -> int:
    """Check snapshots, metadata log segments, or a partition's directory; exit 1 when something is wrong.

    Framing, checksums, offsets, header and footer, the name against the content, every record, and what records say of
    each other. For a directory (`__cluster_metadata-0`, or the log directory around it) also whether each snapshot fits
    the log (offset, epoch, time), KIP-630's invariant, leader-epoch-checkpoint and quorum-state. What is unusual but
    lawful is a note. What can't be read is an error of its own (exit 3), and all else is still verified.

    With --replay each snapshot and the log behind it have to make the next one, object for object; the first one has
    to follow from a log that begins at 0. Several DIRs are nodes of one quorum: snapshots of one id hold the same.

    \b
    kcli snapshot verify __cluster_metadata-0
    kcli snapshot verify --replay node1/__cluster_metadata-0 node2/__cluster_metadata-0
    kcli snapshot verify *.checkpoint --format jsonl
    """
    errors, problems = 0, list[InputError]()
    for path in paths:
        verdict, before = Verdict(), len(problems)
        for finding in findings(path, dialect, problems, replay):
            verdict.count(finding)
            write(finding, form)
        errors += verdict.errors
        verdict.unread = len(problems) - before
        if not quiet and (is_folder(path) or not verdict.unread):
            (print_line if form == "table" else print_note)(f"{path}: {verdict}")
    for finding in across(paths, dialect, problems) if replay else ():
        errors += finding.is_error
        write(finding, form)
    conclude(problems, quiet)
    return 1 if errors else 0


@dataclass(slots=True)
class Verdict:
    """What the findings on a path add up to; unread: files that could not be read."""

    errors: int = 0
    notes: int = 0
    unread: int = 0

    def count(self, finding: SnapshotFinding) -> None:
        """Add a finding."""
        self.errors += finding.is_error
        self.notes += not finding.is_error

    def __str__(self) -> str:
        parts = [counted(self.errors, "error")] if self.errors else [] if self.unread else ["sound"]
        parts += [counted(self.notes, "note")] if self.notes else []
        return ", ".join(parts + ([f"{counted(self.unread, 'file')} not read"] if self.unread else []))


def write(finding: SnapshotFinding, form: str) -> None:
    if form == "jsonl":
        from kcli.jsontext import dumps

        row = {
            "severity": finding.severity,
            "rule": finding.rule,
            "file": finding.file,
            "offset": finding.offset,
            "message": finding.message,
        }
        print_line(dumps(row))
        return
    place = finding.file + (f" @ byte {finding.offset}" if finding.offset is not None else "")
    print_line(f"{finding.severity:<5}  {finding.rule:<20}  {place}: {finding.message}")


def findings(path: str, dialect: str | None, problems: list[InputError], replay: bool) -> Iterator[SnapshotFinding]:
    """The findings on a file or folder; what can't be read is added to `problems`."""
    if is_folder(path):
        yield from steady_findings(metadata_directory(path), dialect, problems, replay)
    elif found := examined(path, dialect, problems):
        yield from in_order(found[1], path)


def is_folder(path: str) -> bool:
    return path != "-" and Path(path).is_dir()


def examined(
    path: str,
    dialect: str | None,
    problems: list[InputError],
    asked: Asked | None = None,
    follower: Follower | None = None,
) -> Examined | None:
    """Examine and judge a file. None: it can't be read, which is added to `problems`."""
    try:
        with open_file(path) as file:
            found = examine(file.data, file.name, dialect=dialect, mapped=file.mapped, asked=asked, follower=follower)
            judged = list(judge(found))
            found.rescan = lambda: ()
            return found, judged
    except OSError as error:
        problems.append(InputError(error.strerror or str(error), file=path))
        return None


def in_order(found: Iterable[SnapshotFinding], path: str) -> Iterator[SnapshotFinding]:
    """Errors first, each with the path of its file."""
    from dataclasses import replace

    for finding in sorted(found, key=lambda each: not each.is_error):
        yield replace(finding, file=path)


def across(paths: tuple[str, ...], dialect: str | None, problems: list[InputError]) -> list[SnapshotFinding]:
    """Findings on snapshots of one id at several places."""
    from kcli.snapshots.replayed import compare_nodes

    def look() -> Look:
        found, unread = list[SnapshotFinding](), list[InputError]()
        try:
            found.extend(compare_nodes(nodes_at(paths), dialect))
        except OSError as error:
            unread.append(InputError(error.strerror or str(error), file=error.filename))
        except InputError as error:
            unread.append(error)
        return found, unread

    folders = [metadata_directory(path) for path in paths if is_folder(path)]
    found, unread = steady(folders, look, is_fine, is_whole)
    problems += unread
    return found


def nodes_at(paths: tuple[str, ...]) -> list[Node]:
    from kcli.snapshots.replayed import Node, node_at

    nodes = []
    for path in paths:
        name = parse_snapshot_name(Path(path).name)
        if is_folder(path):
            nodes.append(node_at(path, metadata_directory(path)))
        elif name is not None and Path(path).is_file():
            nodes.append(Node(path, {name.id: Path(path)}))
    return nodes


def is_fine(seen: Look) -> bool:
    return is_whole(seen) and not any(each.is_error for each in seen[0])


def is_whole(seen: Look) -> bool:
    return not seen[1]


def steady_findings(
    folder: Path, dialect: str | None, problems: list[InputError], replay: bool
) -> Iterator[SnapshotFinding]:
    """The findings on a folder, at a look during which nothing changed there, where there is one."""

    def look() -> Look:
        unread: list[InputError] = []
        return list(directory_findings(folder, dialect, unread, replay)), unread

    found, unread = steady([folder], look, is_fine, is_whole)
    problems += unread
    yield from found


def replay_findings(folder: Path, dialect: str | None, problems: list[InputError]) -> list[SnapshotFinding]:
    from kcli.snapshots.replayed import replay_folder

    try:
        return list(replay_folder(folder, dialect))
    except OSError as error:
        problems.append(InputError(error.strerror or str(error), file=error.filename or str(folder)))
    except InputError as error:
        problems.append(error)
    return []


def directory_findings(
    folder: Path, dialect: str | None, problems: list[InputError], replay: bool
) -> Iterator[SnapshotFinding]:
    """Each file by itself, then all together, where all could be read."""
    evidence = DirectoryEvidence(listing_of(folder))
    asked = asked_of(folder, evidence)
    known: dict[Path, Examined | None] = {}

    def look_at(path: Path, follower: Follower | None = None) -> Examined | None:
        if path not in known:
            known[path] = examined(str(path), dialect, problems, asked, follower)
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
        path = str(folder / finding.file) if finding.file else str(folder)
        yield SnapshotFinding(finding.severity, finding.rule, finding.message, finding.offset, path)
    if replay and not follows:
        yield from replay_findings(folder, dialect, problems)


def asked_of(folder: Path, evidence: DirectoryEvidence) -> Asked:
    """What the folder's segments have to show of its snapshots."""
    times = set()
    for name, _ in evidence.listing.snapshots:
        with suppress(OSError), (folder / name).open("rb") as file:
            times.add(header_time(memoryview(file.read(HEAD))))
    return Asked({each.end_offset for each in evidence.ids}, {time for time in times if time is not None})


def is_replayed(
    folder: Path,
    dialect: str | None,
    evidence: DirectoryEvidence,
    look_at: Callable[[Path, Follower], Examined | None],
) -> bool:
    """Whether a replay of the log, while its segments are looked at, leads to every snapshot on the way."""
    from kcli.snapshots.folder_replay import FolderReplay

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
    evidence.quorum = small_file(folder / "quorum-state", parse_quorum_state, evidence)
    evidence.epochs = small_file(folder / "leader-epoch-checkpoint", parse_leader_epochs, evidence)
    evidence.topic_id = small_file(folder / "partition.metadata", parse_partition_metadata, evidence)


def small_file(path: Path, parse: Callable[[str], T], evidence: DirectoryEvidence) -> T | None:
    """A parsed file; None where it is missing or (noted) can't be read."""
    if not path.is_file():
        return None
    try:
        return parse(path.read_text("utf-8", "replace"))
    except InputError as error:
        evidence.unread.append((path.name, str(error)))
        return None

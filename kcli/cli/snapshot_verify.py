"""kcli snapshot verify: is a snapshot, a segment, or a whole directory as Kafka needs it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import click

from kcli.cli.inputs import (
    dialect_option,
    files_argument,
    format_option,
    quiet_option,
)
from kcli.cli.lines import print_line
from kcli.counting import counted
from kcli.errors import InputError
from kcli.snapshots.directory import parse_leader_epochs, parse_partition_metadata, parse_quorum_state
from kcli.snapshots.evidence import Evidence
from kcli.snapshots.examination import examine
from kcli.snapshots.files import listing_of, metadata_directory, open_file
from kcli.snapshots.findings import SnapshotFinding
from kcli.snapshots.rules_directory import DirectoryEvidence, judge_directory
from kcli.snapshots.verification import judge

__all__ = ["verify"]

T = TypeVar("T")


@click.command()
@files_argument("FILE|DIR...", "paths")
@format_option(("table", "jsonl"), "Findings as text, or one JSON object each.", default="table", name="form")
@quiet_option("Only findings: no summary.")
@dialect_option
def verify(paths: tuple[str, ...], form: str, quiet: bool, dialect: str | None) -> int:
    """Check snapshots, metadata log segments, or a partition's directory; exit 1 when something is wrong.

    Framing, checksums, offsets, header and footer, the name against the content, every record, and what records say of
    each other. For a directory (`__cluster_metadata-0`, or the log directory around it) also the log behind each
    snapshot, KIP-630's invariant, leader-epoch-checkpoint and quorum-state. What is unusual but lawful is a note.

    \b
    kcli snapshot verify __cluster_metadata-0
    kcli snapshot verify *.checkpoint --format jsonl
    """
    errors = notes = 0
    for path in paths:
        for finding in findings(path, dialect):
            errors += finding.is_error
            notes += not finding.is_error
            write(finding, form)
    if not quiet and form == "table":
        verdict = counted(errors, "error") if errors else "sound"
        print_line(f"{', '.join(paths)}: {verdict}" + (f", {counted(notes, 'note')}" if notes else ""))
    return 1 if errors else 0


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


def findings(path: str, dialect: str | None) -> Iterator[SnapshotFinding]:
    if path != "-" and Path(path).is_dir():
        yield from directory_findings(metadata_directory(path), dialect)
        return
    with open_file(path) as file:
        yield from in_order(judge(examine(file.data, file.name, dialect=dialect, mapped=file.mapped)), path)


def in_order(found: Iterator[SnapshotFinding], path: str) -> Iterator[SnapshotFinding]:
    """Errors first, each with the path of its file."""
    from dataclasses import replace

    for finding in sorted(found, key=lambda each: not each.is_error):
        yield replace(finding, file=path)


def directory_findings(folder: Path, dialect: str | None) -> Iterator[SnapshotFinding]:
    """Each file by itself, then all together."""
    evidence = DirectoryEvidence(listing_of(folder))
    for name, kept in files_of(evidence):
        with open_file(str(folder / name)) as file:
            found = examine(file.data, file.name, dialect=dialect, mapped=file.mapped)
            yield from in_order(judge(found), str(folder / name))
            found.rescan = lambda: ()
            kept.append(found)
    read_small_files(folder, evidence)
    for finding in judge_directory(evidence):
        path = str(folder / finding.file) if finding.file else str(folder)
        yield SnapshotFinding(finding.severity, finding.rule, finding.message, finding.offset, path)


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

"""kcli snapshot verify: is a snapshot, a segment, or a whole directory as Kafka needs it?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kcli.cli.options.inputs import dialect_option, format_option, quiet_option
from kcli.cli.snapshot.findings import Look, findings, is_fine, is_folder, is_whole
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import print_line, print_note
from kcli.counting import counted
from kcli.errors import InputError, unreadable
from kcli.input_names import name_of
from kcli.jsontext import dumps
from kcli.snapshots.reading.files import metadata_directory, steady
from kcli.snapshots.reading.names import parse_snapshot_name
from kcli.snapshots.rules.findings import SnapshotFinding

if TYPE_CHECKING:
    from kcli.snapshots.history.replayed import NodeFolder


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|DIR...")
@format_option(("table", "jsonl"), "Text, or one JSON object per finding.", default="table", name="form")
@click.option(
    "--replay",
    is_flag=True,
    help="Replay the log from each snapshot to the next, and compare; also compare snapshots of several nodes "
    "with the same id.",
)
@quiet_option("Only findings: no summary.")
@dialect_option
def verify(paths: tuple[str, ...], form: str, replay: bool, quiet: bool, dialect: str | None) -> int:
    """Check snapshots, metadata log segments, or a partition's directory; exit code 1 if something is wrong.

    kcli checks framing, checksums, offsets, header and footer, the file name, every record, and references between
    records. For a directory (`__cluster_metadata-0`, or the log directory around it) it also checks whether each
    snapshot matches the log (offset, epoch, time), KIP-630's invariant, leader-epoch-checkpoint and quorum-state. Valid
    but unusual contents are notes. An unreadable file is an error (exit code 3), and all others are still checked.

    With --replay kcli replays the log after each snapshot, and compares the result with the next snapshot, object by
    object; the first snapshot is compared with a log that begins at 0. Several DIRs are nodes of one quorum: snapshots
    with the same id must have the same contents.

    \b
    kcli snapshot verify __cluster_metadata-0
    kcli snapshot verify --replay node1/__cluster_metadata-0 node2/__cluster_metadata-0
    kcli snapshot verify *.checkpoint --format jsonl
    """
    errors, problems = 0, list[InputError]()
    for path in paths:
        verdict, before = FindingCounts(), len(problems)
        for finding in findings(path, dialect, problems, replay):
            verdict.count(finding)
            write(finding, form)
        errors += verdict.errors
        verdict.unread = len(problems) - before
        if not quiet and (is_folder(path) or not verdict.unread):
            (print_line if form == "table" else print_note)(f"{name_of(path)}: {verdict}")
    for finding in across(paths, dialect, problems, replay) if replay or len(paths) > 1 else ():
        errors += finding.is_error
        write(finding, form)
    conclude(problems, quiet)
    return 1 if errors else 0


@dataclass(slots=True)
class FindingCounts:
    """The sum of the findings on a path; unread: files that could not be read."""

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
        row = {
            "severity": finding.severity,
            "rule": finding.rule,
            "file": name_of(finding.file),
            "offset": finding.offset,
            "message": finding.message,
        }
        print_line(dumps(row))
        return
    place = name_of(finding.file) + (f" @ byte {finding.offset}" if finding.offset is not None else "")
    print_line(f"{finding.severity:<5}  {finding.rule:<20}  {place}: {finding.message}")


def across(
    paths: tuple[str, ...], dialect: str | None, problems: list[InputError], one_quorum: bool
) -> list[SnapshotFinding]:
    """Return findings on snapshots of one id at several places. one_quorum: they are of one, by the user."""
    from kcli.snapshots.history.replayed import compare_nodes

    def look() -> Look:
        found, unread = list[SnapshotFinding](), list[InputError]()
        try:
            found.extend(compare_nodes(nodes_at(paths), dialect, one_quorum=one_quorum))
        except OSError as error:
            unread.append(unreadable(error, error.filename))
        except InputError as error:
            unread.append(error)
        return found, unread

    folders = [metadata_directory(path) for path in paths if is_folder(path)]
    found, unread = steady(folders, look, is_fine, is_whole)
    problems += unread
    return found


def nodes_at(paths: tuple[str, ...]) -> list[NodeFolder]:
    from kcli.snapshots.history.replayed import NodeFolder, node_at

    nodes = []
    for path in paths:
        name = parse_snapshot_name(Path(path).name)
        if is_folder(path):
            nodes.append(node_at(path, metadata_directory(path)))
        elif name is not None and Path(path).is_file():
            nodes.append(NodeFolder(path, {name.id: Path(path)}))
    return nodes

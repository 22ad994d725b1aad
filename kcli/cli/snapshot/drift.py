"""kcli snapshot drift: do the nodes of a quorum hold the same metadata?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcli.cli.options.inputs import dialect_option, quiet_option, secrets_option, text_format_option
from kcli.cli.snapshot.live import client_config_option, is_live
from kcli.cli.terminal.columns import row_lines
from kcli.cli.terminal.console import terminal_room
from kcli.cli.terminal.error_summary import conclude
from kcli.cli.terminal.lines import Lines, print_note
from kcli.cli.terminal.output import open_output, output_option
from kcli.counting import counted
from kcli.errors import InputError, UsageError, unreadable
from kcli.jsontext import dumps
from kcli.snapshots.reading.files import cluster_of, metadata_directory, several_clusters, steady
from kcli.snapshots.survey_json import instant
from kcli.temporary import TemporaryFolder

if TYPE_CHECKING:
    from kcli.snapshots.live.drift import Drifting, NodeComparison, Parting
    from kcli.snapshots.reading.folders import FolderNode


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR|HOST:PORT...")
@text_format_option()
@output_option
@client_config_option
@secrets_option()
@quiet_option("No warnings, no verdict.")
@dialect_option
def drift(
    folders: tuple[str, ...],
    form: str,
    output: str | None,
    settings: tuple[str, ...],
    secrets: bool,
    quiet: bool,
    dialect: str | None,
) -> int:
    """Compare the metadata of a quorum's nodes, object by object; exit code 1 if they differ.

    DIR is a node's `__cluster_metadata-0`, or the log directory around it, or a copy. kcli loads the metadata of each
    node from its own snapshots and log, and compares them at the highest offset that all nodes have. Records that a
    node has not replicated yet are lag, not drift. For each object that differs it shows the value on each node, and
    the last record of the log that changed it.

    HOST:PORT are nodes of a live quorum. kcli asks every broker and controller for its log, which only the leader
    returns (Kafka 3.9 to 4.4), and for its metadata: topics and partitions (Metadata, brokers only), configs of topics,
    ACLs, client quotas, users and iterations of SCRAM credentials, and features. It compares the responses with that
    log.

    \b
    kcli snapshot drift node1/data node2/data node3/data
    """
    from kcli.snapshots.reading.folders import FolderNode

    if any(map(is_live, folders)):
        return live_drift(folders, form, output, settings, quiet, dialect)
    if len(folders) < 2:
        raise UsageError("drift compares nodes: two directories or more, or HOST:PORT of a live quorum")
    places = [metadata_directory(path) for path in folders]
    one_cluster(folders, places)

    def look() -> tuple[View | InputError, list[InputError]]:
        problems: list[InputError] = []
        try:
            nodes = [FolderNode(path, place, dialect) for path, place in zip(folders, places, strict=True)]
            return compare(nodes, secrets, problems), problems
        except OSError as error:
            return unreadable(error, error.filename), problems
        except InputError as error:
            return error, problems

    def is_whole(seen: tuple[View | InputError, list[InputError]]) -> bool:
        return isinstance(seen[0], View) and not seen[1]

    def is_fine(seen: tuple[View | InputError, list[InputError]]) -> bool:
        return isinstance(seen[0], View) and not seen[0].is_drift and not seen[1]

    view, problems = steady(places, look, is_fine, is_whole)
    if isinstance(view, InputError):
        raise view
    with open_output(output, folders) as out:
        Lines(out).lines(map(dumps, view.rows()) if form == "jsonl" else view.lines(terminal_room(output)))
    for text in view.verdicts() if not quiet else ():
        print_note(text)
    conclude(problems, quiet)
    return 1 if view.is_drift else 0


def compare(nodes: Sequence[FolderNode], secrets: bool, problems: list[InputError]) -> View:
    """Compare nodes; errors of reading are added to `problems`. Raises InputError if there is nothing to compare."""
    from kcli.snapshots.live.drift import comparisons, drifting, last_changes

    partings = partings_of(nodes)
    compared = comparisons(nodes, min((each.offset for each in partings.values()), default=inf))
    if not compared:
        reach = "; ".join(f"{node.name} from {min(node.starts, default=node.end)} to {node.end}" for node in nodes)
        raise InputError(f"no two of these nodes show the state at one offset ({reach})")
    for each in compared:
        each.found = drifting(each.nodes, each.offset, problems, secrets)
        if each.found:
            last_changes(max(each.nodes, key=type(nodes[0]).reach), each.found, each.offset)
    return View(nodes, compared, partings)


def live_drift(
    sources: tuple[str, ...], form: str, output: str | None, settings: tuple[str, ...], quiet: bool, dialect: str | None
) -> int:
    """Compare the nodes of a live quorum. Raises UsageError."""
    from kcli.cli.snapshot.drift_live import compare_live

    if not all(map(is_live, sources)):
        raise UsageError("directories or HOST:PORT, not both")
    with TemporaryFolder("kcli-metadata-") as name, open_output(output, []) as out:
        view = compare_live(",".join(sources), settings, quiet, Path(name), dialect)
        headings, *rows = view.table()
        shown = chain(row_lines(headings, rows, terminal_room(output)), view.lines())
        Lines(out).lines(map(dumps, view.rows()) if form == "jsonl" else shown)
    if not quiet:
        print_note(view.verdict)
    return 1 if view.is_drift else 0


def one_cluster(folders: Sequence[str], places: Sequence[Path]) -> None:
    """Raise InputError if the meta.properties files name different clusters."""
    if problem := several_clusters(zip(folders, map(cluster_of, places), strict=True)):
        raise InputError(problem)


def partings_of(nodes: Sequence[FolderNode]) -> dict[str, Parting]:
    """Return where nodes' logs diverge from the log that reaches furthest in the newest epoch."""
    from kcli.snapshots.live.drift import parting

    newest = max(nodes, key=lambda node: (node.epoch, node.end))
    found = {node.name: parting(newest, node) for node in nodes if node is not newest}
    return {name: each for name, each in found.items() if each is not None}


@dataclass(slots=True)
class View:
    """The comparison of nodes, as lines of text and as rows of JSON."""

    nodes: Sequence[FolderNode]
    compared: Sequence[NodeComparison]
    partings: dict[str, Parting]

    @property
    def found(self) -> list[Drifting]:
        """The differences of all comparisons."""
        return [drifted for each in self.compared for drifted in each.found]

    @property
    def is_drift(self) -> bool:
        """Return whether nodes differ in objects or records, other than by lag."""
        return bool(self.found) or any(len(set(each.epochs)) == 1 for each in self.partings.values())

    def verdicts(self) -> Iterator[str]:
        """Yield a line for each comparison."""
        for each in self.compared:
            found = counted(len(each.found), "object differs", "objects differ") if each.found else "the same"
            nodes_text = counted(len(each.nodes), "node")
            if len(each.nodes) < len(self.nodes):
                nodes_text = ", ".join(node.name for node in each.nodes)
            yield f"{nodes_text} at offset {each.offset}: {found}"

    def place(self, node: FolderNode) -> int | None:
        """Return the highest offset at which a node was compared."""
        return max((each.offset for each in self.compared if node in each.nodes), default=None)

    def behind(self, node: FolderNode) -> int:
        """Return how many records a node lacks of the longest log."""
        return max(each.end for each in self.nodes) - node.end

    def lines(self, room: int | None) -> Iterator[str]:
        """Yield the nodes in columns, then the differences. room: cells of a line; None: as many as it takes."""
        table = []
        for node in self.nodes:
            place = self.place(node)
            shown = "nowhere: no other node shows a state that it shows" if place is None else f"{place}"
            table.append([node.name, f"{node.end}", f"{node.epoch}", f"{self.behind(node)}", shown])
        yield from row_lines(("node", "log end", "epoch", "behind", "compared at"), table, room)
        for name, each in self.partings.items():
            yield f"{name}: {parting_text(each)}"
        for drifted in self.found:
            yield drifted_text(drifted)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the nodes and differences as JSON objects."""
        for node in self.nodes:
            row = {"event": "node", "node": node.name, "endOffset": node.end, "epoch": node.epoch}
            parted = self.partings.get(node.name)
            row |= {"behind": self.behind(node), "comparedAt": self.place(node)}
            yield row | {"logDiffersAt": parted.offset if parted else None}
        for each in self.found:
            values = {name: row for names, row in each.groups for name in names}
            last = each.last and {
                "offset": each.last.offset,
                "type": each.last.record,
                "time": instant(each.last.timestamp),
            }
            yield {"event": "drift", "table": each.table, "key": list(each.key), "values": values, "lastRecord": last}


def parting_text(found: Parting) -> str:
    mine, yours = found.epochs
    if mine == yours:
        return f"its log has other records from offset {found.offset} on, of the same epoch: one of the logs is damaged"
    return f"its log has records of epoch {yours} from offset {found.offset} on that were never committed"


def drifted_text(found: Drifting) -> str:
    from kcli.snapshots.image.change_text import noun_and_key, row_text

    row = next(row for _, row in found.groups if row is not None)
    held = []
    for names, each in found.groups:
        shown = {name: each[name] for name in found.columns} if each is not None and found.columns else each
        held.append(f"{row_text(found.table, shown)} on {', '.join(names)}")
    last = f" (last changed by record {found.last.offset}, {found.last.record})" if found.last else ""
    return f"{noun_and_key(found.table, found.key, row)}: {'; '.join(held)}{last}"

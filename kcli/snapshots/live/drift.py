"""Compares the metadata of a quorum's nodes (`kcli snapshot drift`).

Nodes are compared at one offset, the highest at which each of them has a state. Records that a node has not replicated
yet are lag; replicated state that differs is drift.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from kcli.errors import InputError
from kcli.snapshots.history.history import Event
from kcli.snapshots.image.diff import Change, diff_images
from kcli.snapshots.reading.folders import FolderNode

Key = tuple[str, tuple[Hashable, ...]]
Row = dict[str, Any]


@dataclass(slots=True)
class NodeComparison:
    """Nodes that all have the state at an offset, and the objects that differ between them; the caller fills
    `found`.
    """

    offset: int
    nodes: list[FolderNode]
    found: list[Drifting]


def comparisons(nodes: Sequence[FolderNode], before: float = inf) -> list[NodeComparison]:
    """Return comparisons of the nodes, each with an offset and without differences.

    All are compared at the highest offset that they share. If a node's files end before another's begin, it gets a
    comparison of its own with the nodes that still have its state. before: no offset past this one.
    """
    late, chosen = list[FolderNode](), sorted(nodes, key=lambda node: node.end)
    made = []
    while len(chosen) > 1:
        if (offset := common_offset(chosen, before)) is not None:
            made.append(NodeComparison(offset, [node for node in nodes if node in chosen], []))
            break
        late.append(chosen.pop(0))
    for node in late:
        end = int(min(node.end, before))
        offset = next((each for each in [end, *reversed(node.starts)] if each <= end and node.shows(each)), None)
        others = [each for each in nodes if offset is not None and each.shows(offset)]
        if offset is not None and len(others) > 1:
            made.append(NodeComparison(offset, others, []))
    return made


def common_offset(nodes: Sequence[FolderNode], before: float) -> int | None:
    """Return the highest offset at which all nodes have a state; None if there is none. nodes: sorted by their end."""
    end = int(min(nodes[0].end, before))
    offsets = {end, *(start for node in nodes for start in node.starts if start <= end)}
    return max((offset for offset in offsets if all(node.shows(offset) for node in nodes)), default=None)


class Parting(NamedTuple):
    """The place where two logs diverge: the first offset of the batches that differ, and their epochs.

    If the epochs differ, the records of the older one were never committed, and its node truncates them when it follows
    the leader. If they are equal, one of the two logs is damaged.
    """

    offset: int
    epochs: tuple[int, int]


def parting(first: FolderNode, second: FolderNode) -> Parting | None:
    """Return where two logs diverge; None if they have the same batches, as far as both have them."""
    mine, yours = first.batches(), second.batches()
    left, right = next(mine, None), next(yours, None)
    while left is not None and right is not None:
        if left.last_offset < right.base_offset:
            left = next(mine, None)
        elif right.last_offset < left.base_offset:
            right = next(yours, None)
        elif (left.base_offset, left.crc, left.leader_epoch) != (right.base_offset, right.crc, right.leader_epoch):
            return Parting(max(left.base_offset, right.base_offset), (left.leader_epoch, right.leader_epoch))
        else:
            left, right = next(mine, None), next(yours, None)
    return None


@dataclass(slots=True)
class Drifting:
    """An object that differs between nodes.

    groups: ([names of nodes], their row), None for nodes without the object; columns: those that differ, () if some
    node lacks the object; last: the last record of the log that changed the object, None if it is before the log's
    begin
    """

    table: str
    key: tuple[Hashable, ...]
    groups: list[tuple[list[str], Row | None]]
    columns: tuple[str, ...] = ()
    last: Event | None = None


def drifting(
    nodes: Sequence[FolderNode], offset: int, problems: list[InputError], secrets: bool = False
) -> list[Drifting]:
    """Return the objects that differ between nodes at an offset. problems: takes the errors of reading. Two images are
    in memory at a time.
    """
    reference = nodes[0].image(offset, problems)
    found: dict[Key, dict[str, Change]] = {}
    for node in nodes[1:]:
        for change in diff_images(reference, node.image(offset, problems), secrets=secrets):
            found.setdefault((change.table, change.key), {})[node.name] = change
    names = [node.name for node in nodes]
    return [Drifting(*key, *grouped(names, changes)) for key, changes in found.items()]


def grouped(
    names: Sequence[str], changes: dict[str, Change]
) -> tuple[list[tuple[list[str], Row | None]], tuple[str, ...]]:
    """Return ([(nodes, their row)], columns that differ). changes: {node: the object's change from the first node to
    it}.
    """
    first = next(iter(changes.values()))
    groups: list[tuple[list[str], Row | None]] = [([name for name in names if name not in changes], first.before)]
    for name, change in changes.items():
        same = next((group for group, row in groups[1:] if row == change.after), None)
        if same is None:
            groups.append(([name], change.after))
        else:
            same.append(name)
    whole = any(change.kind != "changed" for change in changes.values())
    differing = {column for change in changes.values() for column in change.columns}
    return groups, () if whole else tuple(name for name in first.before or () if name in differing)


def last_changes(node: FolderNode, found: Sequence[Drifting], offset: int) -> None:
    """Set `last` of each object to the last record of a node's log before `offset` that changed it."""
    wanted = {(each.table, each.key): each for each in found}

    def report(event: Event) -> None:
        known = wanted.get((event.change.table, event.change.key))
        if known is not None:
            known.last = event

    chosen = {key for table, key in wanted if table == "partitions"}
    node.history(report, until=offset, partitions=chosen)

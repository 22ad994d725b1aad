"""Checks that snapshots follow from each other and the log between them (`kcli snapshot verify --replay`).

A snapshot and the log after it lead to the next snapshot: to the same objects, in whatever order their records are. If
the log begins at offset 0, the first snapshot follows from the log alone. Snapshots of one id, from several nodes, hold
the same objects.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from filecmp import cmp
from itertools import islice
from pathlib import Path

from kcli.snapshots.history.history import Event, HistoryLoader
from kcli.snapshots.image.change_text import contrast
from kcli.snapshots.image.diff import Change, diff_images
from kcli.snapshots.image.image import Image
from kcli.snapshots.reading.api import take_log, take_snapshot
from kcli.snapshots.reading.files import cluster_of, listing_of, several_clusters
from kcli.snapshots.reading.load import Loader
from kcli.snapshots.reading.names import SnapshotId
from kcli.snapshots.rules.findings import SnapshotFinding

TRACED = 1000  # differing objects for which the first difference is searched
SHOWN = 20  # findings on one snapshot
REFUSED = "a controller of Kafka 4.4 stops at it"
START = SnapshotId(0, 0)


@dataclass(slots=True)
class NodeFolder:
    """A folder of snapshots and segments, or some snapshots.

    path: as findings name it; snapshots: {id: file}; cluster_id: from meta.properties, None without one
    """

    path: str
    snapshots: dict[SnapshotId, Path] = field(default_factory=dict)
    cluster_id: str | None = None


def node_at(path: str, folder: Path) -> NodeFolder:
    """Return the files of a node's folder. path: the folder as the user wrote it."""
    snapshots = {name.id: folder / file for file, name in listing_of(folder).snapshots}
    return NodeFolder(path, snapshots, cluster_of(folder))


def replay_folder(folder: Path, dialect: str | None = None) -> Iterator[SnapshotFinding]:
    """Yield findings on the snapshots of a folder: each is compared with what the one before it and the log lead to. A
    finding's `file` is a path.
    """
    replay = Replay(folder, dialect)
    base = replay.first
    if base is None:
        return
    loader = replay.loaded(base)
    yield from replay.refusals(loader, base)
    for target in [each for each in replay.ids if each.end_offset > base.end_offset]:
        yield from replay.log(loader, base, target)
        end = loader.image.provenance.end_offset
        if end < target.end_offset and loader.split is None:
            text = f"the log ends at {end}: nothing shows what leads to this snapshot"
            yield SnapshotFinding("note", "replay", text, None, replay.path(target))
            return
        following = replay.loaded(target)
        yield from replay.refusals(following, target)
        if loader.split is None and not following.problems:
            yield from replay.compare(loader.image, following.image, base, target)
        loader, base = following, target
    yield from replay.log(loader, base, None)


class Replay:
    """The snapshots and segments of one folder."""

    def __init__(self, folder: Path, dialect: str | None) -> None:
        self.folder, self.dialect = folder, dialect
        listing = listing_of(folder)
        self.segments = [base for _, base in listing.segments]
        self.ids = sorted(name.id for _, name in listing.snapshots)

    @property
    def first(self) -> SnapshotId | None:
        """The id from which a replay starts: START if the log begins at 0, else the first snapshot that the log
        continues; None without any.
        """
        if not self.segments:
            return None
        found = min((each for each in self.ids if each.end_offset >= self.segments[0]), default=None)
        return START if self.segments[0] == 0 and (found is None or found.end_offset > 0) else found

    def path(self, snapshot: SnapshotId) -> str:
        """Return the file of a snapshot."""
        return str(self.folder / snapshot.file_name)

    def loaded(self, snapshot: SnapshotId) -> Loader:
        """Return a Loader with a snapshot in it, or an empty one for the log's start."""
        loader = Loader(self.dialect, strict=False).judged()
        if snapshot in self.ids:
            take_snapshot(loader, self.path(snapshot))
        return loader

    def refusals(self, loader: Loader, snapshot: SnapshotId) -> Iterator[SnapshotFinding]:
        """Yield findings on the records of a snapshot that a controller refuses, at most SHOWN."""
        for _, text in loader.refusals[:SHOWN]:
            yield SnapshotFinding("error", "replay", f"{REFUSED}: {text}", None, self.path(snapshot))

    def log(self, loader: Loader, base: SnapshotId, target: SnapshotId | None) -> Iterator[SnapshotFinding]:
        """Replay the log up to a snapshot, or to its end. Yields findings on records that don't apply to the image
        before them.
        """
        before, refused = len(loader.problems), len(loader.refusals)
        take_log(loader, self.folder, target.end_offset if target else None)
        if target is None:
            loader.judge_open()
        whence = f"from {self.name(base)} to {target or 'its end'}"
        found = [(*each, "the log does not apply") for each in loader.problems[before:]]
        found += [(*each, REFUSED) for each in loader.refusals[refused:]]
        for _, problem, record_type in sorted(found)[:SHOWN]:
            text = f"{whence}, {record_type}: {problem}"
            yield SnapshotFinding("error", "replay", text, None, str(self.folder))

    def name(self, snapshot: SnapshotId) -> str:
        """Return how findings name a snapshot that a replay began with."""
        return f"snapshot {snapshot}" if snapshot in self.ids else "the log's start"

    def compare(
        self, replayed: Image, snapshot: Image, base: SnapshotId, target: SnapshotId
    ) -> Iterator[SnapshotFinding]:
        """Yield findings on the objects that differ between a snapshot and the replayed log, in the order of the log;
        at most SHOWN, and one that counts the rest.
        """
        exact = list(islice(diff_images(replayed, snapshot, secrets=True), TRACED + 1))
        if not exact:
            return
        since = self.trace(exact[:TRACED], snapshot, base, target)
        changes = islice(diff_images(replayed, snapshot), TRACED)
        found = sorted(zip(since, changes, strict=True), key=lambda each: each[0])
        source = f"what the log makes of {self.name(base)}"
        for (offset, record), change in found[:SHOWN]:
            where = f"since record {offset}, {record}" if offset >= 0 else f"since before {self.name(base)}"
            text = f"not {source}: {contrast(change, 'by the log', 'here')} ({where})"
            yield SnapshotFinding("error", "replay", text, None, self.path(target))
        if (more := len(exact) - SHOWN) > 0:
            number = f"{more:,}" if len(exact) <= TRACED else f"more than {more - 1:,}"
            text = f"{number} more objects are not {source}"
            yield SnapshotFinding("error", "replay", text, None, self.path(target))

    def trace(
        self, changes: Sequence[Change], snapshot: Image, base: SnapshotId, target: SnapshotId
    ) -> list[tuple[int, str]]:
        """Return for each changed object the first record (offset, type) after which the log differs from the snapshot;
        offset -1 if it always differed. This reads the log once more.
        """
        wanted = {(each.table, each.key): each.after for each in changes}
        start = self.loaded(base).image
        since = {(each.table, each.key): (-1, "") for each in diff_images(start, snapshot, secrets=True)}

        def report(event: Event) -> None:
            key = event.change.table, event.change.key
            if key not in wanted:
                return
            if event.change.after == wanted[key]:
                since.pop(key, None)
            else:
                since.setdefault(key, (event.offset, event.record))

        chosen = {key for table, key in wanted if table == "partitions"}
        loader = HistoryLoader(report, self.dialect, strict=False, secrets=True, partitions=chosen)
        if base in self.ids:
            take_snapshot(loader, self.path(base))
        take_log(loader, self.folder, target.end_offset)
        return [since.get((each.table, each.key), (-1, "")) for each in changes]


def compare_nodes(
    nodes: Sequence[NodeFolder], dialect: str | None = None, *, one_quorum: bool = True
) -> Iterator[SnapshotFinding]:
    """Yield findings on snapshots of one id from several nodes, which have to hold the same objects in any order.

    Snapshots at offset 0 are each node's own, made when its directory was formatted, and are not compared. one_quorum:
    all nodes belong to one quorum; else snapshots of different clusters, told apart by meta.properties or by the times
    of their last records, are not compared.
    """
    if not one_quorum:
        known: list[str | None] = [*sorted({each.cluster_id for each in nodes if each.cluster_id})]
        for cluster in known or [None]:
            members = [each for each in nodes if each.cluster_id in (None, cluster)]
            yield from (each for each in compare_nodes(members, dialect) if each.is_error)
        return
    if problem := several_clusters((each.path, each.cluster_id) for each in nodes):
        yield SnapshotFinding("error", "cluster", problem)
        return
    first_of: dict[SnapshotId, tuple[Path, str | None]] = {}
    for node in nodes:
        for identity, path in sorted(node.snapshots.items()):
            if identity.end_offset > 0:
                first, its_cluster = first_of.setdefault(identity, (path, node.cluster_id))
                alike = its_cluster is not None and its_cluster == node.cluster_id
                yield from compare_files(identity, first, path, dialect, alike=alike)


def compare_files(
    identity: SnapshotId, first: Path, second: Path, dialect: str | None, *, alike: bool
) -> Iterator[SnapshotFinding]:
    """Yield findings on two snapshots of one id. alike: they are known to be of one cluster; else they are compared
    only if the times of their last records are equal.
    """
    if first == second or cmp(first, second, shallow=False):
        return
    loaders = [Loader(dialect, strict=False) for _ in range(2)]
    for loader, path in zip(loaders, (first, second), strict=True):
        take_snapshot(loader, str(path))
    one, two = (loader.image for loader in loaders)
    if one.provenance.timestamp != two.provenance.timestamp and not alike:
        text = f"of {identity} as is {first}, but with another last record: not compared, as of another cluster"
        yield SnapshotFinding("note", "same-id", text, None, str(second))
        return
    changes = list(islice(diff_images(one, two), TRACED + 1))
    for change in changes[:SHOWN]:
        text = f"of {identity} as is {first}, and not the same: {contrast(change, 'there', 'here')}"
        yield SnapshotFinding("error", "same-id", text, None, str(second))
    if (more := len(changes) - SHOWN) > 0:
        number = f"{more:,}" if len(changes) <= TRACED else f"more than {more - 1:,}"
        yield SnapshotFinding("error", "same-id", f"{number} more objects are not the same", None, str(second))

"""Replays a folder's log in the same pass that examines its files, so that they are read once.

This serves folders without findings, which nearly all are. At the first difference or odd record it gives up; then
`replayed.replay_folder` reads the files again and reports the findings.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from kcli.core.snapshots.snapshot import PartitionChanges
from kcli.schemas.field_codes import RecordType
from kcli.snapshots.history.replayed import Replay
from kcli.snapshots.image.diff import diff_images
from kcli.snapshots.image.partitions import PartitionTable
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.load import Loader
from kcli.snapshots.reading.names import SnapshotId
from kcli.snapshots.reading.walk import COUNTED, Row, walk
from kcli.snapshots.rules.examination import Follower

Examine = Callable[[Path, Follower], object]


class FolderReplay:
    """A Follower of a folder's segments, in their order.

    examine: reads and examines the snapshots between the segments, with a follower; is_sound: up to now the replayed
    log led to what each snapshot holds.
    """

    store: dict[bytes, Any] | None = None

    def __init__(self, folder: Path, dialect: str | None, examine: Examine) -> None:
        self.dialect, self.examine = dialect, examine
        replay = Replay(folder, dialect)
        self.path, self.ids = replay.path, replay.ids
        self.loader = Loader(dialect, strict=False).judged()
        self.is_sound = replay.first is not None
        if replay.first is not None:
            if replay.first in self.ids:
                self.load(replay.first)
            self.ids = [each for each in replay.ids if each.end_offset > replay.first.end_offset]

    @property
    def end(self) -> int:
        """The offset after the image's last record."""
        return self.loader.image.provenance.end_offset

    def give_up(self) -> None:
        """Stop replaying because something is odd."""
        self.is_sound = False
        self.loader = Loader(self.dialect)

    def load(self, snapshot: SnapshotId) -> None:
        """Begin with a snapshot."""
        first = FollowedSnapshot(self.dialect)
        self.examine(Path(self.path(snapshot)), first)
        first.finish(snapshot)
        self.loader = first.loader
        if not first.is_sound:
            self.give_up()

    def rows(self, records: memoryview, batch: Batch, table: PartitionTable, mapped: bool) -> Iterator[Row]:
        """Replay a batch of the log while it is examined. Snapshots that end before the batch are compared first."""
        self.pass_snapshots(batch.base_offset)
        if not self.is_sound or batch.last_offset < self.end:
            yield from walk(records, batch, table, mapped)
            return
        following = self.ids[0].end_offset if self.ids else batch.last_offset + 1
        whole = batch.record_count == batch.last_offset_delta + 1
        if batch.base_offset != self.end or batch.last_offset >= following or not whole:
            self.give_up()
            yield from walk(records, batch, table, mapped)
            return
        loader = self.loader
        for row in walk(records, batch, table, mapped, loader.changes):
            if row[5] != COUNTED:
                yield row
            loader.take((*row[:5], "") if row[5] == COUNTED else row, records, batch)
        loader.image.provenance.end_offset = batch.last_offset + 1
        if loader.problems or loader.refusals:
            self.give_up()

    def pass_snapshots(self, offset: int) -> None:
        """Compare with the snapshots that end at or before this offset, where the next batch begins."""
        while self.is_sound and self.ids and self.ids[0].end_offset <= offset:
            if not self.makes(self.ids.pop(0)):
                self.give_up()

    def makes(self, snapshot: SnapshotId) -> bool:
        """Return whether the log leads to the image of a snapshot. The snapshot's partitions are compared while they
        are read and not kept.
        """
        loader, image = self.loader, self.loader.image
        if snapshot.end_offset != self.end or loader.held is not None or loader.changes is None:
            return False
        following = FollowedSnapshot(self.dialect, loader.changes)
        self.examine(Path(self.path(snapshot)), following)
        following.finish(snapshot)
        matched, expected = loader.changes.end_matching(), following.loader.image
        if not following.is_sound or matched != image.partition_count():
            return False
        for identity, topic in expected.topics.items():
            if identity in image.topics:
                topic.partitions = image.topics[identity].partitions
        return next(diff_images(image, expected, secrets=True), None) is None

    def finish(self) -> bool:
        """Return whether there is nothing to report. It is called after the last segment."""
        self.pass_snapshots(self.end)
        self.loader.judge_open()
        return self.is_sound and not self.ids and not self.loader.refusals


class FollowedSnapshot:
    """A Follower that loads a snapshot. With `changes` it compares the partitions with those instead of loading
    them.
    """

    def __init__(self, dialect: str | None, changes: PartitionChanges | None = None) -> None:
        self.loader, self.changes = Loader(dialect, strict=False).judged(), changes
        self.store: dict[bytes, Any] | None = {} if changes is None else None
        self.is_sound = True

    def give_up(self) -> None:
        """Note that part of the snapshot can't be read, or is no snapshot."""
        self.is_sound = False

    def rows(self, records: memoryview, batch: Batch, table: PartitionTable, mapped: bool) -> Iterable[Row]:
        """Load a batch while it is examined."""
        self.loader.table = table
        for row in walk(records, batch, table, mapped, self.changes, matching=True):
            if row[1] == RecordType.PARTITION and not batch.is_control:
                self.give_up()  # the kernel can't read it in place, or it differs
            if row[5] != COUNTED:
                yield row
                self.loader.take(row, records, batch)

    def finish(self, snapshot: SnapshotId) -> None:
        """Judge the snapshot after all of it was read."""
        table = self.loader.table
        if table is None:
            self.give_up()
            return
        self.loader.finish_snapshot(table, snapshot.end_offset, snapshot.epoch)
        changes = any(key == RecordType.PARTITION_CHANGE for key, _ in table.tallies)  # they belong in a log
        self.is_sound = self.is_sound and not changes and not self.loader.problems and not self.loader.refusals

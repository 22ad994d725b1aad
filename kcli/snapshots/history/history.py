"""The changes of each record of a metadata log: a loader that reports them while it builds the image."""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any

from kcli.core.snapshots.snapshot import PartitionChanges
from kcli.records.control import MESSAGES
from kcli.schemas.field_codes import ControlType
from kcli.snapshots.image.diff import Change, row_change
from kcli.snapshots.image.objects import SECRET_TABLES, Object, object_row, touched
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.load import Loader
from kcli.snapshots.reading.walk import Row


@dataclass(frozen=True, slots=True)
class Event:
    """A change of one object.

    offset: of the record in the log; timestamp (ms) and epoch: of the record's batch; record: its type,
    "PartitionChangeRecord"
    """

    offset: int
    timestamp: int
    epoch: int
    record: str
    change: Change


class HistoryLoader(Loader):
    """A Loader that reports the changes by each record of the log, in order. A snapshot's records are the start and are
    not reported.

    The records of a metadata transaction take effect where it ends: their events have their own offsets, but the time
    and the epoch of the transaction's end.
    """

    def __init__(
        self,
        report: Callable[[Event], object],
        dialect: str | None = None,
        *,
        strict: bool = True,
        secrets: bool = False,
        is_wanted: Callable[[Object], bool] = lambda _: True,
        partitions: Collection[tuple[Hashable, ...]] | None = None,
    ) -> None:
        """Follow a log. is_wanted: returns whether an object's changes are reported; secrets: show them; partitions:
        report changes of only these (topic name, number), which is much faster for a few of them; None reports all.
        """
        super().__init__(dialect, strict=strict)
        self.report, self.secrets, self.wants, self.partitions = report, secrets, is_wanted, partitions
        watched: dict[Any, set[Any]] = {}
        for topic, number in partitions or ():
            watched.setdefault(topic, set()).add(number)
        self.changes = None if partitions is None else PartitionChanges(self.image.topics, watched)
        self.batch: Batch | None = None  # of the log; None while a snapshot is read

    def take(self, row: Row, records: memoryview, batch: Batch) -> None:
        """Decode one record, and apply it or hold it until its transaction ends."""
        self.batch = batch if self.table is None else None
        super().take(row, records, batch)

    def apply(self, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a metadata record, and report what it changes."""
        self.watch(offset, name, value, lambda: super(HistoryLoader, self).apply(offset, name, value))

    def control(self, offset: int, kind: int, value: dict[str, Any]) -> None:
        """Apply a control record, and report what it changes: the voters, kraft.version, the leader."""
        version, leader = self.image.kraft_version, value.get("leaderId")
        name = MESSAGES.get(kind, "")
        self.watch(offset, name, value, lambda: super(HistoryLoader, self).control(offset, kind, value))
        if kind == ControlType.KRAFT_VERSION and version != self.image.kraft_version:
            before = None if version is None else {"name": "kraft.version", "level": version}
            after = {"name": "kraft.version", "level": self.image.kraft_version}
            self.report_change(offset, name, row_change("features", before, after))
        if kind == ControlType.LEADER_CHANGE and self.batch is not None:
            after = {"name": "metadata quorum", "leader": leader, "epoch": self.batch.leader_epoch}
            self.report_change(offset, "LeaderChangeMessage", row_change("leader", None, after))

    def watch(self, offset: int, name: str, value: dict[str, Any], apply: Callable[[], None]) -> None:
        """Apply a record, and report the objects whose rows differ after it."""
        if self.batch is None:
            apply()
            return
        objects = [each for each in touched(self.image, name, value) if self.wants(each) and self.is_chosen(each)]
        before = [self.look(each) for each in objects]
        apply()
        for found, (was, shown) in zip(objects, before, strict=True):
            now, seen = self.look(found)
            if was != now:
                self.report_change(offset, name, row_change(found[0], was, now, shown, seen))

    def is_chosen(self, found: Object) -> bool:
        """Return whether an object is one of the `partitions`, or not a partition at all."""
        if self.partitions is None or found[0] != "partitions":
            return True
        topic = self.image.topics.get(found[1][0])
        return topic is not None and (topic.name, found[1][1]) in self.partitions

    def prepare(self, changes: PartitionChanges, name: str, value: dict[str, Any]) -> None:
        """Bring the image's partitions that a record touches up to date from the kernel. The kernel keeps nothing of
        chosen partitions.
        """
        objects = touched(self.image, name, value) if name in ("PartitionRecord", "PartitionChangeRecord") else ()
        if not any(map(self.is_chosen, objects)):
            super().prepare(changes, name, value)

    def look(self, found: Object) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        """Return the whole row of an object, and the row that is shown: without secrets, if they are hidden. (None,
        None) if the image does not have the object.
        """
        row = object_row(self.image, found, True)
        if row is None or self.secrets or found[0] not in SECRET_TABLES:
            return row, row
        return row, object_row(self.image, found)

    def report_change(self, offset: int, name: str, change: Change) -> None:
        """Report a change, with the time and the epoch of the current batch."""
        if self.batch is not None:
            self.report(Event(offset, self.batch.append_timestamp, self.batch.leader_epoch, name, change))

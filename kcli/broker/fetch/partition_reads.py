"""Reads of partitions for a fetch, within the limits of KIP-74. The records are slices of segment files.

* Partitions are read in the given order until maxBytes are used up; each has at most its own maxBytes.
* The first batch of the first partition with records is returned whole, even if it is longer, so that a consumer makes
  progress. Requests before v3 don't have this rule and get the beginning of the batch.
* Records may end within a batch, as they are slices of the file. A slice without a whole batch is left out.
* Only one partition per fetch is read from remote storage (KAFKA-14915), with a maxBytes of its own if the request has
  one (KIP-1018). Other remote partitions wait for a later fetch.
* A consumer may read from any replica from v11 on (KIP-392). It gets the records below the high watermark; with
  read_committed those below the last stable offset, and the aborted transactions in that range. A follower gets all
  records.
* A negative maxBytes is UNKNOWN_SERVER_ERROR where there are records to read (Kafka's LogSegment.read).
"""

from collections.abc import Iterable
from typing import NamedTuple

from kcli.broker.metadata.snapshots import MetadataSnapshots
from kcli.broker.metadata.topics import Topics
from kcli.broker.partition import STORAGE_ERROR, Key, Partition, VisibleOffsets
from kcli.broker.response import Lazy
from kcli.broker.storage.log import Log
from kcli.broker.storage.producers import Aborted
from kcli.broker.storage.segment import Slice
from kcli.schemas.errors import error_code
from kcli.sessions.values import Position, Result
from kcli.snapshots.reading.names import SnapshotId

OUT_OF_RANGE = error_code("OFFSET_OUT_OF_RANGE")
SERVER_ERROR = error_code("UNKNOWN_SERVER_ERROR")
UNKNOWN_TOPIC, UNKNOWN_ID = error_code("UNKNOWN_TOPIC_OR_PARTITION"), error_code("UNKNOWN_TOPIC_ID")
UNKNOWN = frozenset([UNKNOWN_TOPIC, UNKNOWN_ID, error_code("TOPIC_AUTHORIZATION_FAILED")])


class PartitionRead(NamedTuple):
    """The read of one partition. diverging: (epoch, end offset) that the fetcher has to truncate to; snapshot: the one
    to fetch first if the log no longer has the requested offset (KIP-630).
    """

    result: Result
    records: Lazy | None = None
    aborted: tuple[Aborted, ...] = ()
    diverging: tuple[int, int] | None = None
    partition: Partition | None = None
    snapshot: SnapshotId | None = None


# The read of a partition without a log; one object is shared, since there can be many.
NOTHING = PartitionRead(Result(0, 0, 0))
EMPTY = VisibleOffsets(0, 0, 0, 0)


class Limits(NamedTuple):
    """The limits of a fetch. max_bytes: of the whole response; whole_first: the first batch is returned whole (KIP-74);
    committed: only records below the last stable offset; follower: records up to the log's end; may_follow: followers
    answer, too.
    """

    max_bytes: int
    whole_first: bool
    committed: bool
    follower: bool = False
    may_follow: bool = False

    def end(self, shown: VisibleOffsets) -> int:
        """Return the offset at which to stop reading a partition."""
        return shown.end if self.follower else shown.stable if self.committed else shown.high


def refused(code: int, partition: Partition | None = None) -> PartitionRead:
    return PartitionRead(Result(error=code), partition=partition)


class PartitionReader:
    """Reads partitions for one fetch to one node. by_id: keys have topic ids. bytes: read so far.

    remote: records came from remote storage; unseen: the captured log had records that are missing here.
    """

    def __init__(
        self, topics: Topics, node_id: int, by_id: bool, limits: Limits, checkpoints: MetadataSnapshots | None = None
    ) -> None:
        self.topics, self.node_id, self.by_id, self.limits = topics, node_id, by_id, limits
        self.snapshots = checkpoints
        self.left = limits.max_bytes
        self.whole_first = limits.whole_first
        self.bytes = 0
        self.remote = self.unseen = False

    def read_all(self, wanted: Iterable[tuple[Key, Position]]) -> dict[Key, PartitionRead]:
        """Read partitions in this order. In the result unknown and forbidden ones come last, as in Kafka, which finds
        them before it reads the others.
        """
        reads = {key: self.read(key, position) for key, position in wanted}
        unknown = [key for key, read in reads.items() if read.result.error in UNKNOWN]
        for key in unknown:
            reads[key] = reads.pop(key)
        return reads

    def read(self, key: Key, position: Position) -> PartitionRead:
        """Read one partition by its topic's name (or id) and index. A failure is an error code in the result."""
        partition = self.topics.find(key, self.by_id)
        if partition is None:
            return refused(UNKNOWN_ID if self.by_id and key[0] not in self.topics.by_id else UNKNOWN_TOPIC)
        if code := partition.refusal(self.node_id, position.leader_epoch, may_follow=self.limits.may_follow):
            return refused(code, partition)
        try:
            return self.read_leader(partition, position)
        except OSError:
            return refused(STORAGE_ERROR, partition)

    def read_leader(self, partition: Partition, position: Position) -> PartitionRead:
        """Read a partition that this node leads. Raises OSError if its log can't be read."""
        log = partition.log
        if log is None:
            return read_without_log(partition, position)
        shown, offset = partition.shown(log), position.fetch_offset
        if (parted := self.read_parted(partition, log, position, shown)) is not None:
            return parted
        high, stable, start, last = shown
        if not start <= offset <= (last if last >= 0 else log.end_offset):
            return refused(OUT_OF_RANGE, partition)
        limit = self.limits.end(shown)
        unseen = partition.unseen.next_from(offset) if partition.unseen else None
        end = partition.end_of_read(offset, limit)
        readable = end if unseen is None else min(unseen, end)
        room = min(position.max_bytes, self.left)
        if offset < readable and min(position.max_bytes, self.limits.max_bytes) < 0:
            return refused(SERVER_ERROR, partition)
        records = self.read_records(log, position, readable) if offset < readable else None
        if readable < end and (offset >= readable or (records is not None and records.size < room)):
            self.unseen = True
        size = records.size if records else 0
        result = Result(high, stable, start, size, more=not size and offset < limit)
        aborted = tuple(log.aborted(offset, limit)) if self.limits.committed and records else ()
        return PartitionRead(result, records, aborted, partition=partition)

    def read_parted(
        self, partition: Partition, log: Log, position: Position, shown: VisibleOffsets
    ) -> PartitionRead | None:
        """Return the result for a fetcher that needs a snapshot, or whose log diverges from this one, else None."""
        needed = self.needed_snapshot(partition, position, shown.start)
        if needed is not None:
            return PartitionRead(Result(*shown[:3], diverging=True), partition=partition, snapshot=needed)
        if position.last_fetched_epoch < 0 or lacks_below(partition, position.fetch_offset):
            return None
        if position.last_fetched_epoch > max(partition.epoch, log.epochs.latest):
            return refused(OUT_OF_RANGE, partition)  # Kafka's Partition.readRecords; of another topic of this name
        diverging = divergence(log, position, partition.epoch)
        if diverging is None:
            return None
        return PartitionRead(Result(*shown[:3], diverging=True), diverging=diverging, partition=partition)

    def needed_snapshot(self, partition: Partition, position: Position, start: int) -> SnapshotId | None:
        """Return the metadata log's latest snapshot if the fetch is below the log's start or its log diverges, else
        None.
        """
        if self.snapshots is None or partition.topic.name not in self.topics.hidden:
            return None
        earliest, offset, epoch = self.snapshots.earliest, position.fetch_offset, position.last_fetched_epoch
        if earliest is None or (start == offset == 0 and epoch == 0):
            return None
        parted = epoch >= 0 and (epoch < earliest.epoch or (offset == start and epoch != earliest.epoch))
        return self.snapshots.latest if offset < start or parted else None

    def read_records(self, log: Log, position: Position, limit: int) -> Slice | None:
        """Return the slice that this partition adds to the response; None if there is no room for a batch."""
        remote = log.segment_of(position.fetch_offset).remote
        if remote and self.remote:
            return None
        own = position.remote_max_bytes if remote and position.remote_max_bytes >= 0 else position.max_bytes
        most = min(own, self.left)
        if most <= 0 and not self.whole_first:
            return None
        below = limit if limit < log.end_offset else None
        found = log.read(position.fetch_offset, max(0, most), self.whole_first, below)
        if found is None:
            return None
        if self.limits.whole_first and not self.whole_first and found.first > found.size:
            return None
        self.whole_first = False
        self.remote = self.remote or found.remote
        self.left -= found.size
        self.bytes += found.size
        return found


def read_without_log(partition: Partition, position: Position) -> PartitionRead:
    """Return the result for a partition without a log: there are no records here, or none is known."""
    visible = partition.visible or EMPTY
    if not visible.start <= position.fetch_offset <= max(visible.end, 0):
        return refused(OUT_OF_RANGE, partition)
    if visible is not EMPTY:
        return PartitionRead(Result(*visible[:3]), partition=partition)
    return NOTHING if position.last_fetched_epoch <= partition.epoch else refused(OUT_OF_RANGE, partition)


def lacks_below(partition: Partition, offset: int) -> bool:
    """Return whether some records before this offset are missing, so that their epochs are unknown."""
    first = partition.unseen.next_from(0)
    return first is not None and first < offset


def divergence(log: Log, position: Position, current: int) -> tuple[int, int] | None:
    """Return (epoch, end offset) where the fetcher's log diverges from this one (KIP-595); None if it does not."""
    epoch, end = log.epochs.end_of(position.last_fetched_epoch, log.end_offset, current)
    if epoch < 0 or end < 0:
        return None
    if epoch < position.last_fetched_epoch or end < position.fetch_offset:
        return epoch, end
    return None

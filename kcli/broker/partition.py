"""A topic and its partitions, each with its leader, and with its log, which is opened at the first use."""

from __future__ import annotations

import errno
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from kcli.broker.configs import TopicConfigs
from kcli.broker.storage.log import Log
from kcli.schemas.errors import error_code
from kcli.topic_names import INTERNAL, folder_prefix

FENCED, UNKNOWN_EPOCH = error_code("FENCED_LEADER_EPOCH"), error_code("UNKNOWN_LEADER_EPOCH")
NO_EPOCH = -1
NOT_LEADER = error_code("NOT_LEADER_OR_FOLLOWER")
# Kafka's message for UNKNOWN_TOPIC_OR_PARTITION.
NOT_HOSTED = "This server does not host this topic-partition."
STORAGE_ERROR = error_code("KAFKA_STORAGE_ERROR")

NOBODY: frozenset[int] = frozenset()

# A topic's name or id, and a partition's index.
Key = tuple[str, int]


class LogOwner(Protocol):
    """Opens and creates the logs of partitions (`topics.Topics`). unopened: names of the folders of logs that are not
    open yet.
    """

    unopened: set[str]
    hidden: dict[str, Topic]  # the names and ids of topics that are not listed

    def open(self, partition: Partition) -> Log:
        """Open a partition's log. Raises OSError if it can't be read."""

    def make_log(self, partition: Partition) -> Log:
        """Create a partition's log. Raises OSError."""


class VisibleOffsets(NamedTuple):
    """The offsets of a log in Fetch responses. high: the high watermark; stable: the last stable offset; start: the
    first offset; end: the end of reads by followers.
    """

    high: int
    stable: int
    start: int
    end: int


class Partition:
    """A partition. leader: a node id; epoch: the leader epoch; log: None until the first write.

    visible: the offsets that a rebuilt capture shows, None for those of the log; fault: why the log can't be read, ""
    if it can; lagging: replicas that are not in sync; elr: the eligible leader replicas among them (KIP-966);
    refused: the error code of every request that needs the leader, 0 for none; unseen: offsets of records that the
    captured log had and this one lacks; breaks: offsets at which a read ends, as at the end of a segment, ascending;
    unsettled: while this broker ran, the leader moved or a fault refused a batch, so that a producer's second batch may
    arrive before its first.
    """

    __slots__ = (
        "_log",
        "breaks",
        "elr",
        "epoch",
        "fault",
        "index",
        "lagging",
        "leader",
        "refused",
        "replicas",
        "topic",
        "unseen",
        "unsettled",
        "visible",
    )

    def __init__(self, topic: Topic, index: int, leader: int, replicas: tuple[int, ...]) -> None:
        self.topic, self.index, self.leader, self.replicas = topic, index, leader, replicas
        self.epoch = 0
        self.lagging = NOBODY
        self.elr: tuple[int, ...] = ()
        self._log: Log | None = None
        self.visible: VisibleOffsets | None = None
        self.fault = ""
        self.refused = 0
        self.unseen = OffsetRanges()
        self.breaks: list[int] = []
        self.unsettled = False

    @property
    def keys(self) -> tuple[Key, Key]:
        """The partition's keys in fetch sessions: by topic name, and by topic id."""
        return (self.topic.name, self.index), (self.topic.id, self.index)

    @property
    def isr(self) -> tuple[int, ...]:
        """The in-sync replicas, in the order of the replicas."""
        return tuple(each for each in self.replicas if each not in self.lagging) if self.lagging else self.replicas

    @property
    def current_leader(self) -> dict[str, int]:
        """The leader's id and epoch as a row of responses (CurrentLeader, LeaderIdAndEpoch)."""
        return {"leaderId": self.leader, "leaderEpoch": self.epoch}

    @property
    def is_hidden(self) -> bool:
        """Return whether this is the metadata log's partition, whose topic is not listed."""
        return self.topic.name in self.topic.owner.hidden

    @property
    def folder_name(self) -> str:
        """The name of the log's folder."""
        return f"{self.topic.folder_prefix}{self.index}"

    @property
    def log(self) -> Log | None:
        """The log, which is opened at the first use; None if there is none, so that the partition is empty.

        Raises OSError if the log can't be read.
        """
        if self.fault:
            raise OSError(errno.EIO, self.fault)
        if self._log is None and self.folder_name in self.topic.owner.unopened:
            self._log = self.topic.owner.open(self)
        return self._log

    def made_log(self) -> Log:
        """Return the log; create it if there is none. Raises OSError."""
        log = self.log
        if log is None:
            log = self._log = self.topic.owner.make_log(self)
        return log

    @property
    def opened(self) -> Log | None:
        """The log if it is open already, else None."""
        return self._log

    @property
    def is_offline(self) -> bool:
        """Return whether the log can't be read, as after the failure of a log directory in Kafka."""
        try:
            return self.log is None and bool(self.fault)
        except OSError:
            return True

    @property
    def start_offset(self) -> int:
        """The first offset that can be read. Raises OSError as `log` does."""
        log = self.log
        return log.start_offset if log is not None else 0

    @property
    def end_offset(self) -> int:
        """The offset of the next record. Raises OSError as `log` does."""
        log = self.log
        return log.end_offset if log is not None else 0

    @property
    def last_stable_offset(self) -> int:
        """The offset below which every transaction has ended. Raises OSError as `log` does."""
        log = self.log
        return log.producers.last_stable_offset(log.end_offset) if log is not None else 0

    def shown(self, log: Log) -> VisibleOffsets:
        """Return the offsets of the log in Fetch responses."""
        if self.visible is not None:
            return self.visible
        end = log.end_offset
        return VisibleOffsets(end, log.producers.last_stable_offset(end), log.start_offset, end)

    def break_at(self, offset: int) -> None:
        """Let reads end at this offset."""
        at = bisect_left(self.breaks, offset)
        if self.breaks[at : at + 1] != [offset]:
            self.breaks.insert(at, offset)

    def end_of_read(self, offset: int, limit: int) -> int:
        """Return the end of a read from this offset on: the limit, or a break before it."""
        at = bisect_right(self.breaks, offset)
        return min(limit, self.breaks[at]) if at < len(self.breaks) else limit

    def refusal(self, node_id: int, epoch: int, *, may_follow: bool = False) -> int:
        """Return the error code of a request to a node that does not lead, or for another leader epoch (-1 for none); 0
        if there is none. may_follow: a follower may answer it, too.

        As in Kafka, a node with a replica checks the epoch first.
        """
        if self.refused:
            return self.refused
        if node_id != self.leader and node_id not in self.replicas:
            return NOT_LEADER
        if epoch not in (NO_EPOCH, self.epoch):
            return FENCED if epoch < self.epoch else UNKNOWN_EPOCH
        if node_id != self.leader and not may_follow:
            return NOT_LEADER
        return STORAGE_ERROR if self.is_offline else 0


class Topic:
    """A topic. internal: it is one of Kafka's internal topics. Raises InputError if Kafka does not allow the name."""

    def __init__(self, owner: LogOwner, name: str, topic_id: str, configs: TopicConfigs) -> None:
        self.folder_prefix = folder_prefix(name)
        self.owner, self.name, self.id, self.configs = owner, name, topic_id, configs
        self.partitions: list[Partition] = []
        self.internal = name in INTERNAL

    def partition(self, index: int) -> Partition | None:
        """Return the partition with this index; None if there is none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


def by_topic(keys: Iterable[Key]) -> dict[str, list[int]]:
    """Group the indexes of partitions by topic, both in ascending order."""
    made: dict[str, list[int]] = {}
    for topic, index in sorted(keys):
        made.setdefault(topic, []).append(index)
    return made


class OffsetRanges:
    """Half-open ranges [first, end)."""

    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._ends, strict=True)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def append(self, first: int, end: int) -> None:
        """Add a range after all others, unless it is empty."""
        if first < end:
            self._firsts.append(first)
            self._ends.append(end)

    def next_from(self, offset: int) -> int | None:
        """Return the lowest offset in any range that is at or above this one; None if there is none."""
        at = bisect_right(self._firsts, offset) - 1
        if at >= 0 and offset < self._ends[at]:
            return offset
        return self._firsts[at + 1] if at + 1 < len(self._firsts) else None

    def remove(self, first: int, end: int) -> None:
        """Remove the offsets [first, end)."""
        if first >= end or not self._firsts:
            return
        low = max(bisect_right(self._firsts, first) - 1, 0)
        while low < len(self._ends) and self._ends[low] <= first:
            low += 1
        high = low
        kept: list[tuple[int, int]] = []
        while high < len(self._firsts) and self._firsts[high] < end:
            kept += [
                (self._firsts[high], min(first, self._ends[high])),
                (max(end, self._firsts[high]), self._ends[high]),
            ]
            high += 1
        kept = [each for each in kept if each[0] < each[1]]
        self._firsts[low:high] = [one for one, _ in kept]
        self._ends[low:high] = [other for _, other in kept]

"""A topic and its partitions: the leader of each, and its log once it is needed."""

from __future__ import annotations

import errno
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable
from typing import NamedTuple, Protocol

from kcli.broker.configs import TopicConfigs
from kcli.broker.fetch.offset_ranges import OffsetRanges
from kcli.broker.storage.log import Log
from kcli.schemas.errors import error_code
from kcli.topic_names import INTERNAL, folder_prefix

FENCED, UNKNOWN_EPOCH = error_code("FENCED_LEADER_EPOCH"), error_code("UNKNOWN_LEADER_EPOCH")
NOT_LEADER = error_code("NOT_LEADER_OR_FOLLOWER")
# The text that Kafka gives along with UNKNOWN_TOPIC_OR_PARTITION.
NOT_HOSTED = "This server does not host this topic-partition."
STORAGE_ERROR = error_code("KAFKA_STORAGE_ERROR")

NOBODY: frozenset[int] = frozenset()

# A topic's name or id, and a partition's index.
Key = tuple[str, int]


class LogOwner(Protocol):
    """Opens and makes the logs of partitions (`topics.Topics`). unopened: folders of logs that are not open yet."""

    unopened: set[str]

    @property
    def hidden(self) -> Container[str]:
        """Names and ids of topics that are in no list."""
        ...

    def open(self, partition: Partition) -> Log:
        """Open a partition's log. Raises OSError if it can't be read."""
        ...

    def make_log(self, partition: Partition) -> Log:
        """Make a partition's log. Raises OSError."""
        ...


class VisibleOffsets(NamedTuple):
    """The offsets of a log that fetchers see: high watermark, last stable offset, first offset, and the end, for
    followers.
    """

    high: int
    stable: int
    start: int
    end: int


class Partition:
    """One partition: its leader, and its log (None until the first write).

    visible: the readable part of the log where some is held back; None: all of it. fault: why its log can't be read
    lagging: replicas that are not in sync; elr: the eligible leader replicas among them (KIP-966)
    refused: the error that every fetch of it gets, 0 for none; unseen: offsets of records that the captured log had,
    and this one lacks; breaks: offsets at which a read ends, as at the end of a segment, rising; unsettled: its leader
    moved, or a fault refused a batch, while this broker ran, so a producer's second batch can come before the first
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
        """Return the in-sync replicas, in the order of the replicas."""
        return tuple(each for each in self.replicas if each not in self.lagging) if self.lagging else self.replicas

    @property
    def current_leader(self) -> dict[str, int]:
        """The leader as responses name it (CurrentLeader, LeaderIdAndEpoch)."""
        return {"leaderId": self.leader, "leaderEpoch": self.epoch}

    @property
    def is_hidden(self) -> bool:
        """Return whether the partition is that of the metadata log, which is in no list of topics."""
        return self.topic.name in self.topic.owner.hidden

    @property
    def folder_name(self) -> str:
        """The name of its log's folder."""
        return f"{self.topic.folder_prefix}{self.index}"

    @property
    def log(self) -> Log | None:
        """The log, opened when it is first asked for; None: there is none, the partition is empty.

        Raises OSError if it can't be read.
        """
        if self.fault:
            raise OSError(errno.EIO, self.fault)
        if self._log is None and self.folder_name in self.topic.owner.unopened:
            self._log = self.topic.owner.open(self)
        return self._log

    def made_log(self) -> Log:
        """Return the log; make it if there is none."""
        log = self.log
        if log is None:
            log = self._log = self.topic.owner.make_log(self)
        return log

    @property
    def opened(self) -> Log | None:
        """The log if it is open, else None."""
        return self._log

    @property
    def is_offline(self) -> bool:
        """Return whether its log can't be read (as in a log directory of Kafka's that failed)."""
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
        """The offset that the next record gets. Raises OSError as `log` does."""
        log = self.log
        return log.end_offset if log is not None else 0

    @property
    def last_stable_offset(self) -> int:
        """Return the offset below which every transaction has ended. Raises OSError as `log` does."""
        log = self.log
        return log.producers.last_stable_offset(log.end_offset) if log is not None else 0

    def shown(self, log: Log) -> VisibleOffsets:
        """Return the offsets of its log that fetchers see."""
        if self.visible is not None:
            return self.visible
        end = log.end_offset
        return VisibleOffsets(end, log.producers.last_stable_offset(end), log.start_offset, end)

    def break_at(self, offset: int) -> None:
        """End reads at this offset."""
        at = bisect_left(self.breaks, offset)
        if self.breaks[at : at + 1] != [offset]:
            self.breaks.insert(at, offset)

    def end_of_read(self, offset: int, limit: int) -> int:
        """Return where a read from this offset on ends, at the limit or before it."""
        at = bisect_right(self.breaks, offset)
        return min(limit, self.breaks[at]) if at < len(self.breaks) else limit

    def refusal(self, node_id: int, epoch: int) -> int:
        """Return the error for a request to this node that knows of that leader epoch (-1: of none); 0 if it leads.

        A node that holds a replica checks the epoch first, as Kafka's do.
        """
        if self.refused:
            return self.refused
        if node_id != self.leader and node_id not in self.replicas:
            return NOT_LEADER
        if 0 <= epoch != self.epoch:
            return FENCED if epoch < self.epoch else UNKNOWN_EPOCH
        if node_id != self.leader:
            return NOT_LEADER
        return STORAGE_ERROR if self.is_offline else 0


class Topic:
    """internal: only the broker itself writes to it. Raises InputError if Kafka takes no topic of this name."""

    def __init__(self, owner: LogOwner, name: str, topic_id: str, configs: TopicConfigs) -> None:
        self.folder_prefix = folder_prefix(name)
        self.owner, self.name, self.id, self.configs = owner, name, topic_id, configs
        self.partitions: list[Partition] = []
        self.internal = name in INTERNAL

    def partition(self, index: int) -> Partition | None:
        """Return the partition of this index; None if there is none."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None


def by_topic(keys: Iterable[Key]) -> dict[str, list[int]]:
    """Group the indexes of partitions by topic, both rising."""
    made: dict[str, list[int]] = {}
    for topic, index in sorted(keys):
        made.setdefault(topic, []).append(index)
    return made

"""What a metadata log does over time: records by type, the state of partitions, brokers that come and go, leaders."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from kcli.snapshots.decoding import CONTROL_TYPES
from kcli.snapshots.framing import Batch
from kcli.snapshots.load import Loader
from kcli.snapshots.log_spans import FRAME
from kcli.snapshots.partitions import FACTS, id_bytes
from kcli.snapshots.walk import Row

__all__ = ["LAST_MS", "MOST", "STATES", "BrokerEvent", "Epoch", "LeaderMoves", "Timeline", "broker_state"]

MOST = 1000  # events and epochs that are kept, the newest
LAST_MS = 253_402_300_799_999  # of the year 9999, the last one that has a date
STATES = {"under-replicated": "under-replicated", "without leader": "offline", "reassigning": "reassigning"}
BITS = LACKING, OFFLINE, MOVING = [FACTS[fact] for fact in STATES.values()]
MASK = LACKING | OFFLINE | MOVING
LEADER_CHANGE = 2
NS = 1_000_000  # in a ms
BROKERS = {"RegisterBrokerRecord": "brokerId", "UnregisterBrokerRecord": "brokerId", "FenceBrokerRecord": "id",
           "UnfenceBrokerRecord": "id", "BrokerRegistrationChangeRecord": "brokerId"}  # fmt: skip


class BrokerEvent(NamedTuple):
    """A broker's new state (see `broker_state`) since the record at an offset, of a time (ms)."""

    ms: int | None
    offset: int
    broker: int
    was: str
    state: str


@dataclass(slots=True)
class Epoch:
    """A leader epoch of the quorum. leader: None, where no record says; offset, ms: its first ones in the log; last_ms;
    records: offsets in it."""

    epoch: int
    offset: int
    ms: int | None
    last_ms: int | None
    leader: int | None = None
    records: int = 0


@dataclass(slots=True)
class LeaderMoves:
    """How often a partition got another leader, or none, and when it did last, ms."""

    count: int = 0
    last_ms: int | None = None


@dataclass(slots=True)
class Bucket:
    """types: {record type: [records, bytes]}; states: of each of the STATES the most partitions at one time; left: at
    its end"""

    types: dict[str, list[int]] = field(default_factory=dict)
    states: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)


class Timeline(Loader):
    """A Loader that notes what a log's records do while it builds the image; a snapshot's records are its start.

    buckets: {time in steps: Bucket}, of those with records; before: the states' counts at the start
    events, epochs: the newest MOST; event_count: of all; moves: {(topic id, partition): LeaderMoves}
    """

    def __init__(self, step: int, dialect: str | None = None) -> None:
        """step: the width of a bucket of time, in ns."""
        super().__init__(dialect, strict=False)
        self.changes = None  # each record is looked at here
        self.step = step
        self.buckets: dict[int, Bucket] = {}
        self.events: deque[BrokerEvent] = deque(maxlen=MOST)
        self.epochs: deque[Epoch] = deque(maxlen=MOST)
        self.moves: dict[tuple[bytes, int], LeaderMoves] = {}
        self.known: dict[tuple[bytes, int], tuple[int, int | None]] = {}  # what `look` said last of a partition
        self.topic_id = lru_cache(1000)(id_bytes)
        self.event_count = 0
        self.counts: list[int] | None = None  # of the STATES; None: no record of the log was seen
        self.before: list[int] = []
        self.ms: int | None = None
        self.bucket: Bucket | None = None
        self.batch: Batch | None = None

    def take(self, row: Row, records: memoryview, batch: Batch) -> None:
        """Decode one record, and apply it or hold it until its transaction ends; count it."""
        if self.table is None:
            if batch is not self.batch:
                self.enter(batch)
            self.count(row, batch)
        super().take(row, records, batch)

    def enter(self, batch: Batch) -> None:
        """Look at a batch of the log."""
        if self.counts is None:
            found = self.image.count_facts()
            self.counts = [found[fact] for fact in STATES.values()]
            self.before = [*self.counts]
        self.batch, time = batch, batch.append_timestamp
        self.ms = time if 0 <= time <= LAST_MS else self.ms
        if not self.epochs or self.epochs[-1].epoch != batch.leader_epoch:
            self.epochs.append(Epoch(batch.leader_epoch, batch.base_offset, self.ms, self.ms))
        epoch = self.epochs[-1]
        epoch.records += batch.last_offset_delta + 1
        epoch.last_ms = self.ms
        if self.ms is not None:
            self.bucket = self.buckets.setdefault(self.ms * NS // self.step, Bucket(states=[*self.counts]))
            self.bucket.left = self.counts

    def count(self, row: Row, batch: Batch) -> None:
        """Count a record by its type."""
        _, key, _, start, end, problem = row
        if self.bucket is None:
            return
        if key is None:
            name = problem
        elif batch.is_control:
            name = CONTROL_TYPES.get(key, f"control type {key}")
        else:
            name = self.decoder.type_names.get(key, f"type {key}")
        tally = self.bucket.types.setdefault(name, [0, 0])
        tally[0] += 1
        tally[1] += end - start + (0 if batch.is_control else FRAME)

    def control(self, offset: int, kind: int, value: dict[str, Any]) -> None:
        """Apply a control record; note the quorum's leader."""
        super().control(offset, kind, value)
        if kind == LEADER_CHANGE and self.table is None and self.epochs:
            self.epochs[-1].leader = value.get("leaderId")

    def apply(self, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a metadata record, and note what it changes."""
        if self.counts is None:
            super().apply(offset, name, value)
        elif name in BROKERS:
            number = value[BROKERS[name]]
            was = broker_state(self.image.brokers.get(number))
            super().apply(offset, name, value)
            state = broker_state(self.image.brokers.get(number))
            if was != state or name == "RegisterBrokerRecord":
                self.event_count += 1
                self.events.append(BrokerEvent(self.ms, offset, number, was, state))
        elif name in ("PartitionRecord", "PartitionChangeRecord"):
            place = self.topic_id(value["topicId"]), value["partitionId"]
            facts, leader = self.known.get(place) or self.look(*place)
            super().apply(offset, name, value)
            now = self.known[place] = self.look(*place)
            self.move(facts, now[0])
            if leader is not None and leader != now[1]:
                moves = self.moves.setdefault(place, LeaderMoves())
                moves.count += 1
                moves.last_ms = self.ms
        elif name == "RemoveTopicRecord":
            identity = id_bytes(value["topicId"])
            topic = self.image.topics.get(identity)
            for number in topic.partitions if topic else ():
                self.move(self.look(identity, number)[0], 0)
                self.known.pop((identity, number), None)
            super().apply(offset, name, value)
        else:
            super().apply(offset, name, value)

    def look(self, topic: bytes, number: int) -> tuple[int, int | None]:
        """The facts of a partition, those in BITS, and its leader; None: there is no such partition."""
        found = self.image.topics.get(topic)
        partition = found.partitions.get(number) if found else None
        if partition is None:
            return 0, None
        if isinstance(partition, bytes):
            facts, leader, *_ = self.image.summary(partition)
            return facts & MASK, leader
        # What each change leaves, in place of `facts_of`, which asks for more.
        lacking, leader = len(partition["isr"]) < len(partition["replicas"]), partition["leader"]
        facts = LACKING if lacking else 0
        if leader < 0:
            facts |= OFFLINE
        if partition["addingReplicas"] or partition["removingReplicas"]:
            facts |= MOVING
        return facts, leader

    def move(self, before: int, after: int) -> None:
        """Count a partition whose facts change."""
        if before == after or self.counts is None:
            return
        self.counts = [
            count + bool(after & bit) - bool(before & bit) for count, bit in zip(self.counts, BITS, strict=True)
        ]
        if self.bucket is not None:
            self.bucket.left = self.counts
            self.bucket.states = list(map(max, self.bucket.states, self.counts))


def broker_state(broker: dict[str, Any] | None) -> str:
    """A broker's state in words."""
    if broker is None:
        return "not registered"
    if broker.get("fenced"):
        return "fenced"
    return "controlled shutdown" if broker.get("inControlledShutdown") else "alive"

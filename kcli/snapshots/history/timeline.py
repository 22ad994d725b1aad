"""A metadata log over time: records by type, states of partitions, brokers' registrations and fencing, leaders."""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.calendar import LAST_MS, NS_IN_MS
from kcli.core.snapshots.snapshot import StateCounts
from kcli.records.control import CONTROL_TYPES
from kcli.schemas.field_codes import ControlType
from kcli.snapshots.image.partitions import FACTS, id_bytes
from kcli.snapshots.reading.framing import Batch
from kcli.snapshots.reading.load import Loader
from kcli.snapshots.reading.log_spans import FRAME
from kcli.snapshots.reading.walk import Row

MOST = 1000  # the newest so many events and epochs are kept
STATES = {"under-replicated": "under-replicated", "without leader": "offline", "reassigning": "reassigning"}
BITS = [FACTS[fact] for fact in STATES.values()]
CHANGE = "PARTITION_CHANGE_RECORD"
BROKERS = {"RegisterBrokerRecord": "brokerId", "UnregisterBrokerRecord": "brokerId", "FenceBrokerRecord": "id",
           "UnfenceBrokerRecord": "id", "BrokerRegistrationChangeRecord": "brokerId"}  # fmt: skip


class BrokerEvent(NamedTuple):
    """A broker's change of state (see `broker_state`) by the record at an offset; ms: the timestamp of its batch."""

    ms: int | None
    offset: int
    broker: int
    was: str
    state: str


@dataclass(slots=True)
class Epoch:
    """A leader epoch of the quorum.

    offset, ms: of its first batch in the log; last_ms: of its last batch; leader: None if no LeaderChangeMessage names
    it; records: number of offsets in it
    """

    epoch: int
    offset: int
    ms: int | None
    last_ms: int | None
    leader: int | None = None
    records: int = 0


@dataclass(frozen=True, slots=True)
class LeaderMoves:
    """The moves of a partition's leader: their number, and the time of the last one in ms."""

    count: int
    last_ms: int | None


@dataclass(slots=True)
class Bucket:
    """A step of time.

    types: {record type: [records, bytes]}; states: the most partitions at one time in each of the STATES; left:
    partitions in each of them at the step's end
    """

    types: dict[str, list[int]] = field(default_factory=dict)
    states: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)


class Timeline(Loader):
    """A Loader that notes what the log's records change while it builds the image; a snapshot's records are the start.

    buckets: {number of the step: Bucket}, for steps that have batches; before: partitions in each of the STATES at the
    start; events, epochs: the newest MOST
    """

    def __init__(self, step: int, dialect: str | None = None) -> None:
        """Count by time. step: the width of a bucket in ns."""
        super().__init__(dialect, strict=False)
        self.step = step
        self.buckets: dict[int, Bucket] = {}
        self.events: deque[BrokerEvent] = deque(maxlen=MOST)
        self.epochs: deque[Epoch] = deque(maxlen=MOST)
        self.states: StateCounts | None = None  # counts partitions in the STATES; None before the log's first batch
        self.before: list[int] = []
        self.ms: int | None = None
        self.bucket: Bucket | None = None

    @property
    def moves(self) -> dict[tuple[bytes, int], LeaderMoves]:
        """{(topic id, partition): LeaderMoves} of the partitions whose leader changed or that lost it."""
        return {} if self.states is None else {place: LeaderMoves(*row) for place, row in self.states.moves.items()}

    def replay_batch(self, records: memoryview, batch: Batch, start: int) -> None:
        """Replay the records of one batch, from an offset on, and note their changes."""
        states = self.enter(batch)
        super().replay_batch(records, batch, start)
        bucket = self.bucket
        if bucket is None:
            return
        if states.records:
            tally = bucket.types.setdefault(CHANGE, [0, 0])
            tally[0] += states.records
            tally[1] += states.size
        bucket.left = states.counts
        bucket.states = list(map(max, bucket.states, states.most))

    def take(self, row: Row, records: memoryview, batch: Batch) -> None:
        """Decode one record, and apply it or hold it until its transaction ends; count it."""
        if self.table is None:
            self.count(row, batch)
        super().take(row, records, batch)

    def enter(self, batch: Batch) -> StateCounts:
        """Open the epoch and the bucket of a batch of the log; return the counts of states."""
        if self.states is None:
            found = self.image.count_facts()
            self.before = [found[fact] for fact in STATES.values()]
            self.states = StateCounts(self.before)
            if self.changes is not None:
                self.changes.counts = self.states
        time = batch.append_timestamp
        self.ms = time if 0 <= time <= LAST_MS else self.ms
        if not self.epochs or self.epochs[-1].epoch != batch.leader_epoch:
            self.epochs.append(Epoch(batch.leader_epoch, batch.base_offset, self.ms, self.ms))
        epoch = self.epochs[-1]
        epoch.records += batch.last_offset_delta + 1
        epoch.last_ms = self.ms
        if self.ms is not None:
            self.bucket = self.buckets.setdefault(self.ms * NS_IN_MS // self.step, Bucket(states=self.states.counts))
        self.states.time = self.ms
        self.states.begin()
        return self.states

    def count(self, row: Row, batch: Batch) -> None:
        """Count a record by its type, in the current bucket."""
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
        if kind == ControlType.LEADER_CHANGE and self.table is None and self.epochs:
            self.epochs[-1].leader = value.get("leaderId")

    def apply(self, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a metadata record, and note its changes."""
        if self.states is None:
            super().apply(offset, name, value)
        elif name in BROKERS:
            self.apply_to_broker(offset, name, value)
        elif name in ("PartitionRecord", "PartitionChangeRecord"):
            self.apply_to_partition(self.states, offset, name, value)
        else:
            if name == "RemoveTopicRecord":
                self.drop_partitions(self.states, self.settled(value))
            super().apply(offset, name, value)

    def apply_to_broker(self, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a record, and note how it changes a broker's state."""
        number = value[BROKERS[name]]
        was = broker_state(self.image.brokers.get(number))
        super().apply(offset, name, value)
        state = broker_state(self.image.brokers.get(number))
        if was != state or name == "RegisterBrokerRecord":
            self.events.append(BrokerEvent(self.ms, offset, number, was, state))

    def apply_to_partition(self, states: StateCounts, offset: int, name: str, value: dict[str, Any]) -> None:
        """Apply a record, and note how it changes a partition's state and leader."""
        topic, number = self.settled(value), value["partitionId"]
        facts, leader = self.look(topic, number)
        super().apply(offset, name, value)
        after, now = self.look(topic, number)
        states.shift(facts, after)
        if leader is not None and leader != now:
            states.move(topic, number)

    def drop_partitions(self, states: StateCounts, topic: bytes) -> None:
        """Leave the partitions of a topic that is removed out of the counts of states."""
        found = self.image.topics.get(topic)
        for number in found.partitions if found else ():
            states.shift(self.look(topic, number)[0], 0)

    def settled(self, value: dict[str, Any]) -> bytes:
        """Return the id of the topic that a record is about, after bringing its partitions in the image up to date."""
        topic = id_bytes(value["topicId"])
        if self.changes is not None:
            self.records += self.changes.settle(topic)
        return topic

    def look(self, topic: bytes, number: int) -> tuple[int, int | None]:
        """Return the state of a partition, a bit for each of the STATES, and its leader; (0, None) if there is no such
        partition.
        """
        found = self.image.topics.get(topic)
        partition = found.partitions.get(number) if found else None
        if partition is None:
            return 0, None
        facts, leader, *_ = self.image.summary(partition)
        return sum(bool(facts & bit) << place for place, bit in enumerate(BITS)), leader


def broker_state(broker: dict[str, Any] | None) -> str:
    """Return a broker's state in words."""
    if broker is None:
        return "not registered"
    if broker.get("fenced"):
        return "fenced"
    return "controlled shutdown" if broker.get("inControlledShutdown") else "alive"

"""Collects records in batches, with sequence numbers, and keeps them until they are acknowledged. It does no I/O.

Rules, per partition:

- A batch may be sent when it is full (`batch.size`), when another one waits after it, when it has waited for
  `linger.ms`, when everything is flushed, or when it is a retry.
- An idempotent producer (KIP-98) assigns sequences to batches when they are first sent; a retry keeps its sequence. At
  most `max.in.flight.requests.per.connection` batches are in flight, and only one until the first acknowledgement: a
  broker accepts any first sequence of an unknown producer, and so might accept the second batch after it refused the
  first.
- After a failure no batch of the partition is sent until all in flight are answered. Then the failed ones are sent
  first, in the order of their sequences, so that the broker never sees a gap, and one at a time until one is
  acknowledged.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from kcli.core.records.batches import HEADER_SIZE
from kcli.records.batches import LAST_SEQUENCE

# Estimated bytes besides keys and values: of a record (lengths, attributes, deltas), a header (lengths), and a batch.
RECORD_OVERHEAD, HEADER_OVERHEAD, BATCH_OVERHEAD = 12, 4, HEADER_SIZE

Headers = tuple[tuple[bytes, bytes | None], ...]
Row = tuple[int, bytes | None, bytes | None, Headers]
TopicPartition = tuple[str, int]


@dataclass(slots=True)
class Waiting:
    """A batch. created: seconds of the caller's clock; sent_ns: the time of `send` for each record, for its latency;

    number: its place among the sent batches, -1 if it was not sent yet; sequence: of its first record, -1 if it was not
    sent yet or is not idempotent; leader_epoch: of the leader that it was last sent to.
    """

    partition: TopicPartition
    created: float
    rows: list[Row] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    size: int = BATCH_OVERHEAD
    number: int = -1
    sequence: int = -1
    attempts: int = 0
    leader_epoch: int = -1
    encoded: bytes | None = None


class Queue:
    """The batches of one partition.

    refused_epoch: the epoch of a leader that refused a batch as it does not lead any more, None for none; refused_at:
    the time when no batch was in flight after that, from which on the client looks for the new leader.
    """

    __slots__ = (
        "acknowledged",
        "in_flight",
        "next_number",
        "next_sequence",
        "not_before",
        "partition",
        "refused_at",
        "refused_epoch",
        "retrying",
        "waiting",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.waiting: deque[Waiting] = deque()
        self.in_flight: list[Waiting] = []
        self.next_sequence = self.next_number = 0
        self.not_before = 0.0
        self.refused_at: float | None = None
        self.refused_epoch: int | None = None
        self.retrying = False
        self.acknowledged = False


class Accumulator:
    """The batches of all partitions. linger: seconds; batch_size: bytes; bytes: of all batches without acknowledgement;

    waiting: the queues with batches to send, in the order of their turns.
    """

    def __init__(self, batch_size: int, linger: float, in_flight: int, *, idempotent: bool) -> None:
        self.batch_size, self.linger, self.max_in_flight, self.idempotent = batch_size, linger, in_flight, idempotent
        self.queues: dict[TopicPartition, Queue] = {}
        self.waiting: dict[Queue, None] = {}
        self.bytes = 0
        self.flushing = False

    def append(self, partition: TopicPartition, row: Row, ns: int, now: float) -> tuple[bool, bool]:
        """Add a record. Returns whether it began a batch, and whether the batch has no room for another of this
        size.
        """
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = Queue(partition)
        size = RECORD_OVERHEAD + len(row[1] or b"") + len(row[2] or b"")
        if row[3]:
            size += sum(len(name) + len(value or b"") + HEADER_OVERHEAD for name, value in row[3])
        last = queue.waiting[-1] if queue.waiting else None
        began = last is None or last.number >= 0 or last.size + size > self.batch_size
        if last is None or began:
            last = Waiting(partition, now)
            queue.waiting.append(last)
            self.waiting[queue] = None
        last.rows.append(row)
        last.sent_ns.append(ns)
        last.size += size
        self.bytes += size
        return bool(began), last.size + size > self.batch_size

    def sendable(self, now: float) -> Iterator[Queue]:
        """Yield the queues whose first batch may be sent now."""
        for queue in list(self.waiting):
            if self.wait_of(queue, now) == 0.0:
                yield queue

    def wait_of(self, queue: Queue, now: float) -> float | None:
        """Return the seconds until the first batch may be sent, 0 for now; None if that depends on a response or a new
        record.
        """
        alone = queue.retrying or (self.idempotent and not queue.acknowledged)
        if not queue.waiting or len(queue.in_flight) >= (1 if alone else self.max_in_flight):
            return None
        first = queue.waiting[0]
        hold = queue.not_before - now
        if not (self.flushing or first.attempts or len(queue.waiting) > 1 or first.size >= self.batch_size):
            hold = max(hold, first.created + self.linger - now)
        return max(hold, 0.0)

    def next_wait(self, now: float) -> float | None:
        """Return the seconds until another batch may be sent; None if that depends on a response or a new record."""
        return min((wait for queue in self.waiting if (wait := self.wait_of(queue, now))), default=None)

    def take(self, queue: Queue) -> Waiting:
        """Remove and return the first batch, which is in flight from now on."""
        batch = queue.waiting.popleft()
        del self.waiting[queue]
        if queue.waiting:
            self.waiting[queue] = None
        if batch.number < 0:
            batch.number = queue.next_number
            queue.next_number += 1
            if self.idempotent:
                batch.sequence = queue.next_sequence
                queue.next_sequence = (queue.next_sequence + len(batch.rows)) & LAST_SEQUENCE
        batch.attempts += 1
        queue.in_flight.append(batch)
        return batch

    def finish(self, batch: Waiting, now: float) -> None:
        """Remove a batch that the broker acknowledged."""
        queue = self.queues[batch.partition]
        queue.acknowledged = True
        self._land(queue, batch, now)
        if not queue.in_flight:
            queue.retrying = False
        self.bytes -= batch.size - BATCH_OVERHEAD

    def retry(self, batch: Waiting, now: float, delay: float) -> None:
        """Put a failed batch back in its place, to be sent after `delay` seconds at the earliest."""
        queue = self.queues[batch.partition]
        self._land(queue, batch, now)
        at = 0
        while at < len(queue.waiting) and 0 <= queue.waiting[at].number < batch.number:
            at += 1
        queue.waiting.insert(at, batch)
        self.waiting[queue] = None
        queue.retrying = True
        queue.not_before = max(queue.not_before if delay else now, now + delay)

    @staticmethod
    def _land(queue: Queue, batch: Waiting, now: float) -> None:
        queue.in_flight.remove(batch)
        if not queue.in_flight and queue.refused_epoch is not None and queue.refused_at is None:
            queue.refused_at = now

    def is_first(self, batch: Waiting) -> bool:
        """Return whether no earlier batch of its partition is in flight."""
        queue = self.queues[batch.partition]
        others = (*queue.in_flight, *queue.waiting)
        return not any(0 <= other.number < batch.number for other in others)

    @property
    def is_empty(self) -> bool:
        """Return whether no record waits and no batch is in flight."""
        return not any(queue.waiting or queue.in_flight for queue in self.queues.values())

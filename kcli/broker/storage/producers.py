"""The state of a log's producers: the sequences of idempotent ones, open transactions and aborted transactions.

Rules (KIP-98; Kafka's ProducerStateManager and ProducerAppendInfo):

* A batch with the first and last sequence of one of its producer's last five batches is a duplicate. It is not written
  again, and its response has the offset of the first copy.
* In one epoch sequences have no gaps, and 0 follows the largest int32. A new epoch begins with 0. An unknown producer
  may begin with any sequence, as its records may have been deleted, unless the caller knows that none were.
* A batch with an epoch below the producer's current one is fenced.
* A transaction is open from its first batch to its control batch. The first offset of the oldest open transaction is
  the last stable offset. Aborted transactions are kept for read_committed fetches.

On disk `<offset>.snapshot` has the state before that offset in Kafka's format, and each segment has a `.txnindex`.
"""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kcli.core.records.crc import crc32c
from kcli.grammar.files.logfiles import (
    PRODUCER_ENTRY,
    PRODUCER_HEAD,
    PRODUCER_SNAPSHOT_VERSION,
    TRANSACTION_INDEX_ENTRY,
    TRANSACTION_INDEX_VERSION,
    producer_crc_start,
)
from kcli.grammar.words.fixed import fixed_layout
from kcli.records.batches import LAST_SEQUENCE, Batch

OUT_OF_ORDER, DUPLICATE, FENCED = "out of order", "duplicate", "fenced"
REMEMBERED = 5
NO_SEQUENCE = -1

HEAD = fixed_layout(PRODUCER_HEAD)
ENTRY = fixed_layout(PRODUCER_ENTRY)
ABORTED_ENTRY = fixed_layout(TRANSACTION_INDEX_ENTRY)


class AppendedBatch(NamedTuple):
    """The sequences and offsets of a batch that was written. timestamp: its latest (ms)."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class Aborted(NamedTuple):
    """An aborted transaction. last_stable_offset: at the time after its end."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int

    def has(self, batch: Batch) -> bool:
        """Return whether a data batch belongs to this transaction."""
        its_producer = batch.is_transactional and batch.producer_id == self.producer_id
        return its_producer and not batch.is_control and self.first_offset <= batch.base_offset <= self.last_offset


class Known:
    """A producer. batches: the last five; transaction_start: the first offset of its open transaction, -1 for none.

    last_timestamp: of its last batch or marker (ms).
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp", "transaction_start")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[AppendedBatch] = deque(maxlen=REMEMBERED)
        self.transaction_start = -1
        self.coordinator_epoch = -1
        self.last_timestamp = -1


class ProducerStates:
    """All producers of one log. known: by producer id."""

    def __init__(self) -> None:
        self.known: dict[int, Known] = {}
        self.aborted: list[Aborted] = []

    # --- before a batch is written

    def check(
        self, producer_id: int, epoch: int, first: int, last: int, *, complete: bool = False
    ) -> tuple[str | None, AppendedBatch | None]:
        """Return (error, None) of a batch, or (DUPLICATE, the first copy), or (None, None) if it may be written.

        complete: an unknown producer has to begin with sequence 0.
        """
        known = self.known.get(producer_id)
        if known is None:
            return (OUT_OF_ORDER, None) if complete and first else (None, None)
        if epoch < known.epoch:
            return FENCED, None
        if epoch > known.epoch:
            return (OUT_OF_ORDER, None) if first != 0 else (None, None)
        for each in known.batches:
            if (each.first_sequence, each.last_sequence) == (first, last):
                return DUPLICATE, each
        newest = known.batches[-1].last_sequence if known.batches else NO_SEQUENCE
        if first != (newest + 1) & LAST_SEQUENCE:
            return OUT_OF_ORDER, None
        return None, None

    # --- once it is written

    def note(
        self, producer_id: int, epoch: int, first_sequence: int, written: tuple[int, int, int], transactional: bool
    ) -> None:
        """Add a data batch that was written. written: (first offset, last offset, timestamp in ms)."""
        known = self.known.get(producer_id)
        if known is None or epoch > known.epoch:
            start = known.transaction_start if known else -1
            coordinator = known.coordinator_epoch if known else -1
            known = self.known[producer_id] = Known(epoch)
            known.transaction_start = start
            known.coordinator_epoch = coordinator
        first_offset, last_offset, timestamp = written
        known.last_timestamp = timestamp
        if first_sequence != NO_SEQUENCE:
            last = (first_sequence + last_offset - first_offset) & LAST_SEQUENCE
            known.batches.append(AppendedBatch(first_sequence, last, first_offset, last_offset, timestamp))
        if transactional and known.transaction_start < 0:
            known.transaction_start = first_offset

    def end_transaction(
        self,
        producer_id: int,
        epoch: int,
        offset: int,
        *,
        commit: bool,
        coordinator_epoch: int = -1,
        timestamp: int = -1,
    ) -> Aborted | None:
        """End the producer's transaction by a control batch at `offset`; return an aborted transaction, else None."""
        known = self.known.setdefault(producer_id, Known(epoch))
        start, known.transaction_start = known.transaction_start, -1
        known.coordinator_epoch, known.last_timestamp = coordinator_epoch, timestamp
        if epoch > known.epoch:
            known.epoch = epoch
            known.batches.clear()
        if commit or start < 0:
            return None
        made = Aborted(producer_id, start, offset, self.last_stable_offset(offset + 1))
        self.aborted.append(made)
        return made

    # --- what readers ask

    def last_stable_offset(self, high_watermark: int) -> int:
        """Return the offset below which every transaction has ended, at most the high watermark."""
        starts = [each.transaction_start for each in self.known.values() if each.transaction_start >= 0]
        return min(high_watermark, *starts) if starts else high_watermark

    def aborted_between(self, start: int, end: int) -> Iterator[Aborted]:
        """Yield aborted transactions with records in [start, end)."""
        return (each for each in self.aborted if each.last_offset >= start and each.first_offset < end)

    def forget_before(self, offset: int) -> None:
        """Drop aborted transactions that ended before this offset."""
        self.aborted = [each for each in self.aborted if each.last_offset >= offset]

    # --- on disk

    def snapshot(self) -> bytes:
        """Return the bytes of the snapshot file."""
        entries = b"".join(ENTRY.pack(*row(producer_id, each)) for producer_id, each in self.known.items())
        made = bytearray(HEAD.pack(PRODUCER_SNAPSHOT_VERSION, 0, len(self.known)) + entries)
        crc = crc32c(bytes(made[producer_crc_start() :]))
        made[: HEAD.size] = HEAD.pack(PRODUCER_SNAPSHOT_VERSION, crc, len(self.known))
        return bytes(made)

    def restore(self, data: bytes) -> bool:
        """Restore the state from a snapshot file's bytes. Returns False if they are damaged."""
        if len(data) < HEAD.size:
            return False
        version, crc, count = HEAD.unpack_from(data)
        body = data[HEAD.size :]
        if version != PRODUCER_SNAPSHOT_VERSION or crc != crc32c(data[producer_crc_start() :]):
            return False
        if len(body) != count * ENTRY.size:
            return False
        for producer_id, epoch, last, offset, delta, timestamp, coordinator, start in ENTRY.iter_unpack(body):
            known = self.known[producer_id] = Known(epoch)
            known.transaction_start, known.coordinator_epoch = start, coordinator
            known.last_timestamp = timestamp
            if last != NO_SEQUENCE:
                first = (last - delta) & LAST_SEQUENCE
                known.batches.append(AppendedBatch(first, last, offset - delta, offset, timestamp))
        return True


def row(producer_id: int, known: Known) -> tuple[int, ...]:
    last = known.batches[-1] if known.batches else AppendedBatch(NO_SEQUENCE, NO_SEQUENCE, -1, -1, -1)
    delta = last.last_offset - last.first_offset
    return (
        producer_id,
        known.epoch,
        last.last_sequence,
        last.last_offset,
        delta,
        known.last_timestamp,
        known.coordinator_epoch,
        known.transaction_start,
    )


def read_aborted(path: Path) -> list[Aborted]:
    """Read the entries of a .txnindex file; [] if there is none."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: len(data) // ABORTED_ENTRY.size * ABORTED_ENTRY.size]
    return [Aborted(*entry[1:]) for entry in ABORTED_ENTRY.iter_unpack(whole)]


def append_aborted(path: Path, each: Aborted) -> None:
    """Append an aborted transaction to a segment's transaction index. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)  # the segment may still be in memory
    with path.open("ab") as file:
        file.write(ABORTED_ENTRY.pack(TRANSACTION_INDEX_VERSION, *each))

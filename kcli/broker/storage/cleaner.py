"""Compaction: only the latest record of each key is kept (Kafka's Cleaner and LogCleanerManager).

* Only closed segments are cleaned, up to the first with a record of an open transaction, or with one younger than
  min.compaction.lag.ms. Offsets do not change; a batch keeps its first and last offset. Adjacent segments that fit into
  segment.bytes together are merged.
* A tombstone (a record without a value) is kept for delete.retention.ms after the first cleaning that found it. That
  time is written as the delete horizon of its batch (KIP-534). The marker of a transaction without records is kept for
  the same time.
* Records of aborted transactions and records without a key are removed, and the transactions are no longer listed.
* The last batch of a producer is kept without records, as the next batch's sequence has to follow its own.
* Messages of magic 0 and 1 are kept unchanged, or removed if no record in them is the latest of its key.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from kcli.broker.storage.headers import StoredBatch
from kcli.broker.storage.log import Log
from kcli.broker.storage.producers import Aborted
from kcli.broker.storage.segment import FARTHEST, Segment
from kcli.core.records import batches as core
from kcli.core.records import record_values
from kcli.records.batches import CODEC_MASK, HORIZON, Batch, Record, scan
from kcli.records.builder import write_rows
from kcli.records.codecs import compress

MOST_KEYS = 5_000_000  # the capacity of Kafka's buffer of 128 MiB


@dataclass(frozen=True, slots=True)
class CleaningRules:
    """Times in ms. now: of the broker's clock; delete_retention, least_lag: delete.retention.ms,
    min.compaction.lag.ms.
    """

    now: int
    delete_retention: int
    least_lag: int = 0


@dataclass(slots=True)
class Cleaning:
    """One cleaning of a log. first_dirty: the first offset that was not cleaned yet; latest: the offset of the latest
    record by key; live: producer ids of transactions with records that are kept; dropped: the number of removed
    records; end: the first offset that is not cleaned afterwards; aborted: transactions by producer id.
    """

    log: Log
    first_dirty: int
    rules: CleaningRules
    latest: dict[bytes, int] = field(default_factory=dict)
    live: set[int] = field(default_factory=set)
    dropped: int = 0
    end: int = 0
    aborted: dict[int, list[Aborted]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.end = self.first_dirty
        for each in self.log.aborted(0, self.log.end_offset):
            self.aborted[each.producer_id].append(each)

    def run(self) -> int:
        """Clean everything at once; return the first offset that is not cleaned."""
        for _ in self.steps():
            pass
        return self.end

    def steps(self) -> Iterator[None]:
        """Clean segment by segment, and yield in between, so that requests can be answered."""
        segments = self.cleanable()
        for each in segments:
            if each.next_offset > self.first_dirty:
                if not self.note_keys(each):
                    segments = [one for one in segments if one.base_offset <= each.base_offset]
                    break
                yield
        for group in self.groups(segments):
            present = [each for each in group if each in self.log.segments]
            if present:
                self.clean(present)
                yield
        if segments:
            cleaned = max(segments[-1].next_offset, self.next_base(segments[-1]))
            self.end = max(self.first_dirty, cleaned)
            self.forget_aborted(segments, cleaned)
            self.drop_empty(segments)

    def next_base(self, segment: Segment) -> int:
        """Return the first offset of the segment after this one, 0 if there is none."""
        return next((each for each in self.log.bases if each > segment.base_offset), 0)

    def cleanable(self) -> list[Segment]:
        """Return the closed segments that may be cleaned now, from the first on."""
        stable = self.log.producers.last_stable_offset(self.log.end_offset)
        found = []
        for each in self.log.segments[:-1]:
            young = self.rules.least_lag > 0 and each.max_timestamp > self.rules.now - self.rules.least_lag
            if each.next_offset > stable or young or each.remote:
                break
            found.append(each)
        return found

    def groups(self, segments: list[Segment]) -> Iterator[list[Segment]]:
        """Yield groups of adjacent segments to merge, by their present sizes (Kafka's groupSegmentsBySize)."""
        group: list[Segment] = []
        size = 0
        for each in segments:
            fits = size + each.size <= self.log.settings.segment_bytes
            if group and not (fits and each.next_offset - 1 - group[0].base_offset <= FARTHEST):
                yield group
                group, size = [], 0
            group.append(each)
            size += each.size
        if group:
            yield group

    # --- which record is the latest of its key

    def note_keys(self, segment: Segment) -> bool:
        """Add the keys of a segment to `latest`. Returns False if there are more than MOST_KEYS."""
        for batch in batches_of(segment):
            if batch.is_control or self.is_aborted(batch):
                continue
            for record in batch.records():
                if record.key is not None and record.offset >= self.first_dirty:
                    self.latest[record.key] = record.offset
        return len(self.latest) <= MOST_KEYS

    def is_aborted(self, batch: Batch) -> bool:
        """Return whether a batch belongs to an aborted transaction."""
        return any(each.has(batch) for each in self.aborted[batch.producer_id])

    # --- what stays

    def clean(self, group: list[Segment]) -> None:
        """Rewrite a group of segments as one without the removed records, if any are removed or there are several
        segments.
        """
        segment, *others = group
        parts: list[bytes] = []
        places: list[StoredBatch] = []
        position, changed = 0, bool(others)
        for batch in chain.from_iterable(map(batches_of, group)):
            made = self.cleaned(batch)
            changed = changed or made is not batch
            if made is not None:
                stored = bytes(made.bytes) if isinstance(made, Batch) else made
                parts.append(stored)
                latest = Batch(memoryview(stored), core.frames(stored, 0, False)[0][0]).max_timestamp
                places.append(StoredBatch(position, len(stored), batch.base_offset, batch.last_offset, latest))
                position += len(stored)
        if changed:
            segment.rewrite(parts, places, others)
            for each in others:
                self.log.bases.remove(each.base_offset)
                self.log.segments.remove(each)

    def cleaned(self, batch: Batch) -> Batch | bytes | None:
        """Return a batch after the cleaning: itself if it is unchanged, its new bytes, or None if it is removed."""
        if batch.is_control:
            return self.cleaned_marker(batch)
        records = list(batch.records())
        kept = [] if self.is_aborted(batch) else [each for each in records if self.stays(batch, each)]
        self.dropped += len(records) - len(kept)
        if kept and batch.is_transactional:
            self.live.add(batch.producer_id)
        if batch.magic < 2:
            return batch if kept else None
        horizon = batch.delete_horizon
        if horizon is None and any(each.value is None for each in kept):
            horizon = self.rules.now + self.rules.delete_retention
        if len(kept) == len(records) and horizon == batch.delete_horizon:
            return batch
        if not kept and not self.is_last_of_producer(batch):
            return None
        return rebuilt(batch, kept, horizon if kept else None)

    def stays(self, batch: Batch, record: Record) -> bool:
        """Return whether a record is kept: it is the latest of its key, and no tombstone past its delete horizon."""
        if record.key is None or self.latest.get(record.key, record.offset) > record.offset:
            return False
        horizon = batch.delete_horizon
        return record.value is not None or horizon is None or horizon > self.rules.now

    def cleaned_marker(self, batch: Batch) -> Batch | bytes | None:
        """Return a marker after the cleaning, like `cleaned`. It is kept while its transaction has records, and for
        delete.retention.ms after that.
        """
        if batch.producer_id < 0 or batch.producer_id in self.live:
            self.live.discard(batch.producer_id)
            return batch
        horizon = batch.delete_horizon
        if horizon is None:
            return rebuilt(batch, list(batch.records()), self.rules.now + self.rules.delete_retention)
        if horizon > self.rules.now:
            return batch
        return rebuilt(batch, [], None) if self.is_last_of_producer(batch) else None

    def is_last_of_producer(self, batch: Batch) -> bool:
        """Return whether a batch is the last one of its producer."""
        known = self.log.producers.known.get(batch.producer_id)
        return bool(known and known.batches and known.batches[-1].last_offset == batch.last_offset)

    def forget_aborted(self, segments: list[Segment], cleaned: int) -> None:
        """Drop the aborted transactions that ended below an offset, as all their records were removed.

        A client that got such an entry would skip the producer's records up to a marker that may have been removed,
        too.
        """
        known = self.log.producers
        known.aborted = [each for each in known.aborted if each.last_offset >= cleaned]
        for each in segments:
            if each in self.log.segments:
                each.path_of(".txnindex").unlink(missing_ok=True)

    def drop_empty(self, segments: list[Segment]) -> None:
        """Delete empty segments, except for the log's first one, whose name is the log's start."""
        for each in [one for one in segments if not one.size and one in self.log.segments[1:]]:
            self.log.bases.remove(each.base_offset)
            self.log.segments.remove(each)
            each.delete()


def batches_of(segment: Segment) -> Iterator[Batch]:
    return scan(segment.slice(0, segment.size).read(), damages=[])


def rebuilt(batch: Batch, kept: list[Record], horizon: int | None) -> bytes:
    """Return a batch of magic 2 with only these of its records. horizon: when its tombstones are removed (ms), None for
    none.
    """
    attributes = batch.attributes & ~HORIZON | (HORIZON if horizon is not None else 0)
    base_timestamp = horizon if horizon is not None else kept[0].timestamp if kept else batch.base_timestamp
    latest = batch.max_timestamp if batch.is_append_time else max((each.timestamp for each in kept), default=-1)
    headers = [[(name.encode("utf-8", "surrogateescape"), value) for name, value in each.headers] for each in kept]
    rows = [
        (each.offset, each.timestamp, each.key, each.value, pairs) for each, pairs in zip(kept, headers, strict=True)
    ]
    codec = attributes & CODEC_MASK if kept else 0
    payload = compress(codec, write_rows(rows, batch.base_offset, base_timestamp), 2) if kept else b""
    return record_values.write_header(
        batch.base_offset,
        batch.partition_leader_epoch,
        2,
        attributes & ~CODEC_MASK | codec,
        batch.last_offset - batch.base_offset,
        base_timestamp,
        latest,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        len(kept),
        payload,
    )


def is_dirty(log: Log, first_dirty: int, ratio: float, now: int, longest_lag: int) -> bool:
    """Return whether a log should be cleaned: the share of its closed segments that was not cleaned is above `ratio`,
    or a record in them is older than `longest_lag` (ms).
    """
    closed = log.segments[:-1]
    dirty = [each for each in closed if each.next_offset > first_dirty]
    size, all_of_it = sum(each.size for each in dirty), sum(each.size for each in closed)
    if not dirty or not all_of_it:
        return False
    first = next((each.max_timestamp for each in dirty if each.max_timestamp >= 0), now)
    return size / all_of_it > ratio or first < now - longest_lag

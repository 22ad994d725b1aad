"""The log of one partition, with its segments, leader epochs and producer states."""

from __future__ import annotations

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcli.broker.storage.epochs import LeaderEpochs
from kcli.broker.storage.file_pool import FilePool, files_in
from kcli.broker.storage.headers import StoredBatch
from kcli.broker.storage.incoming import Incoming, numbered
from kcli.broker.storage.producers import Aborted, ProducerStates, append_aborted, read_aborted
from kcli.broker.storage.segment import FARTHEST, Segment, Slice
from kcli.records.batches import Batch
from kcli.records.control import decode_control


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Kafka's configs segment.bytes, segment.ms and index.interval.bytes."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096


class Log:
    """A log. bases: the first offsets of the segments; start_offset: the first offset that may be read."""

    def __init__(self, folder: Path, pool: FilePool, settings: LogSettings) -> None:
        self.folder, self.pool, self.settings = folder, pool, settings
        self.segments: list[Segment] = []
        self.bases: list[int] = []
        self.start_offset = 0
        self.epochs = LeaderEpochs(folder, lasting=pool.lasting)
        self.producers = ProducerStates()

    @classmethod
    def create(cls, folder: Path, pool: FilePool, settings: LogSettings, first_offset: int = 0) -> Log:
        """Create an empty log that begins at `first_offset`. Raises OSError."""
        if pool.lasting:
            folder.mkdir(parents=True, exist_ok=True)
        log = cls(folder, pool, settings)
        log.start_offset = first_offset
        log.add_segment(first_offset)
        return log

    @property
    def active(self) -> Segment:
        """The last segment, to which batches are appended."""
        return self.segments[-1]

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.segments[-1].next_offset

    @property
    def local_start_offset(self) -> int:
        """The first offset that is stored locally."""
        return max(self.start_offset, next(each.base_offset for each in self.segments if not each.remote))

    @property
    def last_copied_offset(self) -> int:
        """The last offset that was copied to remote storage, -1 for none."""
        return max((each.next_offset - 1 for each in self.segments if each.copy is not None), default=-1)

    @property
    def size(self) -> int:
        """The bytes of all segments."""
        return sum(each.size for each in self.segments)

    # --- writing

    def append(self, batches: Sequence[Incoming], epoch: int) -> int:
        """Append batches with offsets from the log's end on; return the first offset. Raises OSError; then none is
        written. epoch: the leader epoch.
        """
        base = self.end_offset
        latest = max(each.max_timestamp for each in batches)
        self.make_room(sum(len(each.data) for each in batches), base + sum(each.offsets for each in batches), latest)
        parts: list[bytes | memoryview] = []
        places: list[StoredBatch] = []
        position, offset = self.active.size, base
        for each in batches:
            made, place = numbered(each, offset, epoch, position)
            parts += made
            places.append(place)
            position += place.size
            offset += each.offsets
        self.write(parts, places)
        self.epochs.assign(epoch, base)
        for each, place in zip(batches, places, strict=True):
            self.note_producer(each.head, place)
        return base

    def append_stored(self, batches: Sequence[Incoming]) -> None:
        """Append batches that already have offsets, with gaps between them. Batches below the log's end are ignored."""
        for each in batches:
            base, last = each.head.base_offset, each.head.last_offset
            if base < self.end_offset:
                continue
            if not self.size:
                self.begin_at(base)
            self.make_room(len(each.data), last + 1)
            place = StoredBatch(self.active.size, len(each.data), base, last, each.max_timestamp)
            self.write([each.data], [place])
            self.epochs.assign(max(each.head.partition_leader_epoch, 0), base)
            self.note_producer(each.head, place)

    def begin_at(self, offset: int) -> None:
        """Move the start of an empty log to another offset."""
        if self.bases == [offset] and not self.size:
            self.start_offset = offset
            return
        for each in self.segments:
            each.delete()
        self.segments, self.bases = [], []
        self.start_offset = offset
        self.add_segment(offset)

    def skip_to(self, offset: int) -> None:
        """Begin a new segment at this offset, after a gap."""
        self.roll(offset)

    def write(self, parts: Sequence[bytes | memoryview], places: Sequence[StoredBatch]) -> None:
        """Write batches with offsets to the active segment. Raises OSError; then nothing was written."""
        # The kernel limits the number of buffers in one call.
        parts = [b"".join(parts)] if len(parts) > 512 else parts
        self.active.append(parts, places)

    def make_room(self, size: int, next_offset: int, timestamp: int = -1) -> None:
        """Roll to a new segment if the active one would exceed segment.bytes, segment.ms (by `timestamp`), or the range
        of relative offsets.
        """
        active = self.active
        full = active.size and active.size + size > self.settings.segment_bytes
        full = full or 0 <= active.first_timestamp < timestamp - self.settings.segment_ms
        if full or next_offset - 1 - active.base_offset > FARTHEST:
            self.roll()

    def roll(self, base: int | None = None) -> None:
        """Close the active segment, with its indexes, producer states and data on the disk, and begin a new one.

        base: the first offset of the new one, by default the log's end. Raises OSError.
        """
        base = self.end_offset if base is None else base
        self.pool.store(self.active.path)
        self.active.seal()
        if self.pool.lasting:
            self.active.file().sync()
        self.epochs.save()
        self.write_snapshot(base)
        self.add_segment(base)

    def add_segment(self, base: int, folder: Path | None = None) -> Segment:
        """Append an empty segment with this first offset. folder: of the files of a remote segment."""
        made = Segment(folder or self.folder, base, self.pool, self.settings.index_interval_bytes)
        made.file()
        self.segments.append(made)
        self.bases.append(base)
        return made

    def note_producer(self, head: Batch, place: StoredBatch) -> None:
        """Update the state of a batch's producer."""
        if head.producer_id < 0:
            return
        producer = head.producer_id, head.producer_epoch
        if not head.is_control:
            written = (place.base_offset, place.last_offset, place.max_timestamp)
            self.producers.note(*producer, head.base_sequence, written, head.is_transactional)
        elif head.is_transactional:
            marker = marker_of(head)
            ended = self.producers.end_transaction(
                *producer,
                place.last_offset,
                commit=marker.get("type") == "COMMIT",
                coordinator_epoch=(marker.get("data") or {}).get("coordinatorEpoch", -1),
                timestamp=place.max_timestamp,
            )
            if ended is not None:
                append_aborted(self.active.path_of(".txnindex"), ended)

    def write_snapshot(self, offset: int) -> None:
        """Write a snapshot of the producer states before this offset, and delete all but the last two. Raises
        OSError.
        """
        path = self.folder / f"{offset:020d}.snapshot"
        path.write_bytes(self.producers.snapshot())
        for old in files_in(self.folder, ".snapshot")[:-2]:
            with contextlib.suppress(FileNotFoundError):
                old.unlink()

    # --- reading

    def segment_of(self, offset: int) -> Segment:
        """Return the last segment that begins at or before this offset, else the first one."""
        return self.segments[max(0, bisect_right(self.bases, offset) - 1)]

    def find(self, offset: int) -> tuple[Segment, StoredBatch] | None:
        """Return the batch with `offset`, or the first one after it, and its segment; None at the log's end."""
        for at in range(max(0, bisect_right(self.bases, offset) - 1), len(self.segments)):
            segment = self.segments[at]
            if segment.next_offset > offset and (found := segment.find(offset)) is not None:
                return segment, found
        return None

    def read(self, offset: int, most: int, whole_first: bool = False, limit: int | None = None) -> Slice | None:
        """Return up to `most` bytes from the batch with `offset` on; None if there is nothing to read.

        whole_first: return the first batch whole even if it is longer. limit: an offset at which to stop. A slice is
        within one segment, and may end within a batch.
        """
        if limit is not None and offset >= limit:
            return None
        found = self.find(offset)
        if found is None:
            return None
        segment, place = found
        size = max(most, place.size) if whole_first else most
        if limit is not None and limit < segment.next_offset:
            behind = segment.find(limit)
            size = min(size, (behind.position if behind else segment.size) - place.position)
        return segment.slice(place.position, size, place.size) if size > 0 else None

    def first_at(self, timestamp: int) -> tuple[Segment, StoredBatch] | None:
        """Return the first readable batch with a largest timestamp at or after this, and its segment; None for none."""
        for each in self.segments:
            if each.next_offset > self.start_offset and (found := each.first_at(timestamp, self.start_offset)):
                return each, found
        return None

    def aborted(self, start: int, end: int) -> Iterator[Aborted]:
        """Yield aborted transactions with records in [start, end)."""
        return self.producers.aborted_between(start, end)

    # --- deleting

    def delete_before(self, offset: int) -> None:
        """Move the log's start to this offset, and delete the segments before it."""
        self.start_offset = max(self.start_offset, min(offset, self.end_offset))
        while len(self.segments) > 1 and self.segments[0].next_offset <= self.start_offset:
            self.segments.pop(0).delete()
            self.bases.pop(0)
        if self.segments[0].next_offset <= self.start_offset and self.segments[0].size:
            self.roll()
            self.segments.pop(0).delete()
            self.bases.pop(0)
        self.epochs.truncate_start(self.start_offset)
        self.producers.forget_before(self.start_offset)

    def close(self) -> None:
        """Write indexes and producer states, so that the next start does not have to read the log. Raises OSError."""
        if self.segments and self.pool.lasting:
            self.active.seal()
            self.epochs.save()
            self.write_snapshot(self.end_offset)

    def load_aborted(self) -> None:
        """Read the .txnindex files of all segments."""
        for each in self.segments:
            self.producers.aborted += read_aborted(each.path_of(".txnindex"))


def marker_of(head: Batch) -> dict[str, Any]:
    """Decode the record of a control batch; {} if there is none."""
    return next((decode_control(each.key, each.value) for each in head.records()), {})


def is_commit(head: Batch) -> bool:
    """Return whether a control batch commits its producer's transaction."""
    return bool(marker_of(head).get("type") == "COMMIT")

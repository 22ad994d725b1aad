"""The state of a partition in a share group: each record in flight is available, acquired, or done (KIP-932).

* start: the first offset that is not done; end: the first offset that was never acquired.
* A member has an acquired record for the duration of its lock. Then the record is available again, up to the limit of
  deliveries. Accepted and rejected records are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, groupby
from typing import NamedTuple

from kcli.broker.clock import Clock, Timer
from kcli.records.acceptance import RefusedError

PRECISION = 0.01  # seconds by which a timer may be early
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)


class Stage(IntEnum):
    """The stage of a record, with the numbers of Kafka's RecordState."""

    AVAILABLE, ACQUIRED, ACKNOWLEDGED, ARCHIVED = 0, 1, 2, 4


class BatchRange(NamedTuple):
    """The first and the last offset of a batch."""

    first: int
    last: int


class Acquired(NamedTuple):
    """Offsets that a member acquired together. deliveries: their number, with this one."""

    first: int
    last: int
    deliveries: int


class Kept(NamedTuple):
    """Offsets of one stage and delivery count in the stored state."""

    first: int
    last: int
    stage: Stage
    deliveries: int


class Acknowledgement(NamedTuple):
    """A member's acknowledgement of records. types: one number for all records, or one for each."""

    first: int
    last: int
    types: Sequence[int]


@dataclass(frozen=True, slots=True)
class ShareLimits:
    """The limits. lock: seconds; deliveries: the most of one record; in_flight: the most records of one partition."""

    lock: float = 30.0
    deliveries: int = 5
    in_flight: int = 2000


@dataclass(slots=True, eq=False)
class InFlight:
    """A record between start and end. count: its deliveries; member: that has acquired it, "" for none."""

    stage: Stage = Stage.AVAILABLE
    count: int = 0
    member: str = ""
    lock: Timer | None = None

    @property
    def is_done(self) -> bool:
        """Return whether the record is acknowledged or archived."""
        return self.stage in (Stage.ACKNOWLEDGED, Stage.ARCHIVED)


class SharePartition:
    """The state of a shared partition. changed: called when records have become available again; keep: called after
    each change that has to be stored.
    """

    def __init__(
        self,
        start: int,
        clock: Clock,
        changed: Callable[[], None],
        keep: Callable[[SharePartition], None] = lambda _: None,
    ) -> None:
        self.start = self.end = start
        self.clock, self.changed, self.keep = clock, changed, keep
        self.records: dict[int, InFlight] = {}

    @property
    def next_offset(self) -> int:
        """The first offset that is available."""
        ready = (offset for offset, each in self.records.items() if each.stage is Stage.AVAILABLE)
        return min(ready, default=self.end)

    def begin_at(self, offset: int) -> None:
        """Drop records before an offset, as they were deleted from the log."""
        if offset > self.start:
            for each in [one for one in self.records if one < offset]:
                self.records.pop(each).lock = None
            self.start, self.end = offset, max(self.end, offset)
            self._advance()
            self.keep(self)

    def kept(self) -> list[Kept]:
        """Return the state to store. Acquired records have their stage and delivery count from before."""
        made = []
        for (_, stage, count), run in groupby(enumerate(sorted(self.records)), self._place_of):
            offsets = [offset for _, offset in run]
            made.append(Kept(offsets[0], offsets[-1], stage, count))
        while made and made[-1][2:] == (Stage.AVAILABLE, 0):
            made.pop()  # the same as never acquired
        return made

    def _place_of(self, numbered: tuple[int, int]) -> tuple[int, Stage, int]:
        """Return the key of a record; adjacent records with the same key are stored as one range."""
        number, offset = numbered
        each = self.records[offset]
        if each.stage is Stage.ACQUIRED:
            return offset - number, Stage.AVAILABLE, each.count - 1
        return offset - number, each.stage, each.count

    def restore(self, kept: Iterable[Kept]) -> None:
        """Restore the partition from its stored state."""
        for each in kept:
            for offset in range(max(each.first, self.start), each.last + 1):
                self.records[offset] = InFlight(each.stage, each.deliveries)
        self.end = max(self.records, default=self.start - 1) + 1
        for offset in range(self.start, self.end):
            self.records.setdefault(offset, InFlight())
        self._advance()

    def archive(self, batches: Iterable[BatchRange], limits: ShareLimits) -> None:
        """Archive the available records of batches."""
        behind = self._first_beyond(limits)
        spans = (range(max(first, self.start), min(last + 1, behind)) for first, last in batches)
        done = [offset for offset in chain.from_iterable(spans) if self._is_free(offset, limits)]
        self._reach(max(done, default=-1))
        for offset in done:
            self.records[offset].stage = Stage.ARCHIVED
        if done:
            self._advance()
            self.keep(self)

    def acquire(
        self, member: str, batches: Iterable[BatchRange], most: int, limits: ShareLimits, *, strict: bool = False
    ) -> list[Acquired]:
        """Acquire available records of batches for a member, up to about `most`; return their ranges.

        strict: never more than `most`; else the batch in which the limit is reached is acquired whole.
        """
        acquired: list[int] = []
        behind = self._first_beyond(limits)
        for first, last in batches:
            for offset in range(max(first, self.start), min(last + 1, behind)):
                if strict and len(acquired) >= most:
                    break
                if self._is_free(offset, limits):
                    acquired.append(offset)
            if len(acquired) >= most or last >= behind:
                break
        self._reach(max(acquired, default=-1))
        for offset in acquired:
            each = self.records[offset]
            each.stage, each.member, each.count = Stage.ACQUIRED, member, each.count + 1
        made = list(self._ranges(acquired))
        for some in made:
            self._lock(some, limits)
        return made

    def _first_beyond(self, limits: ShareLimits) -> int:
        """Return the offset from which on no record can be acquired, by the limit of records in flight."""
        return max(self.end, self.start + limits.in_flight)

    def _reach(self, last: int) -> None:
        """Add available records up to an offset, if they are new."""
        self.records |= {offset: InFlight() for offset in range(self.end, last + 1)}
        self.end = max(self.end, last + 1)

    def _is_free(self, offset: int, limits: ShareLimits) -> bool:
        each = self.records.get(offset)
        if each is not None:
            return each.stage is Stage.AVAILABLE
        return offset >= self.end and offset - self.start < limits.in_flight

    def _ranges(self, offsets: list[int]) -> Iterator[Acquired]:
        """Yield ranges of adjacent offsets with the same number of deliveries."""
        run: Acquired | None = None
        for offset in offsets:
            count = self.records[offset].count
            if run is not None and (offset, count) == (run.last + 1, run.deliveries):
                run = run._replace(last=offset)
                continue
            if run is not None:
                yield run
            run = Acquired(offset, offset, count)
        if run is not None:
            yield run

    def _lock(self, some: Acquired, limits: ShareLimits) -> None:
        records = [self.records[offset] for offset in range(some.first, some.last + 1)]
        timer = self.clock.call_later(limits.lock, self._expire, records, limits)
        for each in records:
            each.lock = timer

    def _expire(self, records: list[InFlight], limits: ShareLimits) -> None:
        """Release the records of an expired lock, except for acknowledged ones and those with a newer lock."""
        now = self.clock.time() + PRECISION
        due = [each for each in records if each.lock is not None and each.lock.due <= now]
        for each in due:
            self._let_go(each, limits)
        if due:
            self._advance()
            self.keep(self)
            self.changed()

    def _let_go(self, each: InFlight, limits: ShareLimits) -> None:
        each.stage = Stage.ARCHIVED if each.count >= limits.deliveries else Stage.AVAILABLE
        each.member, each.lock = "", None

    def acknowledge(self, member: str, acknowledgements: Sequence[Acknowledgement], limits: ShareLimits) -> None:
        """Apply all acknowledgements of a member, or none.

        Raises RefusedError if they are invalid, or the member has not acquired one of the records.
        """
        steps: list[tuple[int, int]] = []
        for some in acknowledgements:
            steps += self._steps(member, some)
        for offset, kind in steps:
            each = self.records[offset]
            if kind == RENEW:
                self._lock(Acquired(offset, offset, each.count), limits)
            elif kind == RELEASE:
                self._let_go(each, limits)
            else:
                each.stage = Stage.ACKNOWLEDGED if kind == ACCEPT else Stage.ARCHIVED
                each.member, each.lock = "", None
        self._advance()
        if any(kind != RENEW for _, kind in steps):
            self.keep(self)
        if any(kind == RELEASE for _, kind in steps):
            self.changed()

    def _steps(self, member: str, some: Acknowledgement) -> Iterator[tuple[int, int]]:
        size = some.last - some.first + 1
        if size <= 0 or len(some.types) not in (1, size) or not set(some.types) <= set(range(5)):
            raise RefusedError("INVALID_REQUEST", f"records {some.first} to {some.last}: {len(some.types)} types")
        if some.last >= self.end:
            raise RefusedError("INVALID_RECORD_STATE", f"record {some.last} was not acquired")
        for at, offset in enumerate(range(some.first, some.last + 1)):
            each = self.records.get(offset)
            if offset < self.start and each is None:
                continue  # done, or deleted
            if each is None or each.stage is not Stage.ACQUIRED or each.member != member:
                raise RefusedError("INVALID_RECORD_STATE", f"record {offset} is not the member's")
            yield offset, some.types[at if len(some.types) > 1 else 0]

    def release_all(self, member: str) -> None:
        """Release all records of a member that has left; this delivery is not counted."""
        mine = [each for each in self.records.values() if each.member == member]
        for each in mine:
            each.stage, each.member, each.lock, each.count = Stage.AVAILABLE, "", None, each.count - 1
        if mine:
            self.keep(self)
            self.changed()

    def _advance(self) -> None:
        while (each := self.records.get(self.start)) is not None and each.is_done:
            del self.records[self.start]
            self.start += 1
        if not self.records:
            self.start = self.end

    def close(self) -> None:
        """Cancel all timers."""
        for each in self.records.values():
            if each.lock is not None:
                each.lock.cancel()

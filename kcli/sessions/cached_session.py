"""A fetch session in a broker's cache: its partitions, the values last reported of each, and their order."""

from __future__ import annotations

from itertools import count

from kcli.sessions.epochs import FIRST_EPOCH
from kcli.sessions.rules import Reported, Rules
from kcli.sessions.values import Partition, Position, Result

NEVER_TOLD = -1


class CachedPartition:
    """One partition of a session: the fetcher's position, the values last reported, and its turn (the lowest comes
    first).
    """

    __slots__ = ("position", "reported", "turn")

    def __init__(self, position: Position, turn: int) -> None:
        self.position = position
        self.reported = Reported(NEVER_TOLD, NEVER_TOLD)
        self.turn = turn


class CachedSession:
    """A session in the cache. Times are in ms.

    privileged: it is a follower's
    due: partitions that may have changed; all others are as last reported
    partial: it has other partitions, too, which are unknown
    """

    __slots__ = (
        "_interest",
        "_turns",
        "cached_size",
        "created",
        "due",
        "epoch",
        "id",
        "last_used",
        "partial",
        "partitions",
        "privileged",
        "topic_ids",
    )

    def __init__(
        self,
        session_id: int,
        now: int,
        *,
        privileged: bool,
        topic_ids: bool,
        interest: dict[Partition, set[CachedSession]],
    ) -> None:
        self.id = session_id
        self.privileged = privileged
        self.topic_ids = topic_ids
        self.partial = False
        self.epoch = FIRST_EPOCH
        self.created = self.last_used = now
        self.cached_size = 0
        self.partitions: dict[Partition, CachedPartition] = {}
        self.due: set[Partition] = set()
        self._turns = count()
        self._interest = interest

    def put(self, partition: Partition, position: Position) -> None:
        """Add a partition, or move the fetcher's position in it. Either makes the partition due."""
        cached = self.partitions.get(partition)
        if cached is None:
            self.partitions[partition] = CachedPartition(position, next(self._turns))
            self._interest.setdefault(partition, set()).add(self)
        else:
            cached.position = position
        self.due.add(partition)

    def drop(self, partition: Partition) -> None:
        """Remove a partition, if the session has it."""
        if self.partitions.pop(partition, None) is not None:
            self.due.discard(partition)
            self._lose_interest(partition)

    def release(self) -> None:
        """Remove the session from those that `mark` finds, because the cache has removed it."""
        for partition in self.partitions:
            self._lose_interest(partition)

    def report(self, partition: Partition, result: Result, rules: Rules) -> bool:
        """Return whether an incremental response must include this result. The result counts as reported."""
        cached = self.partitions.get(partition)
        if cached is None:
            return False
        reasons = rules.reasons(cached.reported, result)
        self._remember(cached, result, rules)
        if result.records_size > 0 and rules.rotate:
            cached.turn = next(self._turns)
        self._settle(partition, result)
        return bool(reasons)

    def start(self, partition: Partition, position: Position, result: Result, rules: Rules) -> None:
        """Add a partition of the full fetch that opened this session, with the result in its response."""
        self.put(partition, position)
        self._remember(self.partitions[partition], result, rules)
        self._settle(partition, result)

    def in_turn(self) -> list[tuple[Partition, Position]]:
        """Return (partition, fetcher's position) of the due partitions, the longest waiting first."""
        due = sorted(self.due, key=lambda partition: self.partitions[partition].turn)
        return [(partition, self.partitions[partition].position) for partition in due]

    def _settle(self, partition: Partition, result: Result) -> None:
        """Make this partition not due until it is marked or the fetcher moves. A result that has to be reported each
        time stays due.
        """
        repeats = result.error or result.preferred_replica >= 0 or result.diverging
        if not (result.records_size or result.more or repeats):
            self.due.discard(partition)

    @staticmethod
    def _remember(cached: CachedPartition, result: Result, rules: Rules) -> None:
        cached.reported.log_start_offset = result.log_start_offset
        cached.reported.high_watermark = result.high_watermark
        if result.error and rules.forgive is not None:
            cached.reported.high_watermark = rules.forgive

    def _lose_interest(self, partition: Partition) -> None:
        interested = self._interest.get(partition)
        if interested is not None:
            interested.discard(self)
            if not interested:
                del self._interest[partition]

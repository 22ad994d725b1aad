"""Counts partitions by state while a log changes them, where there is no compiled core."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from kcli.core.snapshots import snapshot as core


class StateCounts:
    """What the core's StateCounts is."""

    def __init__(self, counts: list[int]) -> None:
        self.counts, self.most = [*counts], [*counts]
        self.moves: dict[tuple[bytes, int], list[int | None]] = {}
        self.records = self.size = 0
        self.time: int | None = None

    def begin(self) -> None:
        """Begin to count the most partitions anew."""
        self.most = [*self.counts]

    def shift(self, before: int, after: int) -> None:
        """Count a partition whose state changes. before, after: bits in the order of `counts`."""
        for state, count in enumerate(self.counts):
            now = self.counts[state] = count + (after >> state & 1) - (before >> state & 1)
            self.most[state] = max(self.most[state], now)

    def move(self, topic: bytes, partition: int) -> None:
        """Count another leader of a partition, or none."""
        row = self.moves.setdefault((topic, partition), [0, None])
        row[:] = (row[0] or 0) + 1, self.time


def new_counts(counts: list[int]) -> core.StateCounts:
    """The core's, or this one."""
    try:
        from kcli.core.snapshots import snapshot
    except ImportError:
        return cast("core.StateCounts", StateCounts(counts))
    return snapshot.StateCounts(counts)

"""Ranges of offsets that do not overlap, in order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator


class OffsetRanges:
    """Half-open ranges [first, end)."""

    __slots__ = ("_ends", "_firsts")

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._ends: list[int] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._ends, strict=True)

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def append(self, first: int, end: int) -> None:
        """Add a range after all others, unless it is empty."""
        if first < end:
            self._firsts.append(first)
            self._ends.append(end)

    def next_from(self, offset: int) -> int | None:
        """Return the lowest offset in any range that is at or above this one; None if there is none."""
        at = bisect_right(self._firsts, offset) - 1
        if at >= 0 and offset < self._ends[at]:
            return offset
        return self._firsts[at + 1] if at + 1 < len(self._firsts) else None

    def remove(self, first: int, end: int) -> None:
        """Remove the offsets [first, end)."""
        if first >= end or not self._firsts:
            return
        low = max(bisect_right(self._firsts, first) - 1, 0)
        while low < len(self._ends) and self._ends[low] <= first:
            low += 1
        high = low
        kept: list[tuple[int, int]] = []
        while high < len(self._firsts) and self._firsts[high] < end:
            kept += [
                (self._firsts[high], min(first, self._ends[high])),
                (max(end, self._firsts[high]), self._ends[high]),
            ]
            high += 1
        kept = [each for each in kept if each[0] < each[1]]
        self._firsts[low:high] = [one for one, _ in kept]
        self._ends[low:high] = [other for _, other in kept]

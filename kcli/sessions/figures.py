"""Figures over any number of fetches in bounded memory: percentiles of latencies, and a strip of time for drawing."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["Latencies", "Strip"]

STEPS = 16  # per doubling: a percentile is right within 1/16


class Latencies:
    """A histogram with logarithmic steps, for percentiles within about 3 %. Values in ns."""

    def __init__(self) -> None:
        self.steps: dict[int, int] = {}
        self.count = 0
        self.most = 0

    def add(self, ns: int) -> None:
        if ns < 0:
            ns = 0
        self.count += 1
        if ns > self.most:
            self.most = ns
        # The highest five bits say the doubling and the step in it.
        shift = ns.bit_length() - 5
        step = (shift << 4) + (ns >> shift & 15) if shift > 0 else ns - 32
        self.steps[step] = self.steps.get(step, 0) + 1

    def merge(self, other: Latencies) -> None:
        for step, count in other.steps.items():
            self.steps[step] = self.steps.get(step, 0) + count
        self.count += other.count
        self.most = max(self.most, other.most)

    def percentile(self, share: float) -> float | None:
        """ms below which this share (0 to 1) of the values lies; None without values."""
        if not self.count:
            return None
        left = share * self.count
        for step in sorted(self.steps):
            left -= self.steps[step]
            if left <= 0:
                return min(middle(step), self.most) / 1e6
        return self.most / 1e6

    def summary(self) -> dict[str, float | None]:
        """p50, p95, p99 and the greatest, in ms."""
        figures = {f"p{share}": self.percentile(share / 100) for share in (50, 95, 99)}
        figures["max"] = self.most / 1e6 if self.count else None
        return {name: None if value is None else round(value, 3) for name, value in figures.items()}


def middle(step: int) -> float:
    """The value in the middle of a step."""
    if step < 0:
        return step + 32
    shift, part = step >> 4, step & 15
    return ((16 + part) << shift) + (1 << shift) / 2


class Strip:
    """Bytes and full fetches over time, in at most 40 cells: when time outgrows them, two become one."""

    CELLS = 40

    def __init__(self, width: int = 1_000_000) -> None:
        self.width = width
        self.start: int | None = None
        self.bytes = [0]
        self.full = [0]

    def add(self, ns: int, size: int, full: bool) -> None:
        if self.start is None:
            self.start = ns
        at = (ns - self.start) // self.width
        if at < 0:
            at = 0
        while at >= self.CELLS:
            self._halve()
            at //= 2
        while len(self.bytes) <= at:
            self.bytes.append(0)
            self.full.append(0)
        self.bytes[at] += size
        if full:
            self.full[at] += 1

    def _halve(self) -> None:
        self.width *= 2
        self.bytes = pairs(self.bytes)
        self.full = pairs(self.full)


def pairs(cells: Iterable[int]) -> list[int]:
    """Sums of neighbours."""
    cells = list(cells)
    return [sum(cells[at : at + 2]) for at in range(0, len(cells), 2)]

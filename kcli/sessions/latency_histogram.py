"""Latencies over any number of fetches in bounded memory, as percentiles."""

from __future__ import annotations

from kcli.core.sessions.fetches import Histogram


class LatencyHistogram(Histogram):
    """A histogram with logarithmic steps, for percentiles within about 3 %. Values in ns."""

    def merge(self, other: LatencyHistogram) -> None:
        """Add the counts of another histogram."""
        steps = dict(self.steps)
        for step, count in other.steps.items():
            steps[step] = steps.get(step, 0) + count
        self.steps = steps
        self.count += other.count
        self.most = max(self.most, other.most)

    def percentile(self, share: float) -> float | None:
        """Return the value in ms below which this share (0 to 1) of the values lies; None without values."""
        if not self.count:
            return None
        left = share * self.count
        steps = self.steps
        for step in sorted(steps):
            left -= steps[step]
            if left <= 0:
                return min(middle(step), self.most) / 1e6
        return self.most / 1e6

    def summary(self) -> dict[str, float | None]:
        """Return p50, p95, p99 and the greatest value ("max"), in ms."""
        figures = {f"p{share}": self.percentile(share / 100) for share in (50, 95, 99)}
        figures["max"] = self.most / 1e6 if self.count else None
        return {name: None if value is None else round(value, 3) for name, value in figures.items()}


def middle(step: int) -> float:
    """Return the value in the middle of a step."""
    if step < 16:
        return 2 * step + 1
    shift, part = step >> 4, step & 15
    return ((16 + part) << shift) + (1 << shift) / 2

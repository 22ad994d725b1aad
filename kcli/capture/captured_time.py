"""The time that was captured, which rates are counted over, on every screen."""

from __future__ import annotations

from dataclasses import dataclass, field

from kcli.capture.kafka.clock import SECOND


@dataclass(slots=True)
class CapturedTime:
    """The time from the first packet to the last. first_ns: None without a packet. pauses: (from, to) in ns, between a
    file and the next where none was captured.
    """

    first_ns: int | None = None
    last_ns: int = 0
    pauses: list[tuple[int, int]] = field(default_factory=list)

    def seconds(self, since: int | None = None, until: int | None = None) -> float:
        """Return its length without the pauses, of a part of it (ns since 1970) where that is asked for."""
        if self.first_ns is None:
            return 0.0
        first = self.first_ns if since is None else max(self.first_ns, since)
        last = self.last_ns if until is None else min(self.last_ns, until)
        idle = sum(max(0, min(end, last) - max(begin, first)) for begin, end in self.pauses)
        return max(0, last - first - idle) / SECOND

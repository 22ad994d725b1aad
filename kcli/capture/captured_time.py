"""The captured time, which is the base of all rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from kcli.capture.kafka.clock import SECOND


@dataclass(slots=True)
class CapturedTime:
    """The time from the first packet to the last. first_ns: None without packets. pauses: (from, to) in ns, between one
    file and the next if nothing was captured in between.
    """

    first_ns: int | None = None
    last_ns: int = 0
    pauses: Sequence[tuple[int, int]] = ()

    @classmethod
    def of_files(cls, spans: Iterable[tuple[int, int]]) -> Self:
        """Return the captured time of files that overlap or follow each other. spans: (first, last) ns of each file."""
        ordered = sorted(spans)
        if not ordered:
            return cls()
        begin, end = ordered[0]
        pauses = []
        for first, last in ordered:
            if first > end:
                pauses.append((end, first))
            end = max(end, last)
        return cls(begin, end, pauses)

    def within(self, since: int | None = None, until: int | None = None) -> CapturedTime:
        """Return the part between two times (ns), which may be empty; None: to the end."""
        if self.first_ns is None:
            return CapturedTime()
        first = self.first_ns if since is None else max(self.first_ns, since)
        last = self.last_ns if until is None else min(self.last_ns, until)
        return CapturedTime(first, last, self.pauses) if first <= last else CapturedTime()

    def stretches(self) -> Iterator[tuple[int, int]]:
        """Yield the parts between the pauses, as (from, to)."""
        if self.first_ns is None:
            return
        at = self.first_ns
        for begin, end in self.pauses:
            if begin >= self.last_ns:
                break
            if begin > at:
                yield at, begin
            at = max(at, end)
        if at < self.last_ns:
            yield at, self.last_ns

    def seconds(self) -> float:
        """Return the length in seconds, without the pauses."""
        return sum(end - begin for begin, end in self.stretches()) / SECOND

    def delays(self) -> Iterator[tuple[int, int]]:
        """Yield (end of a pause, length of all pauses up to it), in ns."""
        idle, last = 0, None
        for begin, end in self.stretches():
            if last is not None:
                idle += begin - last
                yield begin, idle
            last = end

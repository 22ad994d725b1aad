"""A broker's clock: the time of day and the timers that wait for it. A program can put it forward."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kcli.calendar import now_ms


class Timer:
    """A callback that waits for its time; `cancel` gives it up."""

    __slots__ = ("_clock", "_handle", "call", "due")

    def __init__(self, clock: Clock, due: float, call: Callable[[], None]) -> None:
        self._clock, self.due, self.call = clock, due, call
        self._handle: asyncio.TimerHandle | None = None
        self.wait()

    def wait(self) -> None:
        """Wait for as long as the clock says that is left."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._clock.loop.call_later(max(0.0, self.due - self._clock.time()), self.fire)

    def fire(self) -> None:
        """Call the waiting function."""
        self.cancel()
        self.call()

    def cancel(self) -> None:
        """Call nothing any more."""
        self._clock.timers.pop(self, None)
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Clock:
    """Runs as the system's clock does, ahead of it by what `advance` added. It needs a running event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ahead = 0.0
        self.timers: dict[Timer, None] = {}
        self._repeated: set[Timer] = set()

    def now(self) -> int:
        """Return ms since 1970."""
        return now_ms() + round(self.ahead * 1000)

    def time(self) -> float:
        """Return seconds of a time that never goes back."""
        return self.loop.time() + self.ahead

    def call_later(self, seconds: float, call: Callable[..., None], *args: Any) -> Timer:
        """Call after so many seconds of this clock."""
        timer = Timer(self, self.time() + seconds, (lambda: call(*args)) if args else call)
        self.timers[timer] = None
        return timer

    def every(self, seconds: Callable[[], float], work: Callable[[], None]) -> None:
        """Do some work again and again, after so many seconds each time; where the clock is put forward, once."""

        def again() -> None:
            self._repeated.discard(timer)
            self.every(seconds, work)
            work()

        timer = self.call_later(seconds(), again)
        self._repeated.add(timer)

    def advance(self, seconds: float) -> None:
        """Put the clock forward, timer by timer: each that becomes due fires at its own time, the earliest first."""
        until = self.time() + seconds
        while due := [each for each in self.timers.keys() - self._repeated if each.due <= until]:
            first = min(due, key=lambda each: each.due)
            self.ahead += max(0.0, first.due - self.time())
            first.fire()
        self.ahead += max(0.0, until - self.time())
        for each in [one for one in self._repeated if one.due <= until]:
            each.fire()
        for each in self.timers:
            each.wait()

    def close(self) -> None:
        """Give up all timers."""
        for each in tuple(self.timers):
            each.cancel()
        self._repeated.clear()

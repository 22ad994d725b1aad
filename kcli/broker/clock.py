"""A broker's clock: the time of day, and timers. A program can advance it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from kcli.calendar import now_ms


class Timer:
    """A callback that is called at the clock's time `due` (seconds of `Clock.time`)."""

    __slots__ = ("_clock", "_handle", "call", "due")

    def __init__(self, clock: Clock, due: float, call: Callable[[], None]) -> None:
        self._clock, self.due, self.call = clock, due, call
        self._handle: asyncio.TimerHandle | None = None
        self.wait()

    def wait(self) -> None:
        """Let the event loop call after the time that is left; `Clock.advance` calls this again."""
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._clock.loop.call_later(max(0.0, self.due - self._clock.time()), self.fire)

    def fire(self) -> None:
        """Call the callback now."""
        self.cancel()
        self.call()

    def cancel(self) -> None:
        """Cancel the timer, if it waits."""
        self._clock.timers.pop(self, None)
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


class Clock:
    """The system's clock plus all seconds of `advance`. It needs a running event loop."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ahead = 0.0
        self.timers: dict[Timer, None] = {}
        self._repeated: set[Timer] = set()

    def now(self) -> int:
        """Return ms since 1970."""
        return now_ms() + round(self.ahead * 1000)

    def time(self) -> float:
        """Return the seconds of a monotonic clock."""
        return self.loop.time() + self.ahead

    def call_later(self, seconds: float, call: Callable[..., None], *args: Any) -> Timer:
        """Call a function after so many seconds of this clock."""
        timer = Timer(self, self.time() + seconds, (lambda: call(*args)) if args else call)
        self.timers[timer] = None
        return timer

    def every(self, seconds: Callable[[], float], work: Callable[[], None]) -> None:
        """Call `work` repeatedly, each time after so many seconds. If the clock is advanced it is called once, however
        many periods are skipped.
        """

        def again() -> None:
            self._repeated.discard(timer)
            self.every(seconds, work)
            work()

        timer = self.call_later(seconds(), again)
        self._repeated.add(timer)

    def advance(self, seconds: float) -> None:
        """Advance the clock. Timers that become due fire in the order of their times, each at its own time; repeated
        work comes last.
        """
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
        """Cancel all timers."""
        for each in tuple(self.timers):
            each.cancel()
        self._repeated.clear()

"""When a replay sends: in the captured rhythm, and not too far ahead of what is still to be answered."""

from __future__ import annotations

import asyncio

from kcli.capture.kafka.exchange import Exchange
from kcli.replay.traffic.outcome import Pace

MOST_STEPS = 500  # of one client that are read ahead
MOST_BYTES = 1 << 26  # of requests and answers among them


class Clock:
    """The captured rhythm, from now on. pace: gets how punctual it is."""

    def __init__(self, scale: float | None, pace: Pace) -> None:
        self.scale, self.pace = scale, pace
        self.start = asyncio.get_running_loop().time()
        self.last = 0.0  # moment of the capture that has been sent

    def sent(self, seconds: float) -> None:
        """A request of that moment of the capture goes out now."""
        self.last = max(self.last, seconds)
        late = self.passed() - seconds / self.scale if self.scale is not None else None
        self.pace.add(late)

    def passed(self) -> float:
        """Seconds since it began."""
        return asyncio.get_running_loop().time() - self.start

    def stop(self) -> None:
        """The run is over."""
        self.pace.end(self.passed(), None if self.scale is None else self.last / self.scale)

    async def until(self, seconds: float) -> None:
        """Wait for that moment of the capture, seconds after its first request."""
        if self.scale is not None:
            await asyncio.sleep(self.start + seconds / self.scale - asyncio.get_running_loop().time())


class Room:
    """How far reading may be ahead of sending. clients: how many share it."""

    def __init__(self, clients: int = 1) -> None:
        self.most = MOST_STEPS * clients
        self.steps = self.bytes = 0
        self._free = asyncio.Event()

    async def enter(self, exchange: Exchange) -> None:
        """Wait for room for one more."""
        while self.steps >= self.most or (self.bytes > MOST_BYTES and self.steps):
            self._free.clear()
            await self._free.wait()
        self.steps += 1
        self.bytes += exchange.request_bytes + (exchange.response_bytes or 0)

    def leave(self, exchange: Exchange) -> None:
        """One is done."""
        self.steps -= 1
        self.bytes -= exchange.request_bytes + (exchange.response_bytes or 0)
        self._free.set()

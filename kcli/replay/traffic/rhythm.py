"""The rhythm of a replay: captured times and order, with a limited read-ahead."""

import asyncio
from collections.abc import Callable

from kcli.capture.kafka.exchange import Exchange
from kcli.replay.engine import Rhythm
from kcli.replay.traffic.captured_exchanges import size_of
from kcli.replay.traffic.outcome import Outcome
from kcli.replay.traffic.steps import Step

MOST_STEPS = 500  # steps of one client that are read ahead, at most
MOST_BYTES = 1 << 26  # bytes of the requests and responses in these steps
MOST_WAIT = 10.0  # seconds to wait for responses that came before in the capture
SETTLE = 0.01  # seconds after a request that a broker holds back


class CapturedRhythm(Rhythm[Step]):
    """The captured times, and the order in which steps depend on each other. outcome: gets the delays; ended: called
    with each step that is done.
    """

    def __init__(self, scale: float | None, outcome: Outcome, ended: Callable[[Step], None]) -> None:
        super().__init__(scale)
        self.outcome, self.ended = outcome, ended
        self.last = 0.0  # captured time (s) of the latest sent step

    async def turn(self, step: Step) -> None:
        """Wait until a step is due, and the responses that it depends on have arrived."""
        await self.until(step.seconds)
        waited = [each for each in (*step.own, *step.after) if not each.done()]
        if waited:
            _, missing = await asyncio.wait(waited, timeout=MOST_WAIT)
            self.outcome.late += bool(missing)
        for each in step.behind:
            await asyncio.wait([each.sent], timeout=MOST_WAIT)
            await asyncio.sleep(each.sent_at + SETTLE - asyncio.get_running_loop().time())

    def sending(self, step: Step) -> None:
        """Note the delay of a step's request."""
        self.last = max(self.last, step.seconds)
        self.outcome.pace.add(self.passed() - step.seconds / self.scale if self.scale is not None else None)
        step.leave(asyncio.get_running_loop().time())

    def done(self, step: Step) -> None:
        """End the wait of other steps for this one."""
        step.end()
        self.ended(step)

    def stop(self) -> None:
        """Note the duration of the run."""
        self.outcome.pace.end(self.passed(), None if self.scale is None else self.last / self.scale)


class Room:
    """The limit of steps and bytes that are read ahead of sending. clients: number of copies that share it."""

    def __init__(self, clients: int = 1) -> None:
        self.most = MOST_STEPS * clients
        self.steps = self.bytes = 0
        self._free = asyncio.Event()

    async def enter(self, exchange: Exchange) -> None:
        """Wait until there is room for another exchange, and take it."""
        while self.steps >= self.most or (self.bytes > MOST_BYTES and self.steps):
            self._free.clear()
            await self._free.wait()
        self.steps += 1
        self.bytes += size_of(exchange)

    def leave(self, exchange: Exchange) -> None:
        """Release the room of an exchange that is done."""
        self.steps -= 1
        self.bytes -= size_of(exchange)
        self._free.set()

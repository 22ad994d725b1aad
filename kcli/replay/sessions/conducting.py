"""Times the fetches of a replay: as captured or, with brokers rebuilt from the capture, in the captured order.

Live brokers allow only the captured times. The captured brokers, rebuilt, allow more: every request begins and every
response is made in the captured order, one after the other, each with the state of its captured time. So the result is
the same in every run and at any speed.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from kcli.replay.engine import Rhythm
from kcli.replay.sessions.plan import Fetcher, ReplayPlan, ReplayStep
from kcli.sessions.fetch_exchange import Captured, Key
from kcli.sessions.values import Position


class CapturedBrokers(Protocol):
    """The brokers of a capture, rebuilt. label: names the fetcher, so that it gets the responses that it got in the
    capture.
    """

    def rewind(self) -> None:
        """Start over: drop all sessions and their reported values."""

    def node(self, captured: Captured) -> int | None:
        """Return the node that this fetch was sent to; None if the capture does not show it."""

    def carry(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> Mapping[Key, Position]:
        """Prepare a session that is older than the capture. Returns its position in each partition."""

    def key(self, captured: Key) -> Key:
        """Return a captured partition by the name that these brokers use."""

    def arrival(self, captured: Captured) -> int:
        """Return when the broker received this request (ns), not before it was sent."""

    def departure(self, captured: Captured) -> int:
        """Return when the broker made this response (ns), not after it was received."""

    def unknown(self, captured: Captured, partitions: Sequence[str]) -> str:
        """Return why the capture does not show how a fetch is answered, "" if it does (see `CapturedState.unknown`)."""

    def adopt(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> None:
        """Set up a session that is older than the capture in its broker."""

    def expect(self, label: str, captured: Captured, begun: Callable[[], None]) -> None:
        """Expect this fetch next. begun: called when it has arrived."""

    def release(self, label: str, captured: Captured) -> None:
        """Answer the fetch now, with the state at the captured time."""


class Beat(NamedTuple):
    """An event of the capture: a request arrived, or its response was sent (`answers`). fetcher, step: their
    indices.
    """

    ns: int
    fetcher: int
    step: int
    answers: bool


class Conductor(Rhythm[ReplayStep]):
    """Runs steps in the captured order of requests and responses. Its `run` is a task beside those of the fetchers."""

    def __init__(self, scale: float | None, plan: ReplayPlan, brokers: CapturedBrokers) -> None:
        super().__init__(scale)
        self.plan, self.brokers = plan, brokers
        self.labels = {id(step): fetcher.label for fetcher in plan.fetchers for step in fetcher.steps}
        self.turns, self.begun, self.finished = ({number: asyncio.Event() for number in self.labels} for _ in range(3))

    async def turn(self, step: ReplayStep) -> None:
        await self.turns[id(step)].wait()

    def sending(self, step: ReplayStep) -> None:
        self.brokers.expect(self.labels[id(step)], step.captured, self.begun[id(step)].set)

    def done(self, step: ReplayStep) -> None:
        # A request that fails before it arrives has not begun.
        self.begun[id(step)].set()
        self.finished[id(step)].set()

    async def run(self) -> None:
        """Release each request and each response at its captured time, divided by the speed."""
        beats = sorted(
            beat for number, each in enumerate(self.plan.fetchers) for beat in beats_of(number, each, self.brokers)
        )
        for beat in beats:
            await self.until((beat.ns - beats[0].ns) / 1e9)
            step = self.plan.fetchers[beat.fetcher].steps[beat.step]
            if beat.answers:
                self.brokers.release(self.labels[id(step)], step.captured)
                await self.finished[id(step)].wait()
            else:
                self.turns[id(step)].set()
                await self.begun[id(step)].wait()


def beats_of(number: int, fetcher: Fetcher, brokers: CapturedBrokers) -> Iterator[Beat]:
    """Yield a fetcher's beats, one fetch after the other, because a broker reads the next request after its
    response.
    """
    last = 0
    for at, step in enumerate(fetcher.steps):
        came = max(brokers.arrival(step.captured), last)
        last = max(brokers.departure(step.captured), came)
        yield Beat(came, number, at, False)
        yield Beat(last, number, at, True)

"""The engine of every replay: captured clients act again, each step in its turn.

A policy says what the steps are. `kcli.replay.traffic` sends every captured request again, rewritten for the live
cluster; `kcli.replay.sessions` repeats the captured fetches in its own fetch sessions. A policy's actors make its
steps, and its rhythm may follow the captured order as well as the times.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from kcli.errors import UsageError


class TimedStep(Protocol):
    """A step of a client. seconds: captured time since the first step of all clients."""

    @property
    def seconds(self) -> float: ...


S = TypeVar("S", bound=TimedStep)
Acting = TypeVar("Acting", bound=TimedStep, contravariant=True)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """The options of a replay.

    scale: captured time divided by live time, None: as fast as possible; repeat: number of runs, one after another;
    topics: {captured topic: live topic}; create: create missing topics
    """

    scale: float | None = 1.0
    repeat: int = 1
    topics: Mapping[str, str] = field(default_factory=dict)
    create: bool = True


class Rhythm(Generic[S]):
    """Runs steps at their captured times from now on, divided by `scale` (None: at once)."""

    def __init__(self, scale: float | None) -> None:
        self.scale = scale
        self.start = asyncio.get_running_loop().time()

    async def turn(self, step: S) -> None:
        """Wait until a step is due."""
        await self.until(step.seconds)

    def sending(self, step: S) -> None:
        """Note that the step's request is sent now."""

    def done(self, step: S) -> None:
        """Note that the step has a response, or will get none."""

    async def until(self, seconds: float) -> None:
        """Wait until `seconds` of captured time have passed since the start."""
        if self.scale is not None:
            await asyncio.sleep(seconds / self.scale - self.passed())

    def passed(self) -> float:
        """Return the live seconds since the start."""
        return asyncio.get_running_loop().time() - self.start


class Actor(Protocol[Acting]):
    """A captured client that acts again. It calls its rhythm's `sending` and `done` for each step."""

    async def play(self, step: Acting) -> None:
        """Make a step again. The next step begins when this returns."""

    async def finish(self) -> None:
        """Wait for the responses that are missing after the last step."""

    async def close(self) -> None:
        """Close the connections, also after an error."""


class Feed(Generic[S]):
    """The steps of one actor, added while it acts."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[S | None] = asyncio.Queue()

    def put(self, step: S) -> None:
        """Add the next step."""
        self._queue.put_nowait(step)

    def end(self) -> None:
        """End the input, because no more steps come."""
        self._queue.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[S]:
        while (step := await self._queue.get()) is not None:
            yield step


async def iterate(steps: Iterable[S]) -> AsyncIterator[S]:
    """Yield steps that are known from the start."""
    for step in steps:
        yield step


async def act(actor: Actor[S], steps: AsyncIterator[S] | Feed[S], rhythm: Rhythm[S]) -> None:
    """Run all steps of an actor, each in its turn, and close the actor."""
    try:
        async for step in steps:
            await rhythm.turn(step)
            await actor.play(step)
        await actor.finish()
    finally:
        await actor.close()


@asynccontextmanager
async def together() -> AsyncIterator[Callable[[Coroutine[Any, Any, None]], object]]:
    """Run tasks that start together until all have ended. The first that fails cancels the others, and its error is
    raised.
    """
    try:
        async with asyncio.TaskGroup() as group:
            yield group.create_task
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None


def parse_speed(text: str) -> float | None:
    """Parse `--speed`: a factor ("10" is ten times as fast as captured), or "max", for which it returns None. Raises
    UsageError.
    """
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 < speed < float("inf"):
        raise UsageError(f"--speed {text}: a number above 0, or max, expected")
    return speed

"""The engine: clients that act in their turn, together, to the end of all or to the first failure."""

import asyncio
from typing import NamedTuple

import pytest

from kcli.errors import NetworkError, UsageError
from kcli.replay.engine import Feed, Rhythm, act, iterate, parse_speed, together


class Moment(NamedTuple):
    seconds: float


class Client:
    """Notes what it does. fails_at: the moment at which its broker is gone."""

    def __init__(self, fails_at: float = -1.0) -> None:
        self.fails_at, self.did = fails_at, list[object]()

    async def play(self, step: Moment) -> None:
        if step.seconds == self.fails_at:
            raise NetworkError("gone")
        self.did.append(step.seconds)

    async def finish(self) -> None:
        self.did.append("finished")

    async def close(self) -> None:
        self.did.append("closed")


class Turns(Rhythm[Moment]):
    """Lets steps go at any time, but those of a moment that has been held back."""

    def __init__(self, held: float) -> None:
        super().__init__(None)
        self.held = held

    async def turn(self, step: Moment) -> None:
        if step.seconds == self.held:
            await asyncio.Event().wait()


def test_steps_are_made_in_order_and_the_client_is_closed_behind_them() -> None:
    client = Client()

    async def work() -> None:
        await act(client, iterate([Moment(0), Moment(1)]), Rhythm(None))

    asyncio.run(work())
    assert client.did == [0, 1, "finished", "closed"]


def test_steps_may_come_while_a_client_acts() -> None:
    client = Client()

    async def work() -> None:
        feed = Feed[Moment]()
        async with together() as begin:
            begin(act(client, feed, Rhythm(None)))
            for seconds in (0, 1, 2):
                feed.put(Moment(seconds))
                await asyncio.sleep(0)
            feed.end()

    asyncio.run(work())
    assert client.did == [0, 1, 2, "finished", "closed"]


def test_the_first_that_fails_ends_the_others() -> None:
    waits, fails = Client(), Client(fails_at=1)

    async def work() -> None:
        async with together() as begin:
            begin(act(waits, iterate([Moment(0), Moment(9)]), Turns(held=9)))
            begin(act(fails, iterate([Moment(0), Moment(1), Moment(2)]), Turns(held=9)))

    with pytest.raises(NetworkError, match="gone"):
        asyncio.run(work())
    assert waits.did == fails.did == [0, "closed"]


def test_captured_times_are_divided_by_the_scale() -> None:
    async def work() -> float:
        rhythm = Rhythm[Moment](20.0)
        await rhythm.turn(Moment(1))
        return rhythm.passed()

    assert asyncio.run(work()) >= 0.05


def test_speed() -> None:
    assert (parse_speed("10"), parse_speed("0.5"), parse_speed("max")) == (10.0, 0.5, None)
    for text in ("0", "-1", "nan", "inf", "fast", ""):
        with pytest.raises(UsageError, match="a number above 0, or max"):
            parse_speed(text)

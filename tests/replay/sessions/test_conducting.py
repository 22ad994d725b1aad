"""The order in which fetches run before the rebuilt brokers of a capture: here one that only notes what it is told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.replay.sessions.outcome import pairs
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.runner import FetchOptions, FetchReplay, replay
from kcli.replay.topic_mapping import TopicNames
from kcli.sessions.fetch_exchange import Captured, Key
from kcli.sessions.values import Position
from tests.client.broker import running
from tests.client.fetchable import FetchableBroker
from tests.replay.sessions.made import fetch

T0, T1 = ("t", 0), ("t", 1)


class Noting:
    """One node, which is the only one."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, str, int]] = []
        self.carried: list[Key] = []
        self.adopted: list[Key] = []

    def rewind(self) -> None:
        self.notes.append(("rewind", "", 0))

    def node(self, captured: Captured) -> int | None:
        return 1

    def carry(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> Mapping[Key, Position]:
        self.carried += keys
        return {key: Position(4, leader_epoch=6) for key in self.carried}

    def key(self, captured: Key) -> Key:
        return captured

    def arrival(self, captured: Captured) -> int:
        return captured.ns

    def departure(self, captured: Captured) -> int:
        return captured.response_ns or captured.ns

    def unknown(self, captured: Captured, partitions: Sequence[str]) -> str:
        return ""

    def adopt(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> None:
        self.adopted += keys

    def expect(self, label: str, captured: Captured, begun: Callable[[], None]) -> None:
        self.notes.append(("request", label[-1], captured.session_epoch))
        begun()

    def release(self, label: str, captured: Captured) -> None:
        self.notes.append(("answer", label[-1], captured.session_epoch))


def long(made: Captured, seconds: float) -> Captured:
    made.response_ns = made.ns + round(seconds * 1e9)
    return made


def run(captured: list[Captured], options: FetchOptions) -> tuple[Noting, FetchableBroker, list[list[str]]]:
    noting, broker = Noting(), FetchableBroker({"t": 2})

    async def work() -> list[list[str]]:
        async with running(broker):
            done = await replay(
                FetchReplay(make_plan(captured), TopicNames(), broker.config(), options), brokers=noting
            )
        return [[str(each) for each in pair.differences] for pair in pairs(done, {}, "shape")]

    return noting, broker, asyncio.run(work())


TWO = [
    fetch(0, {T0: 0}, {T0: 9}, granted=7),
    long(fetch(1, {T0: 3}, {T0: 9}, session=(7, 1), granted=7), 5),
    # Sent while the one before was under way: it is read when that is answered.
    fetch(2, session=(7, -1)),
    fetch(3, {T1: 0}, {T1: 9}, granted=8, connection="s:1-c:2"),
    fetch(4, session=(8, -1), connection="s:1-c:2"),
]
ORDER = [
    ("request", "1", 0),
    ("answer", "1", 0),
    ("request", "1", 1),
    ("request", "2", 0),
    ("answer", "2", 0),
    ("request", "2", -1),
    ("answer", "2", -1),
    ("answer", "1", 1),
    ("request", "1", -1),
    ("answer", "1", -1),
]


def test_requests_begin_and_answers_are_made_in_the_order_of_the_capture() -> None:
    noting, broker, _ = run(TWO, FetchOptions(scale=None, repeat=2))
    assert noting.notes == [("rewind", "", 0), *ORDER] * 2
    assert sum(key == 1 for key, _, _ in broker.requests) == 10


def test_the_rhythm_can_be_that_of_the_capture() -> None:
    started = time.monotonic()
    noting, _, _ = run(TWO, FetchOptions(scale=20.0))
    assert noting.notes[1:] == ORDER
    assert time.monotonic() - started > 6 / 20


def test_other_offsets_take_a_session_of_their_own() -> None:
    captured = [fetch(0, {T0: 5}, {T0: 9, T1: 9}, session=(7, 3), granted=7, replica=4)]
    noting, broker, _ = run(captured, FetchOptions(scale=None, offsets="relative"))
    first, second = [body for key, _, body in broker.requests if key == 1]
    assert noting.carried == [T1]
    assert first["replicaId"] == second["replicaId"] == 4
    (carried,) = first["topics"][0]["partitions"]
    assert (carried["partition"], carried["fetchOffset"], carried["currentLeaderEpoch"]) == (1, 4, 6)

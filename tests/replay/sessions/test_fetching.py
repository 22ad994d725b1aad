"""What a fetcher sends for a captured step, and to whom."""

import asyncio

import pytest

from kcli.replay.sessions.outcome import pairs
from kcli.replay.sessions.plan import make_plan
from kcli.replay.sessions.runner import FetchOptions, FetchReplay, replay
from kcli.replay.topic_mapping import TopicNames
from kcli.sessions.client import ClientSession
from tests.client.broker import running, together
from tests.client.fetchable import FetchableBroker
from tests.noting import noted
from tests.replay.sessions.made import fetch

T0, T1 = ("t", 0), ("t", 1)


def test_partitions_with_several_leaders_are_fetched_from_each() -> None:
    captured = [
        fetch(0, {T0: 0, T1: 0}, {T0: 9, T1: 9}, granted=7),
        fetch(1, {T0: 3, T1: 3}, {T0: 9, T1: 9}, session=(7, 1), granted=7),
        fetch(2, session=(7, -1)),
    ]
    first, second = FetchableBroker({"t": 2}), FetchableBroker({"t": 2})
    together(lambda part: {"leaderId": 1 + part["partitionIndex"]}, first, second)

    async def work() -> None:
        async with running(first), running(second):
            plan = make_plan(captured)
            done = await replay(FetchReplay(plan, TopicNames(), first.config(), FetchOptions(scale=None)))
        (pair,) = pairs(done, {}, "shape")
        assert pair.differences == []
        assert pair.live.delivered.keys() == {"t[0]", "t[1]"}
        for broker, index in ((first, 0), (second, 1)):
            sent = [body for key, _, body in broker.requests if key == 1]
            assert [body["sessionEpoch"] for body in sent] == [0, 1, -1]
            assert {part["partition"] for body in sent for topic in body["topics"] for part in topic["partitions"]} == {
                index
            }

    asyncio.run(work())


def test_a_step_costs_what_it_moves_however_much_is_in_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    partitions, steps = 30, 20
    keys = [("t", index) for index in range(partitions)]
    captured = [fetch(0, dict.fromkeys(keys, 9), dict.fromkeys(keys, 0), granted=7)]
    captured += [fetch(turn, {keys[turn]: 8}, session=(7, turn), granted=7) for turn in range(1, steps)]
    wanted = noted(monkeypatch, ClientSession, "want")
    broker = FetchableBroker({"t": partitions})

    async def work() -> None:
        async with running(broker):
            await replay(FetchReplay(make_plan(captured), TopicNames(), broker.config(), FetchOptions(scale=None)))

    asyncio.run(work())
    sent = [body for key, _, body in broker.requests if key == 1]
    assert [len(body["topics"][0]["partitions"]) if body["topics"] else 0 for body in sent[:steps]] == [
        partitions,
        *[1] * (steps - 1),
    ]
    assert len(wanted) == partitions + steps - 1

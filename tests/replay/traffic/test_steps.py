"""Which answers a request waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kcli.capture.kafka.exchange import Exchange
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.steps import Step, StepSequence
from kcli.schemas.apikeys import FETCH, HEARTBEAT, JOIN_GROUP, PRODUCE
from kcli.schemas.catalog import catalog
from tests.replay.traffic.made import exchange

A, B = "10.0.0.1:1", "10.0.0.1:2"


def fetch(at: int, took: int, client: str) -> Exchange:
    return exchange(FETCH, 4, {"topics": []}, {"responses": []}, at=at, took=took, client=client)


def produce(at: int, took: int, client: str) -> Exchange:
    return exchange(PRODUCE, 3, {"topicData": []}, {"responses": []}, at=at, took=took, client=client)


def steps(*exchanges: Exchange, between: Callable[[list[Step]], None] = lambda _: None) -> list[Step]:
    async def work() -> list[Step]:
        order, made = StepSequence(Choice(catalog(None)), exchanges[0].request_ns), list[Step]()
        for each in exchanges:
            made.append(order.step(each))
            between(made)
        return made

    return asyncio.run(work())


def test_a_fetch_waits_for_the_produce_that_was_answered_before_it() -> None:
    write, early, late = steps(produce(0, 10, A), fetch(5, 1, B), fetch(20, 1, B))
    assert not early.after
    assert late.after == [write.done]
    assert late.own == [early.done]
    assert late.seconds == 0.02


def test_nobody_waits_for_a_fetch_but_its_own_connection() -> None:
    long, other, next_ = steps(fetch(0, 10, A), fetch(20, 1, B), fetch(30, 1, A))
    assert not other.after
    assert not other.own
    assert next_.own == [long.done]


def test_pipelined_requests_do_not_wait_for_each_other() -> None:
    one, two, three = steps(produce(0, 10, A), produce(1, 10, A), produce(12, 1, A))
    assert not two.own
    assert three.own == [one.done, two.done]


def test_what_is_done_is_not_waited_for() -> None:
    made = steps(produce(0, 10, A), fetch(20, 1, B), between=lambda made: made[0].end())
    assert not made[1].after


def test_what_comes_behind_a_join_that_is_held_is_sent_after_it() -> None:
    body = {"groupId": "g", "sessionTimeoutMs": 9, "memberId": "", "protocolType": "consumer", "protocols": []}
    answer = {"errorCode": 0, "generationId": 1, "protocolName": "", "leader": "", "memberId": "", "members": []}
    join = exchange(JOIN_GROUP, 0, body, answer, at=0, took=100, client=A)
    beat = {"groupId": "g", "generationId": 1, "memberId": "m"}
    held, behind, other = steps(join, exchange(HEARTBEAT, 0, beat, {"errorCode": 27}, at=50, client=B), fetch(60, 1, B))
    assert behind.behind == [held]
    assert not behind.after
    assert not other.behind

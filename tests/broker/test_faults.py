"""Faults on demand: each rule, and what a client sees of it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from kcli.broker.faults import Faults, parse_rule, read_rules
from kcli.errors import NetworkError, UsageError
from kcli.schemas.apikeys import FIND_COORDINATOR, HEARTBEAT, METADATA
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, batch, connected, parts, run, talking, until


async def error_of(talk: Talk, partition: int = 0) -> str:
    return error_name((await talk.produce("t", batch("a"), partition))["errorCode"])


def test_an_error_for_a_partition_so_often() -> None:
    async def work() -> None:
        rule = "api=Produce,topic=t,partition=1,error=NOT_LEADER_OR_FOLLOWER,count=2"
        async with talking(topic="t", partitions=2, faults=[rule]) as talk:
            assert [await error_of(talk, at) for at in (0, 1, 1, 1)] == [
                "NONE",
                *["NOT_LEADER_OR_FOLLOWER"] * 2,
                "NONE",
            ]
            assert talk.broker.topics.by_name["t"].partitions[1].end_offset == 1

    run(work())


def test_an_error_in_a_fetch_and_of_a_session() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            talk.broker.faults.add("api=fetch,topic=t,partition=1,error=KAFKA_STORAGE_ERROR,count=1")
            got = parts(await talk.fetch(12, ("t", 0, 0), ("t", 1, 0), wait=5000))
            assert [error_name(got["t", at]["errorCode"]) for at in (0, 1)] == ["NONE", "KAFKA_STORAGE_ERROR"]
            talk.broker.faults.add("api=Fetch,error=FETCH_SESSION_ID_NOT_FOUND,count=1")
            assert error_name((await talk.fetch(12, ("t", 0, 0)))["errorCode"]) == "FETCH_SESSION_ID_NOT_FOUND"
            assert (await talk.fetch(12, ("t", 0, 0)))["errorCode"] == 0

    run(work())


def test_errors_of_other_apis() -> None:
    async def work() -> None:
        rules = [
            "api=FindCoordinator,error=COORDINATOR_NOT_AVAILABLE,count=1",
            "api=Metadata,topic=t,error=LEADER_NOT_AVAILABLE,count=1",
        ]
        async with talking(topic="t", faults=rules) as talk:
            for wanted in ("COORDINATOR_NOT_AVAILABLE", "NONE"):
                assert error_name((await talk(FIND_COORDINATOR, 0, {"key": "g"}))["errorCode"]) == wanted
            for wanted in ("LEADER_NOT_AVAILABLE", "NONE"):
                row = (await talk(METADATA, 1, {"topics": [{"name": "t"}]}))["topics"][0]
                assert error_name(row["errorCode"]) == wanted

    run(work())


def test_after_every_and_client() -> None:
    async def work() -> None:
        rule = "api=Produce,error=CORRUPT_MESSAGE,after=1,every=2,count=2"
        async with talking(topic="t", faults=[rule, "client=somebody else,error=UNKNOWN_SERVER_ERROR"]) as talk:
            reported = [await error_of(talk) for _ in range(6)]
            assert reported == ["NONE", "CORRUPT_MESSAGE", "NONE", "CORRUPT_MESSAGE", "NONE", "NONE"]

    run(work())


def test_chance_is_seeded() -> None:
    def reported(seed: int) -> list[str]:
        got: list[str] = []

        async def work() -> None:
            rule = "api=Produce,error=CORRUPT_MESSAGE,probability=0.5"
            async with talking(topic="t", faults=[rule], seed=seed) as talk:
                got.extend([await error_of(talk) for _ in range(40)])

        run(work())
        return got

    assert reported(1) == reported(1) != reported(2)
    assert 5 < reported(1).count("CORRUPT_MESSAGE") < 35


def test_a_delay() -> None:
    async def work() -> None:
        async with talking(topic="t", faults=["api=Produce,delay=150,count=1"]) as talk:
            start = time.monotonic()
            assert await error_of(talk) == "NONE"
            assert time.monotonic() - start >= 0.15
            assert await error_of(talk) == "NONE"

    run(work())


@pytest.mark.parametrize(("action", "written"), [("drop", 1), ("ignore", 0)])
def test_no_answer(action: str, written: int) -> None:
    async def work() -> None:
        async with (
            talking(topic="t", faults=[f"api=Produce,{action},count=1"]) as talk,
            connected(talk.broker) as other,
        ):
            lost = asyncio.ensure_future(talk.produce("t", batch("a")))
            await asyncio.sleep(0.05)
            partition = talk.broker.topics.by_name["t"].partitions[0]
            await until(lambda: partition.end_offset == written)
            assert not lost.done()
            lost.cancel()
            assert await error_of(other) == "NONE"

    run(work())


@pytest.mark.parametrize("after", [0, 3, 20])
def test_the_connection_closes_in_mid_answer(after: int) -> None:
    async def work() -> None:
        async with (
            talking(topic="t", faults=[f"api=Produce,close={after},count=1"]) as talk,
            connected(talk.broker) as other,
        ):
            with pytest.raises(NetworkError):
                await talk.produce("t", batch("a"))
            assert talk.broker.topics.by_name["t"].partitions[0].end_offset == 1
            assert await error_of(other) == "NONE"

    run(work())


def test_an_answer_in_pieces() -> None:
    async def work() -> None:
        async with talking(topic="t", faults=["api=Fetch,split=7"]) as talk:
            await talk.produce("t", batch("a" * 300))
            assert len(parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["records"]) > 300

    run(work())


def test_sessions_are_evicted() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            session = (await talk.fetch(12, ("t", 0, 0), session=(0, 0)))["sessionId"]
            talk.broker.faults.add("api=Fetch,evict,count=1")
            answer = await talk.fetch(12, session=(session, 1))
            assert error_name(answer["errorCode"]) == "FETCH_SESSION_ID_NOT_FOUND"

    run(work())


def test_leaders_move() -> None:
    async def work() -> None:
        async with talking(nodes=2, faults=["api=Produce,topic=t,after=1,count=1,move"]) as talk:
            talk.broker.create_topic("t", assignment=[(1, 2)])
            assert [await error_of(talk) for _ in range(2)] == ["NONE", "NOT_LEADER_OR_FOLLOWER"]
            assert talk.broker.topics.by_name["t"].partitions[0].leader == 2

    run(work())


def test_a_group_request() -> None:
    async def work() -> None:
        async with talking(faults=["api=Heartbeat,error=NOT_COORDINATOR"]) as talk:
            body = {"groupId": "g", "generationId": 1, "memberId": "m"}
            assert error_name((await talk(HEARTBEAT, 3, body))["errorCode"]) == "NOT_COORDINATOR"

    run(work())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no action"),
        ("api=Fetch", "no action"),
        ("api=Fetcch,drop", "no such API"),
        ("error=NOT_LEADER", "did you mean NOT_LEADER_OR_FOLLOWER"),
        ("error=NOT_CONTROLLER,drop", "no action"),
        ("delay=soon", "a whole number"),
        ("every=0,drop", "a whole number"),
        ("probability=x,drop", "0 to 1"),
        ("color=red", "is unknown"),
    ],
)
def test_rules_that_are_none(text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_rule(text)


def test_rules_come_from_a_file_and_go(tmp_path: Path) -> None:
    path = tmp_path / "faults"
    path.write_text("# slow reads\napi=Fetch,delay=5\n\napi=Produce + x,drop\n".replace(" + x", "+Fetch"))
    faults = Faults(read_rules(path))
    assert [(each.delay, each.drop, sorted(each.apis)) for each in faults.rules] == [(5, False, [1]), (0, True, [0, 1])]
    faults.clear()
    assert not faults.rules

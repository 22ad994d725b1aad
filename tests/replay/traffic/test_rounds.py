"""Members that joined together in the capture join together again."""

from __future__ import annotations

import asyncio
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.rounds import Rounds
from kcli.replay.traffic.survey import survey
from kcli.schemas.apikeys import JOIN_GROUP
from kcli.schemas.catalog import catalog
from tests.replay.traffic.made import exchange


def join(member: str, members: list[str], client: str, *, at: int = 0, took: int = 5) -> Exchange:
    body = {
        "groupId": "g",
        "sessionTimeoutMs": 6000,
        "rebalanceTimeoutMs": 6000,
        "memberId": "",
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    return exchange(JOIN_GROUP, 2, body, answer(1, member, members), at=at, took=took, client=client)


def answer(generation: int, member: str, members: list[str]) -> dict[str, Any]:
    rows = [{"memberId": each, "metadata": b""} for each in members]
    names = {"protocolName": "range", "leader": "a", "memberId": member, "members": rows}
    return {"errorCode": 0, "generationId": generation, **names}


ITEMS = [join("a", ["a", "b"], "10.0.0.1:1"), join("b", [], "10.0.0.1:2")]


def test_the_survey_counts_the_members_that_a_leader_was_told_of() -> None:
    assert survey(ITEMS, Choice(catalog(None))).rounds == {("g", 1): 2}


def test_leader_and_member_learn_that_their_round_is_too_small() -> None:
    async def work() -> list[bool]:
        rounds = Rounds({("g", 1): 3})
        member = asyncio.create_task(rounds.is_small(ITEMS[1], answer(7, "y", [])))
        await asyncio.sleep(0)
        small = await rounds.is_small(ITEMS[0], answer(7, "x", ["x", "y"]))
        whole = await rounds.is_small(ITEMS[0], answer(8, "x", ["x", "y", "z"]))
        return [small, await member, whole]

    assert asyncio.run(work()) == [True, True, False]


def test_a_member_alone_and_one_that_is_refused_ask_nobody() -> None:
    async def work() -> list[bool]:
        alone, refused = Rounds({}), answer(-1, "", []) | {"errorCode": 79}
        return [await alone.is_small(ITEMS[0], answer(1, "x", ["x"])), await alone.is_small(ITEMS[0], refused)]

    assert asyncio.run(work()) == [False, False]

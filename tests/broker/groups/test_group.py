"""Classic groups on the wire: join, sync, heartbeat, leave, static members, what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from kcli.broker.apis.groups.join_group import timeouts
from kcli.broker.groups.group import Group
from kcli.broker.net.response_writer import ResponseWriter
from kcli.broker.response import Piece
from kcli.schemas.apikeys import DESCRIBE_GROUPS, HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, LIST_GROUPS, SYNC_GROUP
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, connected, run, talking, until

SESSION = 10_000


def join(
    talk: Talk, member: str = "", version: int = 5, *, static: str | None = None, data: bytes = b"m", **more: Any
) -> asyncio.Future[dict[str, Any]]:
    body: dict[str, Any] = {
        "groupId": "g",
        "sessionTimeoutMs": SESSION,
        "rebalanceTimeoutMs": 3000,
        "memberId": member,
        "protocolType": "consumer",
        "protocols": [{"name": "range", "metadata": data}, {"name": "sticky", "metadata": data}],
    }
    if version >= 5:
        body["groupInstanceId"] = static
    return talk(JOIN_GROUP, version, body | more)


def sync(talk: Talk, joined: dict[str, Any], parts: dict[str, bytes] | None = None) -> asyncio.Future[dict[str, Any]]:
    rows = [{"memberId": name, "assignment": data} for name, data in (parts or {}).items()]
    body = {"groupId": "g", "generationId": joined["generationId"], "memberId": joined["memberId"], "assignments": rows}
    return talk(SYNC_GROUP, 3, body)


async def beat(talk: Talk, joined: dict[str, Any]) -> str:
    body = {"groupId": "g", "generationId": joined["generationId"], "memberId": joined["memberId"]}
    return error_name((await talk(HEARTBEAT, 3, body))["errorCode"])


async def enter(talk: Talk, **more: Any) -> asyncio.Future[dict[str, Any]]:
    """Join as a new member: once for an id, then with it."""
    first = await join(talk, **more)
    assert error_name(first["errorCode"]) == "MEMBER_ID_REQUIRED"
    return join(talk, first["memberId"], **more)


async def enter_both(one: Talk, two: Talk) -> tuple[dict[str, Any], dict[str, Any]]:
    """Join as a first member, then as a second one. Return the answers to both in the round that this begins."""
    first = await (await enter(one))
    await sync(one, first, {first["memberId"]: b"all"})
    waiting = await enter(two)
    await asyncio.sleep(0.02)
    assert not waiting.done()
    assert await beat(one, first) == "REBALANCE_IN_PROGRESS"
    again, second = await asyncio.gather(join(one, first["memberId"]), waiting)
    assert again["memberId"] == first["memberId"]
    return again, second


async def state(talk: Talk) -> str:
    return str((await talk(DESCRIBE_GROUPS, 5, {"groups": ["g"]}))["groups"][0]["groupState"])


def test_one_member() -> None:
    async def work() -> None:
        async with talking() as talk:
            joined = await (await enter(talk))
            assert joined["errorCode"] == 0
            assert joined["generationId"] == 1
            assert joined["leader"] == joined["memberId"]
            assert [each["metadata"] for each in joined["members"]] == [b"m"]
            assert await state(talk) == "CompletingRebalance"
            mine = await sync(talk, joined, {joined["memberId"]: b"all"})
            assert mine["assignment"] == b"all"
            assert await beat(talk, joined) == "NONE"
            described = (await talk(DESCRIBE_GROUPS, 5, {"groups": ["g"]}))["groups"][0]
            assert (described["groupState"], described["protocolData"]) == ("Stable", "range")
            assert described["members"][0]["memberAssignment"] == b"all"
            assert [
                each["groupId"] for each in (await talk(LIST_GROUPS, 4, {"statesFilter": ["Stable"]}))["groups"]
            ] == ["g"]
            assert (await talk(LIST_GROUPS, 4, {"statesFilter": ["Empty"]}))["groups"] == []

    run(work())


def test_another_one_makes_everybody_join_again() -> None:
    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            again, second = await enter_both(one, two)
            assert again["generationId"] == second["generationId"] == 2
            assert again["leader"] == second["leader"] == again["memberId"]
            assert len(again["members"]) == 2
            assert second["members"] == []
            follower = sync(two, second)
            await asyncio.sleep(0.02)
            assert not follower.done()
            await sync(one, again, {again["memberId"]: b"half", second["memberId"]: b"other half"})
            assert (await follower)["assignment"] == b"other half"
            assert error_name((await sync(two, {**second, "generationId": 1}))["errorCode"]) == "ILLEGAL_GENERATION"

    run(work())


def test_the_leader_hears_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the assignment that it brings: as its own answer is made, the followers' are not sent yet."""
    heard: list[bytes] = []
    send = ResponseWriter.send_pieces

    async def sent(self: ResponseWriter, pieces: Sequence[Piece]) -> None:
        heard.append(bytes(pieces[-1])[-8:] if isinstance(pieces[-1], bytes | memoryview) else b"")
        await send(self, pieces)

    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            again, second = await enter_both(one, two)
            follower = sync(two, second)
            group = one.broker.groups.get("g")
            assert isinstance(group, Group)
            member = group.members[second["memberId"]]
            await until(lambda: member.sync)
            monkeypatch.setattr(ResponseWriter, "send_pieces", sent)
            parts = {second["memberId"]: b"followed", again["memberId"]: b"the lead"}
            await asyncio.gather(sync(one, again, parts), follower)
            assert heard == [b"the lead", b"followed"]

    run(work())


def test_leaving_rebalances_the_rest() -> None:
    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            again, second = await enter_both(one, two)
            await asyncio.gather(sync(one, again, {}), sync(two, second))
            group = one.broker.groups.get("g")
            assert isinstance(group, Group)
            timer = group.members[second["memberId"]].timer
            assert timer in one.broker.clock.timers
            left = await two(
                LEAVE_GROUP, 3, {"groupId": "g", "members": [{"memberId": second["memberId"], "groupInstanceId": None}]}
            )
            assert left["errorCode"] == 0 and [each["errorCode"] for each in left["members"]] == [0]
            assert timer not in one.broker.clock.timers
            assert await beat(one, again) == "REBALANCE_IN_PROGRESS"
            alone = await join(one, again["memberId"])
            assert (alone["generationId"], len(alone["members"])) == (3, 1)
            assert (
                error_name((await two(LEAVE_GROUP, 1, {"groupId": "g", "memberId": "nobody"}))["errorCode"])
                == "UNKNOWN_MEMBER_ID"
            )
            await one(LEAVE_GROUP, 1, {"groupId": "g", "memberId": again["memberId"]})
            assert await state(one) == "Empty"

    run(work())


def test_who_is_silent_is_removed() -> None:
    async def work() -> None:
        async with talking(config={"group.min.session.timeout.ms": "1"}) as one, connected(one.broker) as two:
            first = await (await enter(one, sessionTimeoutMs=100))
            await sync(one, first, {})
            await asyncio.sleep(0.3)
            assert await beat(one, first) == "UNKNOWN_MEMBER_ID"
            assert await state(one) == "Empty"
            # One that does not join again in time is left behind.
            first = await (await enter(one, rebalanceTimeoutMs=100))
            await sync(one, first, {})
            second = await asyncio.wait_for(await enter(two, rebalanceTimeoutMs=100), 60)
            assert len(second["members"]) == 1

    run(work())


def test_protocols_are_voted_for() -> None:
    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            waiting = await enter(one, protocols=[{"name": "a", "metadata": b""}, {"name": "b", "metadata": b"1"}])
            first = await waiting
            assert first["protocolName"] == "a"
            bad = await join(two, protocols=[{"name": "c", "metadata": b""}])
            assert error_name(bad["errorCode"]) == "INCONSISTENT_GROUP_PROTOCOL"
            bad = await join(two, protocolType="connect")
            assert error_name(bad["errorCode"]) == "INCONSISTENT_GROUP_PROTOCOL"
            waiting = await enter(two, protocols=[{"name": "b", "metadata": b"2"}])
            again, second = await asyncio.gather(
                join(
                    one, first["memberId"], protocols=[{"name": "a", "metadata": b""}, {"name": "b", "metadata": b"1"}]
                ),
                waiting,
            )
            assert again["protocolName"] == second["protocolName"] == "b"
            assert sorted(each["metadata"] for each in again["members"]) == [b"1", b"2"]

    run(work())


def test_what_is_refused() -> None:
    async def work() -> None:
        async with talking() as talk:
            for more, error in (
                ({"groupId": ""}, "INVALID_GROUP_ID"),
                ({"sessionTimeoutMs": 10}, "INVALID_SESSION_TIMEOUT"),
                ({"sessionTimeoutMs": 1 << 30}, "INVALID_SESSION_TIMEOUT"),
                ({"memberId": "made up"}, "UNKNOWN_MEMBER_ID"),
            ):
                assert error_name((await join(talk, **more))["errorCode"]) == error
            body = {"groupId": "none", "generationId": 1, "memberId": "m"}
            assert error_name((await talk(HEARTBEAT, 3, body))["errorCode"]) == "UNKNOWN_MEMBER_ID"
            assert (
                error_name((await talk(SYNC_GROUP, 3, body | {"assignments": []}))["errorCode"]) == "UNKNOWN_MEMBER_ID"
            )

    run(work())


def test_a_static_member_comes_back_without_a_rebalance() -> None:
    """KIP-345; KIP-814 has the leader told to leave the assignment alone."""

    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            first = await join(one, static="s", version=9)
            await sync(one, first, {first["memberId"]: b"mine"})
            again = await join(two, static="s", version=9)
            assert again["errorCode"] == 0
            assert again["generationId"] == first["generationId"]
            assert again["memberId"] != first["memberId"]
            assert again["skipAssignment"] and again["leader"] == again["memberId"]
            assert [each["memberId"] for each in again["members"]] == [again["memberId"]]
            assert (await sync(two, again))["assignment"] == b"mine"
            body = {"groupId": "g", "generationId": 1, "memberId": first["memberId"], "groupInstanceId": "s"}
            assert error_name((await one(HEARTBEAT, 3, body))["errorCode"]) == "FENCED_INSTANCE_ID"
            assert (
                error_name((await one(HEARTBEAT, 3, body | {"groupInstanceId": "t"}))["errorCode"])
                == "UNKNOWN_MEMBER_ID"
            )
            older = await join(two, static="s", version=8)  # not told so: it takes itself for a follower
            assert older["leader"] == again["memberId"] != older["memberId"] and older["members"] == []
            changed = await join(two, static="s", version=9, data=b"other topics")
            assert changed["generationId"] == 2
            for more in ({"protocolType": "connect"}, {"protocols": [{"name": "new", "metadata": b""}]}):
                refused = await join(two, static="s", version=9, **more)  # its former protocols count, too
                assert error_name(refused["errorCode"]) == "INCONSISTENT_GROUP_PROTOCOL"

    run(work())


def test_a_member_whose_answer_was_lost_joins_again() -> None:
    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            first = await (await enter(one))
            assert (await join(two, first["memberId"]))["generationId"] == first["generationId"]

    run(work())


def test_a_new_group_may_wait_for_more_members() -> None:
    async def work() -> None:
        async with talking(config={"group.initial.rebalance.delay.ms": "150"}) as one, connected(one.broker) as two:
            waiting = [await enter(one), await enter(two)]
            joined = await asyncio.gather(*waiting)
            assert [each["generationId"] for each in joined] == [1, 1]
            assert sum(len(each["members"]) for each in joined) == 2

    run(work())


def test_before_v4_a_member_is_in_at_once() -> None:
    async def work() -> None:
        async with talking() as talk:
            body = {"groupId": "g", "sessionTimeoutMs": SESSION, "memberId": "", "protocolType": "consumer"}
            joined = await talk(JOIN_GROUP, 0, body | {"protocols": [{"name": "range", "metadata": b""}]})
            assert (joined["errorCode"], joined["generationId"]) == (0, 1)

    run(work())


def test_an_id_that_nobody_came_with_is_forgotten() -> None:
    """One that leaves before it has joined; the others wait no longer for it."""

    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            named = await join(one)
            waiting = await enter(two)
            group = one.broker.groups.get("g")
            assert isinstance(group, Group) and named["memberId"] in group.pending and not waiting.done()
            left = await one(LEAVE_GROUP, 1, {"groupId": "g", "memberId": named["memberId"]})
            assert left["errorCode"] == 0 and not group.pending
            assert len((await waiting)["members"]) == 1
            assert error_name((await join(one, named["memberId"]))["errorCode"]) == "UNKNOWN_MEMBER_ID"

    run(work())


def test_a_leader_that_sends_no_assignment_is_removed() -> None:
    """After the rebalance timeout, long before its session would end; the others begin again."""

    async def work() -> None:
        async with talking() as one, connected(one.broker) as two:
            leader, follower = await enter_both(one, two)
            group = one.broker.groups.get("g")
            assert isinstance(group, Group) and leader["leader"] == leader["memberId"]
            waiting = sync(two, follower)
            await until(lambda: group.members[follower["memberId"]].sync)
            one.broker.clock.advance(3.5)
            assert error_name((await waiting)["errorCode"]) == "REBALANCE_IN_PROGRESS"
            assert {*group.members} == {follower["memberId"]}

    run(work())


def test_version_0_waits_as_long_for_a_rebalance_as_for_a_member() -> None:
    assert timeouts({"sessionTimeoutMs": 10_000}) == (10.0, 10.0)
    assert timeouts({"sessionTimeoutMs": 10_000, "rebalanceTimeoutMs": 0}) == (10.0, 0.0)

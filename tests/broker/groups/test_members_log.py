"""Groups of the new protocols over a restart: members, epochs, offsets, and how far share groups are."""

from pathlib import Path
from typing import Any

from kcli.broker import Broker
from kcli.broker.groups.group import Group
from kcli.broker.groups.members_log import EPOCH, key_of
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import DELETE_GROUPS, LIST_GROUPS, OFFSET_FETCH
from kcli.schemas.errors import error_name
from tests.broker.apis.test_share import Sharing, ranges
from tests.broker.groups import test_group as classic
from tests.broker.groups.consumer.test_heartbeats import JOIN, beat, committed
from tests.broker.groups.test_group import join, state, sync
from tests.broker.talk import Talk, batch, run, talking


async def types(talk: Talk) -> dict[str, str]:
    listed = await talk(LIST_GROUPS, 5, {"statesFilter": [], "typesFilter": []})
    return {each["groupId"]: each["groupType"] for each in listed["groups"]}


def test_members_of_a_consumer_group_go_on(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    async def before() -> None:
        async with talking(Broker(tmp_path), topic="t", partitions=2) as talk:
            joined = await beat(talk, **JOIN, instanceId="static")
            assert await committed(talk, "m", joined["memberEpoch"]) == "NONE"
            other = await beat(talk, memberId="n", **JOIN | {"subscribedTopicNames": [], "subscribedTopicRegex": "^t$"})
            await beat(talk, memberId="n", memberEpoch=other["memberEpoch"])
            group = talk.broker.groups.consumer_group("g", joins=False)
            seen.update({each.id: each.current for each in group.members.values()})
            assert seen["n"][2].name == "UNRELEASED"

    async def after() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await types(talk) == {"g": "consumer"}
            group = talk.broker.groups.consumer_group("g", joins=False)
            assert {each.id: each.current for each in group.members.values()} == seen
            fenced = await beat(talk, memberEpoch=99, instanceId="static")
            assert error_name(fenced["errorCode"]) == "FENCED_MEMBER_EPOCH"
            stranger = await beat(talk, memberId="x", memberEpoch=1)
            assert error_name(stranger["errorCode"]) == "UNKNOWN_MEMBER_ID"
            told = await beat(talk, memberEpoch=seen["m"][0], instanceId="static")
            assert told["errorCode"] == 0 and group.epoch == seen["n"][0]
            assert await committed(talk, "n", seen["n"][0] + 1) == "STALE_MEMBER_EPOCH"
            asked = {"groups": [{"groupId": "g", "topics": None}], "requireStable": False}
            (found,) = (await talk(OFFSET_FETCH, 8, asked))["groups"]
            assert found["topics"][0]["partitions"][0]["committedOffset"] == 1
            talk.broker.clock.advance(46)
            assert not group.members

    async def at_last() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await types(talk) == {"g": "consumer"} and not talk.broker.groups.by_id["g"].members
            (gone,) = (await talk(DELETE_GROUPS, 2, {"groupsNames": ["g"]}))["results"]
            assert gone["errorCode"] == 0

    async def nothing() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await types(talk) == {}

    for each in (before, after, at_last, nothing):
        run(each())


def test_share_groups_go_on_where_they_were(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    async def before() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            talk.broker.controller.configure_resource(32, "g", {"share.auto.offset.reset": "earliest"})
            one = Sharing(talk, "m")
            seen["epoch"] = (await one.beat(0, ["t"]))["memberEpoch"]
            await talk.produce("t", batch("a", "b", "c", "d", "e"))
            assert ranges(await one.fetch()) == [(0, 4, 1)]
            # 0 is done, 1 comes again, 2 is done, too; of 3 and 4 nothing is said.
            assert await one.say((0, 0, 1), (1, 1, 2), (2, 2, 3)) == "NONE"

    async def after() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await types(talk) == {"g": "share"}
            one = Sharing(talk, "m")
            assert (await one.beat(seen["epoch"]))["memberEpoch"] == seen["epoch"]
            assert error_name((await Sharing(talk, "x").beat(1))["errorCode"]) == "UNKNOWN_MEMBER_ID"
            asked = {"groups": [{"groupId": "g", "topics": None}]}
            (group,) = (await talk(keys.DESCRIBE_SHARE_GROUP_OFFSETS, 1, asked))["groups"]
            assert [(each["startOffset"], each["lag"]) for each in group["topics"][0]["partitions"]] == [(1, 3)]
            assert ranges(await one.fetch()) == [(1, 1, 2), (3, 4, 1)]
            await one.beat(-1)
            gone = await talk(keys.DELETE_SHARE_GROUP_OFFSETS, 0, {"groupId": "g", "topics": [{"topicName": "t"}]})
            assert gone["responses"][0]["errorCode"] == 0

    async def at_last() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert not talk.broker.groups.share_group("g", joins=False).partitions

    for each in (before, after, at_last):
        run(each())


def test_members_of_a_classic_group_go_on(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    async def before() -> None:
        async with talking(Broker(tmp_path)) as talk:
            joined = await join(talk, static="s", version=9)
            await sync(talk, joined, {joined["memberId"]: b"mine"})
            again = await join(talk, static="s", version=9)
            assert again["generationId"] == 1
            seen.update(again)

    async def after() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await state(talk) == "Stable"
            assert await classic.beat(talk, seen) == "NONE"
            group = talk.broker.groups.get("g")
            assert isinstance(group, Group)
            [member] = group.members.values()
            assert (member.session_timeout, member.rebalance_timeout) == (10.0, 3.0)
            assert (await sync(talk, seen))["assignment"] == b"mine"
            assert await classic.beat(talk, seen | {"generationId": 9}) == "ILLEGAL_GENERATION"
            assert await classic.beat(talk, seen | {"memberId": "stranger"}) == "UNKNOWN_MEMBER_ID"
            changed = await join(talk, seen["memberId"], static="s", version=9, data=b"other topics")
            assert changed["generationId"] == 2
            await sync(talk, changed)
            talk.broker.clock.advance(46)
            assert await state(talk) == "Empty"

    async def at_last() -> None:
        async with talking(Broker(tmp_path)) as talk:
            group = talk.broker.groups.get("g")
            assert isinstance(group, Group) and (group.generation, group.members) == (3, {})
            (gone,) = (await talk(DELETE_GROUPS, 2, {"groupsNames": ["g"]}))["results"]
            assert gone["errorCode"] == 0

    async def nothing() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await types(talk) == {}

    for each in (before, after, at_last, nothing):
        run(each())


def test_an_unreadable_group_is_left_out(tmp_path: Path) -> None:
    notes: list[str] = []

    async def before() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            await beat(talk, **JOIN)
            talk.broker.groups.store.topic.write("h", [(key_of("h", EPOCH, ""), b"\0\0\0")])

    async def after() -> None:
        async with talking(Broker(tmp_path, note=notes.append)) as talk:
            assert await types(talk) == {"g": "consumer"}
            assert any("left out: group h" in each for each in notes)

    run(before())
    run(after())


def test_a_heartbeat_that_does_not_join_leaves_an_empty_classic_group_as_it_is() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            group = talk.broker.groups.get_or_make("g")
            answer = await beat(talk, memberEpoch=3)
            assert error_name(answer["errorCode"]) == "GROUP_ID_NOT_FOUND"
            assert talk.broker.groups.by_id["g"] is group and isinstance(group, Group)

    run(work())

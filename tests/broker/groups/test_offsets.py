"""Committed offsets: in memory, in `__consumer_offsets`, after a restart."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.grammar import messages
from kcli.schemas.apikeys import DELETE_GROUPS, OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from kcli.schemas.errors import error_name
from tests.broker.groups.test_group import enter, sync
from tests.broker.talk import Talk, run, talking


async def commit(
    talk: Talk, offset: int, *, version: int = 7, topic: str = "t", metadata: str = "", **more: Any
) -> str:
    row = {"partitionIndex": 0, "committedOffset": offset, "committedMetadata": metadata}
    named = {"topicId": talk.broker.topics.by_name[topic].id} if version >= 10 else {"name": topic}
    body = {"groupId": "g", "topics": [named | {"partitions": [row]}]}
    answer = await talk(OFFSET_COMMIT, version, body | more)
    return error_name(answer["topics"][0]["partitions"][0]["errorCode"])


async def fetched(talk: Talk, version: int = 7, group: str = "g") -> tuple[int, str]:
    if version >= 8:
        named = {"topicId": talk.broker.topics.by_name["t"].id} if version >= 10 else {"name": "t"}
        body: dict[str, Any] = {"groups": [{"groupId": group, "topics": [named | {"partitionIndexes": [0]}]}]}
        row = (await talk(OFFSET_FETCH, version, body))["groups"][0]["topics"][0]["partitions"][0]
    else:
        body = {"groupId": group, "topics": [{"name": "t", "partitionIndexes": [0]}]}
        row = (await talk(OFFSET_FETCH, version, body))["topics"][0]["partitions"][0]
    return row["committedOffset"], row["metadata"]


@pytest.mark.parametrize("version", range(11))
def test_each_version(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert await fetched(talk, version) == (-1, "")
            assert await commit(talk, 5, version=version, metadata="note") == "NONE"
            assert await fetched(talk, version) == (5, "note")

    run(work())


def test_they_outlive_the_broker(tmp_path: Path) -> None:
    async def first() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            for offset in (5, 9):
                await commit(talk, offset, metadata="x")

    async def second() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await fetched(talk) == (9, "x")
            everything = await talk(OFFSET_FETCH, 7, {"groupId": "g", "topics": None})
            assert [each["name"] for each in everything["topics"]] == ["t"]
            assert (await talk(DELETE_GROUPS, 2, {"groupsNames": ["g", "h"]}))["results"] == [
                {"groupId": "g", "errorCode": 0},
                {"groupId": "h", "errorCode": 69},
            ]

    async def third() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert await fetched(talk) == (-1, "")

    for each in (first, second, third):
        run(each())


def test_who_may_commit() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            joined = await (await enter(talk))
            member = {"memberId": joined["memberId"], "generationIdOrMemberEpoch": joined["generationId"]}
            assert await commit(talk, 1, **member) == "REBALANCE_IN_PROGRESS"
            await sync(talk, joined, {})
            assert await commit(talk, 1, **member) == "NONE"
            assert await commit(talk, 1) == "UNKNOWN_MEMBER_ID"
            assert await commit(talk, 1, **member | {"generationIdOrMemberEpoch": 7}) == "ILLEGAL_GENERATION"
            assert await commit(talk, 1, **member | {"memberId": "x"}) == "UNKNOWN_MEMBER_ID"
            assert await commit(talk, 1, **member, metadata="m" * 5000) == "OFFSET_METADATA_TOO_LARGE"
            assert (
                error_name((await talk(DELETE_GROUPS, 2, {"groupsNames": ["g"]}))["results"][0]["errorCode"])
                == "NON_EMPTY_GROUP"
            )

    run(work())


def test_offsets_are_deleted() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await commit(talk, 1)
            body = {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}
            assert (await talk(OFFSET_DELETE, 0, body))["errorCode"] == 0
            assert await fetched(talk) == (-1, "")
            await commit(talk, 2)
            talk.broker.controller.delete_topic(talk.broker.topics.by_name["t"])
            talk.broker.create_topic("t")
            assert await fetched(talk) == (-1, "")

    run(work())


def subscribed(*topics: str) -> bytes:
    value = {"topics": list(topics), "userData": None, "ownedPartitions": []}
    return b"\0\1" + bytes(messages.data("ConsumerProtocolSubscription", 1).write(value))


@pytest.mark.parametrize(
    ("joins", "expected"),
    [
        ({"data": subscribed("other")}, ("NONE", "NONE")),
        ({"data": subscribed("other", "t")}, ("NONE", "GROUP_SUBSCRIBED_TO_TOPIC")),
        ({"data": b"m"}, ("NONE", "GROUP_SUBSCRIBED_TO_TOPIC")),
        ({"protocolType": "connect"}, ("NON_EMPTY_GROUP", "")),
    ],
)
def test_offsets_of_a_group_with_members_are_deleted_where_none_subscribes(
    joins: dict[str, Any], expected: tuple[str, str]
) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await sync(talk, await (await enter(talk, **joins)), {})
            body = {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}
            answer = await talk(OFFSET_DELETE, 0, body)
            codes = [each["errorCode"] for topic in answer["topics"] for each in topic["partitions"]]
            assert (error_name(answer["errorCode"]), "".join(map(error_name, codes))) == expected

    run(work())

"""Share groups as a client meets them: heartbeats, fetches in a session, acknowledgements, offsets."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import LIST_GROUPS
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import altered
from tests.broker.talk import Talk, batch, run, talking, until
from tests.broker.transactions.producer import Producer


class Sharing:
    """A member of share group g."""

    def __init__(self, talk: Talk, member: str) -> None:
        self.talk, self.member = talk, member
        self.epoch = 0
        self.topic_id = talk.broker.topics.by_name["t"].id

    async def beat(self, epoch: int = 0, names: list[str] | None = None, **more: Any) -> dict[str, Any]:
        body = {"groupId": "g", "memberId": self.member, "memberEpoch": epoch, "rackId": None}
        return await self.talk(keys.SHARE_GROUP_HEARTBEAT, 1, body | {"subscribedTopicNames": names} | more)

    def batches(self, *given: tuple[int, int, int]) -> list[dict[str, Any]]:
        rows = [{"firstOffset": first, "lastOffset": last, "acknowledgeTypes": [kind]} for first, last, kind in given]
        return [{"topicId": self.topic_id, "partitions": [{"partitionIndex": 0, "acknowledgementBatches": rows}]}]

    async def fetch(self, *given: tuple[int, int, int], epoch: int | None = None, wait: int = 0, **more: Any) -> Any:
        body = {"groupId": "g", "memberId": self.member, "maxWaitMs": wait, "minBytes": 1, "maxBytes": 1 << 20}
        body |= {"maxRecords": 500, "batchSize": 500, "forgottenTopicsData": [], "topics": self.batches(*given)}
        body |= {"shareSessionEpoch": self.epoch if epoch is None else epoch}
        answer = await self.talk(keys.SHARE_FETCH, 2, body | {"shareAcquireMode": 0, "isRenewAck": False} | more)
        if answer["errorCode"]:
            return error_name(answer["errorCode"])
        self.epoch = self.epoch + 1 if epoch is None else self.epoch
        rows = [each for topic in answer["responses"] for each in topic["partitions"]]
        # A session's first response has all partitions, also those without records.
        return rows[0] if rows and (rows[0]["acquiredRecords"] or given or rows[0]["errorCode"]) else None

    async def say(self, *given: tuple[int, int, int], epoch: int | None = None) -> str:
        body = {"groupId": "g", "memberId": self.member, "isRenewAck": False, "topics": self.batches(*given)}
        body |= {"shareSessionEpoch": self.epoch if epoch is None else epoch}
        answer = await self.talk(keys.SHARE_ACKNOWLEDGE, 2, body)
        if answer["errorCode"]:
            return error_name(answer["errorCode"])
        self.epoch += 1
        return ",".join(error_name(each["errorCode"]) for topic in answer["responses"] for each in topic["partitions"])


@asynccontextmanager
async def sharing(partitions: int = 1) -> AsyncIterator[tuple[Talk, Sharing]]:
    async with talking(topic="t", partitions=partitions) as talk:
        talk.broker.controller.configure_resource(32, "g", {"share.auto.offset.reset": "earliest"})
        yield talk, Sharing(talk, "m")


def ranges(row: Any) -> list[tuple[int, int, int]]:
    return [tuple(each.values()) for each in row["acquiredRecords"]]


def test_members_share_partitions() -> None:
    async def work() -> None:
        async with sharing(partitions=2) as (talk, first):
            joined = await first.beat(0, ["t"])
            assert joined["assignment"]["topicPartitions"][0]["partitions"] == [0, 1]
            second, third = Sharing(talk, "n"), Sharing(talk, "o")
            assert (await second.beat(0, ["t"]))["assignment"]["topicPartitions"][0]["partitions"] == [1]
            assert (await third.beat(0, ["t"]))["assignment"]["topicPartitions"][0]["partitions"] == [0]
            told = await first.beat(joined["memberEpoch"])
            assert told["assignment"]["topicPartitions"][0]["partitions"] == [0]
            assert (await first.beat(told["memberEpoch"]))["assignment"] is None
            assert error_name((await first.beat(99))["errorCode"]) == "FENCED_MEMBER_EPOCH"
            (group,) = (await talk(keys.SHARE_GROUP_DESCRIBE, 1, {"groupIds": ["g"]}))["groups"]
            assert (group["groupState"], len(group["members"])) == ("Stable", 3)
            listed = await talk(LIST_GROUPS, 5, {"statesFilter": [], "typesFilter": ["share"]})
            assert [each["groupId"] for each in listed["groups"]] == ["g"]
            assert (await third.beat(-1))["memberEpoch"] == -1
            talk.broker.clock.advance(46)
            assert not talk.broker.groups.by_id["g"].members

    run(work())


def test_records_are_fetched_acknowledged_and_fetched_again() -> None:
    async def work() -> None:
        async with sharing() as (talk, one):
            await one.beat(0, ["t"])
            await talk.produce("t", batch("a", "b", "c"))
            row = await one.fetch()
            assert ranges(row) == [(0, 2, 1)] and row["records"]
            assert await one.fetch() is None
            row = await one.fetch((0, 0, 1), (1, 1, 2))
            assert row["acknowledgeErrorCode"] == 0 and ranges(row) == [(1, 1, 2)]
            assert error_name((await one.fetch((0, 2, 1)))["acknowledgeErrorCode"]) == "NONE"
            assert error_name((await one.fetch((2, 2, 1)))["acknowledgeErrorCode"]) == "NONE"
            assert await one.say((7, 7, 1)) == "INVALID_RECORD_STATE"
            waiting = asyncio.ensure_future(one.fetch(wait=20_000))
            async with talk.another() as other:
                await other.produce("t", batch("d"))
            assert ranges(await waiting) == [(3, 3, 1)]
            asked = {"groups": [{"groupId": "g", "topics": None}]}
            (group,) = (await talk(keys.DESCRIBE_SHARE_GROUP_OFFSETS, 1, asked))["groups"]
            assert [(each["startOffset"], each["lag"]) for each in group["topics"][0]["partitions"]] == [(3, 1)]

    run(work())


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_only_read_uncommitted_gets_records_of_aborted_transactions(level: str) -> None:
    async def work() -> None:
        async with sharing() as (talk, member):
            altered_level = {"share.isolation.level": level, "share.auto.offset.reset": "earliest"}
            talk.broker.controller.configure_resource(32, "g", altered_level)
            await member.beat(0, ["t"])
            producer = Producer(talk, implicit=True)
            await producer.init()
            for commit, values in ((False, ["a", "b"]), (True, ["c"])):
                await producer.send(*values)
                await producer.end(commit=commit)
            await producer.send("open")
            # One record a fetch: what is archived holds nobody up.
            row = await member.fetch(epoch=0, maxBytes=1)
            if level == "read_uncommitted":
                assert ranges(row) == [(0, 1, 1)]
                return
            assert ranges(row) == [(2, 2, 1)]  # the marker: its reader says that there was nothing
            assert ranges(await member.fetch((2, 2, 0), maxBytes=1)) == [(3, 3, 1)]
            assert ranges(await member.fetch((3, 3, 1))) == [(4, 4, 1)]
            assert await member.say((4, 4, 0)) == "NONE"
            await producer.end(commit=False)
            assert ranges(await member.fetch()) == [(6, 6, 1)]

    run(work())


def test_sessions() -> None:
    async def work() -> None:
        async with sharing() as (talk, one):
            assert await one.fetch(epoch=5) == "SHARE_SESSION_NOT_FOUND"
            assert await one.say((0, 0, 1), epoch=0) == "INVALID_SHARE_SESSION_EPOCH"
            await talk.produce("t", batch("a"))
            assert ranges(await one.fetch()) == [(0, 0, 1)]
            assert await one.fetch(epoch=7) == "INVALID_SHARE_SESSION_EPOCH"
            assert await one.fetch(epoch=-1) is None  # what it acquired is let go
            assert ranges(await Sharing(talk, "n").fetch()) == [(0, 0, 1)]
            assert await one.fetch(epoch=1) == "SHARE_SESSION_NOT_FOUND"

    run(work())


def test_a_session_ends_with_its_connection() -> None:
    async def work() -> None:
        async with sharing() as (talk, one):
            await talk.produce("t", batch("a", "b"))
            async with talk.another() as gone:
                away = Sharing(gone, "away")
                assert ranges(await away.fetch()) == [(0, 1, 1)]
                assert await one.fetch() is None
                waiting = asyncio.ensure_future(one.fetch(wait=20_000))
            assert ranges(await waiting) == [(0, 1, 1)]
            away.talk = talk
            assert await away.fetch() == "SHARE_SESSION_NOT_FOUND"

    run(work())


def test_a_session_that_a_second_connection_began_outlives_the_first() -> None:
    async def work() -> None:
        async with sharing() as (talk, one):
            await talk.produce("t", batch("a"))
            async with talk.another() as gone:
                assert ranges(await Sharing(gone, "m").fetch()) == [(0, 0, 1)]
                assert await one.fetch() is None
            await until(lambda: len(talk.broker.nodes[0].connections) == 1)
            assert (await one.fetch((0, 0, 1)))["acknowledgeErrorCode"] == 0

    run(work())


def test_offsets_are_set_and_forgotten_where_nobody_is_there() -> None:
    async def work() -> None:
        async with sharing() as (talk, one):
            await one.beat(0, ["t"])
            await talk.produce("t", batch("a", "b", "c"))
            rows = [{"topicName": "t", "partitions": [{"partitionIndex": 0, "startOffset": 2}]}]
            body = {"groupId": "g", "topics": rows}
            busy = await talk(keys.ALTER_SHARE_GROUP_OFFSETS, 0, body)
            assert error_name(busy["errorCode"]) == "NON_EMPTY_GROUP"
            await one.beat(-1)
            set_ = await talk(keys.ALTER_SHARE_GROUP_OFFSETS, 0, body)
            assert set_["responses"][0]["partitions"][0]["errorCode"] == 0
            assert ranges(await one.fetch()) == [(2, 2, 1)]
            gone = await talk(keys.DELETE_SHARE_GROUP_OFFSETS, 0, {"groupId": "g", "topics": [{"topicName": "t"}]})
            assert gone["responses"][0]["errorCode"] == 0
            assert not talk.broker.groups.share_group("g", joins=False).partitions

    run(work())


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"groupId": ""}, "INVALID_REQUEST"),
        ({"memberId": ""}, "INVALID_REQUEST"),
        ({"subscribedTopicNames": None}, "INVALID_REQUEST"),
        ({"memberEpoch": -2}, "INVALID_REQUEST"),
        ({"memberEpoch": 4}, "GROUP_ID_NOT_FOUND"),
    ],
)
def test_odd_heartbeats(more: dict[str, Any], error: str) -> None:
    async def work() -> None:
        async with sharing() as (_, one):
            assert error_name((await one.beat(0, ["t"], **more))["errorCode"]) == error

    run(work())


def test_long_records_go_to_their_own_partitions() -> None:
    async def work() -> None:
        async with sharing(partitions=2) as (talk, member):
            await member.beat(0, ["t"])
            for partition, letter in enumerate("ab"):
                await talk.produce("t", batch(letter * 20_000), partition=partition)
            wanted: list[dict[str, Any]] = [{"partitionIndex": at, "acknowledgementBatches": []} for at in (1, 0)]
            body = {"groupId": "g", "memberId": "m", "maxWaitMs": 0, "minBytes": 1, "maxBytes": 1 << 20}
            body |= {"maxRecords": 500, "batchSize": 500, "forgottenTopicsData": [], "shareSessionEpoch": 0}
            body |= {"topics": [{"topicId": member.topic_id, "partitions": wanted}]}
            (topic,) = (await talk(keys.SHARE_FETCH, 2, body))["responses"]
            first = {each["partitionIndex"]: bytes(each["records"])[-2:-1] for each in topic["partitions"]}
            assert first == {0: b"a", 1: b"b"}

    run(work())


@pytest.mark.parametrize(("reset", "first"), [("by_duration:PT1H", 2), ("by_duration:P2D", 0), ("by_duration:PT0S", 3)])
def test_a_group_begins_so_long_ago(reset: str, first: int) -> None:
    async def work() -> None:
        async with sharing() as (talk, one):
            now = int(time.time() * 1000)
            for ago in (86_400_000, 7_200_000, 60_000):
                await talk.produce("t", batch("a", time=now - ago))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(32, "g", "share.auto.offset.reset", 0, reset))
            await one.beat(0, ["t"])
            await one.fetch()
            asked = {"groups": [{"groupId": "g", "topics": None}]}
            (group,) = (await talk(keys.DESCRIBE_SHARE_GROUP_OFFSETS, 1, asked))["groups"]
            assert group["topics"][0]["partitions"][0]["startOffset"] == first

    run(work())

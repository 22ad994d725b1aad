"""Groups of KIP-848 and groups that are not there, as a real Kafka 4.4.0 answers."""

from typing import Any

from kcli.schemas import apikeys as keys
from tests.broker.apis.asking import codes
from tests.broker.talk import run, talking


def committed(version: int, generation: int, member: str) -> dict[str, Any]:
    place = {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}
    return {"groupId": "g", "generationIdOrMemberEpoch": generation, "memberId": member, "topics": [place]}


def test_offsets_of_members_of_kip_848() -> None:
    """The codes of a real 4.4.0."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            beat = {"groupId": "g", "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 1000}
            beat |= {"subscribedTopicNames": ["t"], "topicPartitions": []}
            epoch = (await talk(keys.CONSUMER_GROUP_HEARTBEAT, 1, beat))["memberEpoch"]
            for version, at, member, found in (
                (8, epoch, "m", "UNSUPPORTED_VERSION"),
                (8, epoch, "n", "UNKNOWN_MEMBER_ID"),
                (9, epoch, "m", "NONE"),
                (9, -1, "", "UNKNOWN_MEMBER_ID"),
                (9, -1, "m", "STALE_MEMBER_EPOCH"),
            ):
                assert await codes(talk, keys.OFFSET_COMMIT, version, committed(version, at, member)) == [found]
            for name, at, found in ((None, -1, "NONE"), ("", -1, "UNKNOWN_MEMBER_ID"), ("m", epoch, "NONE")):
                body: dict[str, Any] = {"groups": [{"groupId": "g", "memberId": name, "memberEpoch": at, "topics": []}]}
                assert await codes(talk, keys.OFFSET_FETCH, 9, body) == [found], name

    run(work())


def test_groups_that_are_not_there() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert await codes(talk, keys.OFFSET_COMMIT, 9, committed(9, 5, "m")) == ["GROUP_ID_NOT_FOUND"]
            assert await codes(talk, keys.OFFSET_COMMIT, 8, committed(8, 5, "m")) == ["ILLEGAL_GENERATION"]
            assert await codes(talk, keys.OFFSET_COMMIT, 9, committed(9, -1, "m")) == ["NONE"]
            assert await codes(talk, keys.OFFSET_COMMIT, 9, committed(9, 3, "m")) == ["UNKNOWN_MEMBER_ID"]
            body = {"groupId": "none", "generationId": 1, "memberId": "m"}
            assert await codes(talk, keys.SYNC_GROUP, 4, body) == ["UNKNOWN_MEMBER_ID"]
            assert await codes(talk, keys.SYNC_GROUP, 5, body) == ["INCONSISTENT_GROUP_PROTOCOL"]
            body |= {"protocolType": "consumer", "protocolName": "range"}
            assert await codes(talk, keys.SYNC_GROUP, 5, body) == ["UNKNOWN_MEMBER_ID"]
            body["groupId"] = ""
            assert await codes(talk, keys.SYNC_GROUP, 5, body) == ["INVALID_GROUP_ID"]
            nobody = {"groupId": "", "generationId": 1, "memberId": "m"}
            assert await codes(talk, keys.HEARTBEAT, 4, nobody) == ["INVALID_GROUP_ID"]
            leaving = {"groupId": "", "members": [{"memberId": "m"}]}
            assert await codes(talk, keys.LEAVE_GROUP, 4, leaving) == ["INVALID_GROUP_ID"]

    run(work())

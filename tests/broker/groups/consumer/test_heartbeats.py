"""ConsumerGroupHeartbeat and what other APIs say of a group of the new protocol."""

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from kcli.broker import Broker
from kcli.broker.embedded import embedded_broker
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.members_log import CURRENT, MEMBER, consumer_member, consumer_rows
from kcli.schemas.apikeys import (
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    JOIN_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
)
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, run, talking

JOIN: dict[str, Any] = {"rebalanceTimeoutMs": 1000, "subscribedTopicNames": ["t"], "topicPartitions": []}


async def beat(talk: Talk, version: int = 1, **more: Any) -> dict[str, Any]:
    body = {
        "groupId": "g",
        "memberId": "m",
        "memberEpoch": 0,
        "instanceId": None,
        "rackId": None,
        "serverAssignor": None,
    }
    body |= {"rebalanceTimeoutMs": -1, "subscribedTopicNames": None, "topicPartitions": None}
    return await talk(CONSUMER_GROUP_HEARTBEAT, version, body | more)


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"groupId": " "}, "INVALID_REQUEST"),
        ({"memberId": ""}, "INVALID_REQUEST"),
        ({"instanceId": ""}, "INVALID_REQUEST"),
        ({"rackId": ""}, "INVALID_REQUEST"),
        ({"rebalanceTimeoutMs": -1}, "INVALID_REQUEST"),
        ({"topicPartitions": None}, "INVALID_REQUEST"),
        ({"subscribedTopicNames": None}, "INVALID_REQUEST"),
        ({"memberEpoch": -2}, "INVALID_REQUEST"),
        ({"memberEpoch": -3}, "INVALID_REQUEST"),
        ({"memberEpoch": 7}, "GROUP_ID_NOT_FOUND"),
        ({"serverAssignor": "sticky"}, "UNSUPPORTED_ASSIGNOR"),
        ({"subscribedTopicRegex": "("}, "INVALID_REGULAR_EXPRESSION"),
    ],
)
def test_odd_heartbeats(more: dict[str, Any], error: str) -> None:
    async def work() -> None:
        async with talking() as talk:
            assert error_name((await beat(talk, **JOIN | more))["errorCode"]) == error

    run(work())


def test_a_member_and_what_is_said_of_its_group() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            topic_id = talk.broker.topics.by_name["t"].id
            joined = await beat(talk, 0, memberId="", **JOIN)
            member, epoch = joined["memberId"], joined["memberEpoch"]
            assert joined["assignment"]["topicPartitions"] == [{"topicId": topic_id, "partitions": [0, 1]}]
            assert joined["heartbeatIntervalMs"] == 5000 and len(member) == 22
            assert (await beat(talk, memberId=member, memberEpoch=epoch))["assignment"] is None
            (group,) = (await talk(CONSUMER_GROUP_DESCRIBE, 1, {"groupIds": ["g"]}))["groups"]
            assert (group["groupState"], group["assignorName"]) == ("Stable", "uniform")
            (row,) = group["members"]
            assert (row["memberId"], row["memberEpoch"], row["subscribedTopicNames"]) == (member, epoch, ["t"])
            assert row["assignment"] == row["targetAssignment"]
            assert row["assignment"]["topicPartitions"][0]["topicName"] == "t"
            listed = await talk(LIST_GROUPS, 5, {"statesFilter": ["stable"], "typesFilter": ["Consumer"]})
            assert [(each["groupId"], each["groupType"]) for each in listed["groups"]] == [("g", "consumer")]
            (classic,) = (await talk(DESCRIBE_GROUPS, 6, {"groups": ["g"]}))["groups"]
            assert error_name(classic["errorCode"]) == "GROUP_ID_NOT_FOUND"
            assert await committed(talk, member, epoch) == "NONE"
            assert await committed(talk, member, epoch + 1) == "STALE_MEMBER_EPOCH"
            assert await committed(talk, "other", epoch) == "UNKNOWN_MEMBER_ID"
            asked = {"groupId": "g", "memberId": member, "memberEpoch": epoch, "topics": None}
            (found,) = (await talk(OFFSET_FETCH, 9, {"groups": [asked], "requireStable": False}))["groups"]
            assert found["topics"][0]["partitions"][0]["committedOffset"] == 1
            asked["memberEpoch"] = epoch + 1
            (found,) = (await talk(OFFSET_FETCH, 9, {"groups": [asked], "requireStable": False}))["groups"]
            assert error_name(found["errorCode"]) == "STALE_MEMBER_EPOCH"
            busy = {"groupId": "g", "topics": [{"name": "t", "partitions": [{"partitionIndex": 0}]}]}
            (row,) = (await talk(OFFSET_DELETE, 0, busy))["topics"]
            assert error_name(row["partitions"][0]["errorCode"]) == "GROUP_SUBSCRIBED_TO_TOPIC"
            (gone,) = (await talk(DELETE_GROUPS, 2, {"groupsNames": ["g"]}))["results"]
            assert error_name(gone["errorCode"]) == "NON_EMPTY_GROUP"
            left = await beat(talk, memberId=member, memberEpoch=-1)
            assert (left["errorCode"], left["memberEpoch"]) == (0, -1)

    run(work())


def test_offsets_in_an_earlier_epoch() -> None:
    """Of what a member had then already, which it may not know of yet (KIP-1251); as a real Kafka 4.4.0 takes them."""

    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            topic_id = talk.broker.topics.by_name["t"].id
            before = (await beat(talk, **JOIN))["memberEpoch"]
            await beat(talk, **JOIN | {"memberId": "n"})
            told = await beat(talk, memberEpoch=before)  # to give one partition back
            kept = told["assignment"]["topicPartitions"]
            after = (await beat(talk, memberEpoch=before, topicPartitions=kept))["memberEpoch"]
            assert after > before
            (own,) = kept[0]["partitions"]
            got = await beat(talk, memberId="n", memberEpoch=after)
            assert got["assignment"]["topicPartitions"] == [{"topicId": topic_id, "partitions": [1 - own]}]
            assert await committed(talk, "m", before, own) == "NONE"
            assert await committed(talk, "m", before, 1 - own) == "STALE_MEMBER_EPOCH"
            assert await committed(talk, "m", after + 1, own) == "STALE_MEMBER_EPOCH"
            assert await committed(talk, "n", before, 1 - own) == "STALE_MEMBER_EPOCH"
            assert await committed(talk, "n", after, 1 - own) == "NONE"
            group = talk.broker.groups.get("g")
            assert isinstance(group, ConsumerGroup)
            rows = consumer_rows(group)
            for each in group.members.values():
                restored = consumer_member(each.id, rows[MEMBER, each.id], rows[CURRENT, each.id])
                assert each.since == restored.since and each.since.keys() == each.assigned

    run(work())


async def committed(talk: Talk, member: str, epoch: int, partition: int = 0) -> str:
    row = {"partitionIndex": partition, "committedOffset": 1, "committedMetadata": "", "committedLeaderEpoch": -1}
    body = {"groupId": "g", "memberId": member, "generationIdOrMemberEpoch": epoch, "groupInstanceId": None}
    answer = await talk(OFFSET_COMMIT, 9, body | {"topics": [{"name": "t", "partitions": [row]}]})
    return error_name(answer["topics"][0]["partitions"][0]["errorCode"])


def test_an_empty_group_changes_its_protocol_and_keeps_its_offsets() -> None:
    classic = {"groupId": "g", "sessionTimeoutMs": 10_000, "rebalanceTimeoutMs": 1000, "memberId": ""}
    classic |= {"protocolType": "consumer", "protocols": [{"name": "range", "metadata": b""}]}

    async def work() -> None:
        async with talking(topic="t") as talk:
            joined = await beat(talk, **JOIN)
            assert await committed(talk, "m", joined["memberEpoch"]) == "NONE"
            assert error_name((await talk(JOIN_GROUP, 3, classic))["errorCode"]) == "INCONSISTENT_GROUP_PROTOCOL"
            await beat(talk, memberEpoch=-1)
            assert (await talk(JOIN_GROUP, 3, classic))["errorCode"] == 0
            assert error_name((await beat(talk, **JOIN))["errorCode"]) == "GROUP_ID_NOT_FOUND"
            asked = {"groups": [{"groupId": "g", "topics": None}], "requireStable": False}
            (found,) = (await talk(OFFSET_FETCH, 8, asked))["groups"]
            assert found["topics"][0]["partitions"][0]["committedOffset"] == 1

    run(work())


def test_groups_have_configs_of_their_own() -> None:
    async def work() -> None:
        async with talking(Broker(), topic="t") as talk:
            talk.broker.controller.configure_resource(32, "g", {"consumer.heartbeat.interval.ms": "9000"})
            assert (await beat(talk, **JOIN))["heartbeatIntervalMs"] == 9000

    run(work())


def test_librdkafka_shares_partitions_and_commits() -> None:
    with embedded_broker(config={"group.consumer.heartbeat.interval.ms": 100}) as kafka:
        kafka.create_topic("t", 2)
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "group.protocol": "consumer"}
        config |= {"auto.offset.reset": "earliest", "fetch.wait.max.ms": "10"}
        first, second = Consumer(config), Consumer(config)
        first.subscribe(["t"])
        second.subscribe(["^t.*"])
        while len(first.assignment()) != 1 or len(second.assignment()) != 1:
            first.poll(0.01)
            second.poll(0.01)
        kafka.wait(group="g", state="Stable", members=2)
        producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
        for index in range(2):
            producer.produce("t", "v", partition=index)
        assert producer.flush(30) == 0
        assert {each.partition() for one in (first, second) for each in one.consume(1, 30)} == {0, 1}
        first.commit(asynchronous=False)
        second.close()
        while len(first.assignment()) != 2:
            first.poll(0.01)
        first.close()
        kafka.wait(group="g", state="Empty")

"""Groups that change their protocol while members are in them (group.consumer.migration.policy)."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from kcli.broker import Broker
from kcli.broker.embedded import embedded_broker
from kcli.grammar import messages
from kcli.schemas.apikeys import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, LIST_GROUPS, SYNC_GROUP
from kcli.schemas.errors import error_name
from tests.broker.groups.consumer.test_heartbeats import JOIN, beat, committed
from tests.broker.talk import Talk, run, talking


def metadata(*owned: int, topic: str = "t") -> bytes:
    rows = [{"topic": topic, "partitions": list(owned)}] if owned else []
    value = {"topics": [topic], "userData": None, "ownedPartitions": rows}
    return b"\0\1" + bytes(messages.data("ConsumerProtocolSubscription", 1).write(value))


def assignment(*indexes: int) -> bytes:
    value = {"assignedPartitions": [{"topic": "t", "partitions": list(indexes)}], "userData": None}
    return b"\0\1" + bytes(messages.data("ConsumerProtocolAssignment", 1).write(value))


def assigned(data: bytes) -> list[int]:
    rows = messages.data("ConsumerProtocolAssignment", 1).read(data, 2)[0]["assignedPartitions"]
    return [index for each in rows for index in each["partitions"]]


class Old:
    """A member of the classic protocol."""

    def __init__(self, talk: Talk, member: str = "", instance: str | None = None) -> None:
        self.talk, self.member, self.instance, self.generation = talk, member, instance, -1

    async def join(self, *owned: int, data: bytes | None = None, protocol: str = "cooperative-sticky") -> str:
        body: dict[str, Any] = {"groupId": "g", "sessionTimeoutMs": 10_000, "rebalanceTimeoutMs": 20_000}
        protocols = [{"name": protocol, "metadata": metadata(*owned) if data is None else data}]
        body |= {"memberId": self.member, "groupInstanceId": self.instance, "protocolType": "consumer"}
        answer = await self.talk(JOIN_GROUP, 5, body | {"protocols": protocols})
        self.member, self.generation = answer["memberId"] or self.member, answer["generationId"]
        return error_name(answer["errorCode"])

    async def sync(self, *brought: int) -> list[int] | str:
        rows = [{"memberId": self.member, "assignment": assignment(*brought)}] if brought else []
        body = self.who | {"assignments": rows}
        answer = await self.talk(SYNC_GROUP, 3, body)
        return assigned(answer["assignment"]) if not answer["errorCode"] else error_name(answer["errorCode"])

    async def beat(self) -> str:
        return error_name((await self.talk(HEARTBEAT, 3, self.who))["errorCode"])

    async def leave(self) -> str:
        rows = [{"memberId": self.member, "groupInstanceId": self.instance}]
        answer = await self.talk(LEAVE_GROUP, 3, {"groupId": "g", "members": rows})
        return error_name(answer["members"][0]["errorCode"])

    @property
    def who(self) -> dict[str, Any]:
        named = {"groupId": "g", "memberId": self.member, "groupInstanceId": self.instance}
        return named | {"generationId": self.generation}


async def old_member(talk: Talk) -> Old:
    """One classic member that has both partitions of t."""
    one = Old(talk)
    assert await one.join() == "MEMBER_ID_REQUIRED"
    assert await one.join() == "NONE"
    assert await one.sync(0, 1) == [0, 1]
    return one


async def kind(talk: Talk) -> str:
    (group,) = (await talk(LIST_GROUPS, 5, {"statesFilter": [], "typesFilter": []}))["groups"]
    return str(group["groupType"])


async def new_member(talk: Talk) -> dict[str, Any]:
    return await beat(talk, **JOIN)


def test_a_group_goes_to_the_new_protocol_and_back() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            one = await old_member(talk)
            assert await committed(talk, one.member, one.generation) == "NONE"
            new = await new_member(talk)
            assert (new["errorCode"], new["assignment"]["topicPartitions"]) == (0, [])
            assert await kind(talk) == "consumer"
            # The old member keeps what it is to keep, gives the other partition back, and says so.
            assert await one.beat() == "REBALANCE_IN_PROGRESS"
            assert await one.join(0, 1) == "NONE"
            kept = await one.sync()
            assert isinstance(kept, list) and len(kept) == 1
            assert await one.beat() == "REBALANCE_IN_PROGRESS"
            assert await one.join(*kept) == "NONE" and one.generation == new["memberEpoch"]
            assert await one.sync() == kept and await one.beat() == "NONE"
            told = await beat(talk, memberEpoch=new["memberEpoch"])
            (row,) = told["assignment"]["topicPartitions"]
            assert row["partitions"] == [1 - kept[0]]
            assert await committed(talk, one.member, one.generation) == "NONE"
            assert await committed(talk, one.member, one.generation + 1) == "ILLEGAL_GENERATION"
            await beat(talk, memberEpoch=-1)
            assert await kind(talk) == "classic"
            # Its generation goes on: it commits what it has read, and keeps its partitions over the rebalance.
            assert await one.beat() == "REBALANCE_IN_PROGRESS"
            assert await committed(talk, one.member, one.generation) == "NONE"
            assert await one.join() == "NONE" and await one.sync(0, 1) == [0, 1] and await one.beat() == "NONE"

    run(work())


def test_an_old_member_joins_a_consumer_group() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            new = await new_member(talk)
            one = Old(talk)
            assert await one.join(data=b"") == "INCONSISTENT_GROUP_PROTOCOL"
            assert await one.join() == "MEMBER_ID_REQUIRED" and await one.join() == "NONE"
            assert await one.sync() == [] and await one.beat() == "NONE"
            two = Old(talk, "x")
            assert await two.join(protocol="range") == "INCONSISTENT_GROUP_PROTOCOL"
            told = await beat(talk, memberEpoch=new["memberEpoch"])
            (left,) = told["assignment"]["topicPartitions"]
            owned = [{"topicId": left["topicId"], "partitions": left["partitions"]}]
            await beat(talk, memberEpoch=told["memberEpoch"], topicPartitions=owned)
            # What it waits for is free now: it joins to get it.
            assert await one.beat() == "REBALANCE_IN_PROGRESS"
            assert await one.join() == "NONE" and await one.sync() == [1 - left["partitions"][0]]
            assert await Old(talk, "nobody").leave() == "UNKNOWN_MEMBER_ID"
            assert await one.leave() == "NONE" and await kind(talk) == "consumer"

    run(work())


@pytest.mark.parametrize("instance", [None, "i"])
def test_an_administrator_removes_members_of_the_new_protocol(instance: str | None) -> None:
    """By its id, or a static one by its static id alone (kafka-clients' removeMembersFromConsumerGroup)."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            await beat(talk, **JOIN | {"instanceId": instance})
            row = {"memberId": "" if instance else "m", "groupInstanceId": instance}
            unknown = {"memberId": "", "groupInstanceId": "other"}
            answer = await talk(LEAVE_GROUP, 5, {"groupId": "g", "members": [row, unknown]})
            assert [error_name(each["errorCode"]) for each in answer["members"]] == ["NONE", "UNKNOWN_MEMBER_ID"]
            assert not talk.broker.groups.consumer_group("g", joins=False).members
            assert (
                error_name((await beat(talk, memberEpoch=1, instanceId=instance))["errorCode"]) == "UNKNOWN_MEMBER_ID"
            )

    run(work())


def test_a_silent_old_member_is_removed() -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            one = await old_member(talk)
            await new_member(talk)
            talk.broker.clock.advance(11)
            assert list(talk.broker.groups.consumer_group("g", joins=False).members) == ["m"]
            assert await one.beat() == "UNKNOWN_MEMBER_ID"

    run(work())


@pytest.mark.parametrize(("policy", "goes", "comes"), [("disabled", 0, 0), ("upgrade", 1, 0), ("downgrade", 0, 1)])
def test_the_policy_says_which_way_groups_go(policy: str, goes: int, comes: int) -> None:
    async def work() -> None:
        async with talking(Broker(config={"group.consumer.migration.policy": policy}), topic="t") as talk:
            one = Old(talk)
            assert await one.join() == "MEMBER_ID_REQUIRED" and await one.join() == "NONE"
            answer = await new_member(talk)
            assert error_name(answer["errorCode"]) == ("NONE" if goes else "GROUP_ID_NOT_FOUND")
            if goes:
                await beat(talk, memberEpoch=-1)
                assert await kind(talk) == "consumer"
            elif comes:
                await one.leave()
                await new_member(talk)
                assert await one.join() == "NONE"
                await beat(talk, memberEpoch=-1)
                assert await kind(talk) == "classic"

    run(work())


def test_metadata_that_cannot_be_read_keeps_the_group_classic() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            one = Old(talk, instance="static")
            assert await one.join(data=b"\0") == "NONE"
            assert error_name((await new_member(talk))["errorCode"]) == "GROUP_ID_NOT_FOUND"
            assert await kind(talk) == "classic" and await one.beat() == "NONE"

    run(work())


def test_old_members_of_a_consumer_group_go_on_after_a_restart(tmp_path: Path) -> None:
    async def before() -> Old:
        async with talking(Broker(tmp_path), topic="t", partitions=2) as talk:
            one = await old_member(talk)
            await new_member(talk)
            assert await one.join(0, 1) == "NONE"
            return one

    async def work() -> None:
        one = await before()
        async with talking(Broker(tmp_path)) as talk:
            one.talk = talk
            assert await kind(talk) == "consumer"
            kept = await one.sync()
            assert isinstance(kept, list) and len(kept) == 1

    run(work())


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "range"])
def test_librdkafka_moves_a_group_member_by_member(strategy: str) -> None:
    with embedded_broker(config={"group.consumer.heartbeat.interval.ms": 100}) as kafka:
        kafka.create_topic("t", 4)
        config = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": "g", "fetch.wait.max.ms": "10"}
        classic = {"partition.assignment.strategy": strategy, "heartbeat.interval.ms": "100"}
        old, new = Consumer(config | classic), Consumer(config | {"group.protocol": "consumer"})

        def share(count: int, *members: Consumer) -> None:
            while any(len(each.assignment()) != count for each in members):
                for each in members:
                    each.poll(0.01)

        old.subscribe(["t"])
        share(4, old)
        new.subscribe(["t"])
        share(2, old, new)
        new.close()
        share(4, old)
        old.close()

"""What administrators ask: topics, partitions, configs, leaders, clusters. A row a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.apis import metadata
from kcli.broker.apis.metadata import MAKING_SECONDS
from kcli.records import build_batch
from kcli.schemas.apikeys import (
    ALTER_CONFIGS,
    ALTER_PARTITION_REASSIGNMENTS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_TOPIC_PARTITIONS,
    ELECT_LEADERS,
    FIND_COORDINATOR,
    INCREMENTAL_ALTER_CONFIGS,
    INIT_PRODUCER_ID,
    LIST_OFFSETS,
    LIST_PARTITION_REASSIGNMENTS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
)
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, batch, connected, parts, run, talking


def wanted(name: str, partitions: int = 1, copies: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "numPartitions": partitions, "replicationFactor": copies} | more


async def create(talk: Talk, *topics: dict[str, Any], version: int = 7, **more: Any) -> list[str]:
    answer = await talk(CREATE_TOPICS, version, {"topics": list(topics), "timeoutMs": 1000} | more)
    return [error_name(each["errorCode"]) for each in answer["topics"]]


@pytest.mark.parametrize("version", range(8))
def test_topics_are_made(version: int) -> None:
    async def work() -> None:
        async with talking() as talk:
            assert await create(talk, wanted("a", 3), wanted("b"), version=version) == ["NONE", "NONE"]
            assert len(talk.broker.topics.by_name["a"].partitions) == 3

    run(work())


EXCESS = [
    [wanted("a", 10_001)],
    [wanted("a", 5000), wanted("b", 5000), wanted("c")],
    [wanted(f"t-{number}") for number in range(10_001)],
    [wanted("a", 2**31 - 1), wanted("b", -2)],
    [wanted("a", 10_000), wanted("b", -1)],
    [wanted("a", -1, -1, assignments=[{"partitionIndex": at, "brokerIds": [0]} for at in range(10_001)])],
]


@pytest.mark.parametrize("topics", EXCESS)
@pytest.mark.parametrize("only", [False, True])
def test_a_request_makes_ten_thousand_partitions_at_most(topics: list[dict[str, Any]], only: bool) -> None:
    """As Kafka's ReplicationControlManager has it: none of them is made, and each row says why."""

    async def work() -> None:
        async with talking() as talk:
            found = await create(talk, *topics, validateOnly=only)
            assert found == ["POLICY_VIOLATION"] * len(topics) and not talk.broker.topics.by_name
            grown = {"topics": [{"name": "there", "count": 10_002, "assignments": None}], "validateOnly": only}
            assert await create(talk, wanted("there")) == ["NONE"]
            answer = await talk(CREATE_PARTITIONS, 3, grown | {"timeoutMs": 1000})
            assert error_name(answer["results"][0]["errorCode"]) == "POLICY_VIOLATION"
            assert len(talk.broker.topics.by_name["there"].partitions) == 1

    run(work())


def test_metadata_makes_ten_thousand_topics_at_most() -> None:
    async def work() -> None:
        async with talking() as talk:
            for count, made in ((10_001, 0), (3, 3)):
                asked = [{"name": f"t-{number}"} for number in range(count)]
                answer = await talk(METADATA, 12, {"topics": asked, "allowAutoTopicCreation": True})
                assert {error_name(each["errorCode"]) for each in answer["topics"]} == {"UNKNOWN_TOPIC_OR_PARTITION"}
                talk.broker.clock.advance(MAKING_SECONDS)
                assert len(talk.broker.topics.by_name) == made

    run(work())


REFUSED = [
    (wanted(""), "INVALID_TOPIC_EXCEPTION"),
    (wanted(".."), "INVALID_TOPIC_EXCEPTION"),
    (wanted("../x"), "INVALID_TOPIC_EXCEPTION"),
    (wanted("nul\0"), "INVALID_TOPIC_EXCEPTION"),
    (wanted("__cluster_metadata"), "TOPIC_AUTHORIZATION_FAILED"),
    (wanted("a b"), "INVALID_TOPIC_EXCEPTION"),
    (wanted("x" * 250), "INVALID_TOPIC_EXCEPTION"),
    (wanted("there"), "TOPIC_ALREADY_EXISTS"),
    (wanted("has.dot"), "INVALID_TOPIC_EXCEPTION"),
    (wanted("n", 0), "INVALID_PARTITIONS"),
    (wanted("n", -2), "INVALID_PARTITIONS"),
    (wanted("n", 1, 2), "INVALID_REPLICATION_FACTOR"),
    (wanted("n", -1, -1, assignments=[{"partitionIndex": 1, "brokerIds": [1]}]), "INVALID_REPLICA_ASSIGNMENT"),
    (wanted("n", -1, -1, assignments=[{"partitionIndex": 0, "brokerIds": [9]}]), "INVALID_REPLICA_ASSIGNMENT"),
    (wanted("n", configs=[{"name": "retention.mss", "value": "1"}]), "INVALID_CONFIG"),
    (wanted("n", configs=[{"name": "retention.ms", "value": "soon"}]), "INVALID_CONFIG"),
    (wanted("n", configs=[{"name": "cleanup.policy", "value": "burn"}]), "INVALID_CONFIG"),
]


@pytest.mark.parametrize(("topic", "error"), REFUSED)
def test_topics_that_are_refused(topic: dict[str, Any], error: str) -> None:
    async def work() -> None:
        async with talking(topic="there") as talk:
            talk.broker.create_topic("has_dot")
            assert await create(talk, topic) == [error]
            assert topic["name"] not in talk.broker.topics.by_name or topic["name"] == "there"

    run(work())


def test_defaults_checks_and_doubles() -> None:
    async def work() -> None:
        async with talking(config={"num.partitions": "4"}) as talk:
            assert await create(talk, wanted("n", -1, -1), validateOnly=True) == ["NONE"]
            assert "n" not in talk.broker.topics.by_name
            assert await create(talk, wanted("n", -1, -1)) == ["NONE"]
            assert len(talk.broker.topics.by_name["n"].partitions) == 4
            assert await create(talk, wanted("d"), wanted("d")) == ["INVALID_REQUEST"]

    run(work())


@pytest.mark.parametrize("version", range(7))
def test_topics_are_deleted_with_their_files(version: int, tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            await talk.produce("t", batch("a"))
            assert (tmp_path / "t-0").is_dir()
            topic = talk.broker.topics.by_name["t"]
            body: dict[str, Any] = {"timeoutMs": 1000}
            body |= {"topics": [{"name": None, "topicId": topic.id}]} if version >= 6 else {"topicNames": ["t"]}
            answer = await talk(DELETE_TOPICS, version, body)
            assert [(each["name"], each["errorCode"]) for each in answer["responses"]] == [("t", 0)]
            assert not (tmp_path / "t-0").exists()
            again = await talk(DELETE_TOPICS, version, body)
            missing = "UNKNOWN_TOPIC_ID" if version >= 6 else "UNKNOWN_TOPIC_OR_PARTITION"
            assert error_name(again["responses"][0]["errorCode"]) == missing
            # Made anew it is empty, and another topic.
            assert await create(talk, wanted("t")) == ["NONE"]
            assert talk.broker.topics.by_name["t"].id != topic.id
            assert parts(await talk.fetch(12, ("t", 0, 0)))["t", 0]["highWatermark"] == 0

    run(work())


@pytest.mark.parametrize("version", range(14))
def test_metadata(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t", partitions=2) as talk:
            everything = await talk(METADATA, version, {"topics": [] if version == 0 else None})
            assert [each["name"] for each in everything["topics"]] == ["t"]
            assert [each["nodeId"] for each in everything["brokers"]] == [1]
            assert f"{everything['brokers'][0]['host']}:{everything['brokers'][0]['port']}" == talk.broker.bootstrap
            row = everything["topics"][0]["partitions"][1]
            assert (row["partitionIndex"], row["leaderId"], row["replicaNodes"], row["isrNodes"]) == (1, 1, [1], [1])
            made = (await talk(METADATA, version, {"topics": [{"name": "new"}]}))["topics"][0]
            assert (error_name(made["errorCode"]), made["partitions"]) == ("UNKNOWN_TOPIC_OR_PARTITION", [])
            talk.broker.clock.advance(MAKING_SECONDS)
            made = (await talk(METADATA, version, {"topics": [{"name": "new"}]}))["topics"][0]
            assert (made["errorCode"], len(made["partitions"])) == (0, 1)
            bad = (await talk(METADATA, version, {"topics": [{"name": "a b"}]}))["topics"][0]
            assert error_name(bad["errorCode"]) == "INVALID_TOPIC_EXCEPTION"
            if version >= 4:
                asked: dict[str, Any] = {"topics": [{"name": "other"}], "allowAutoTopicCreation": False}
                row = (await talk(METADATA, version, asked))["topics"][0]
                assert error_name(row["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"
            if version >= 12:
                topic_id = talk.broker.topics.by_name["t"].id
                # Java's consumer asks with an empty name; where ids are given names do not count.
                for name in (None, "", "new"):
                    wanted = [{"topicId": topic_id, "name": name}, {"name": "new"}, {"topicId": topic_id, "name": name}]
                    rows = (await talk(METADATA, version, {"topics": wanted}))["topics"]
                    assert [row["name"] for row in rows] == ["t"]
                rows = (await talk(METADATA, version, {"topics": [{"name": "new"}, {"name": "new"}]}))["topics"]
                assert [row["name"] for row in rows] == ["new"]
                row = (await talk(METADATA, version, {"topics": [{"topicId": "B" * 21 + "A", "name": None}]}))[
                    "topics"
                ][0]
                assert error_name(row["errorCode"]) == "UNKNOWN_TOPIC_ID"

    run(work())


@pytest.mark.parametrize(("release", "error"), [("2.8", "LEADER_NOT_AVAILABLE"), ("3.9", "UNKNOWN_TOPIC_OR_PARTITION")])
def test_a_topic_is_in_the_making_for_a_while(release: str, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a real 2.8.2 with ZooKeeper and a real 3.9.1 without answered."""
    monkeypatch.setattr(metadata, "MAKING_SECONDS", 60)

    async def work() -> None:
        async with talking(release=release) as talk:
            for error_now, count in ((error, 0), (error, 0), ("NONE", 1), ("NONE", 1)):
                made = (await talk(METADATA, 9, {"topics": [{"name": "new"}]}))["topics"][0]
                assert (error_name(made["errorCode"]), len(made["partitions"])) == (error_now, count)
                talk.broker.clock.advance(30)

    run(work())


def test_a_topic_that_was_made_or_cannot_be_any_more_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "MAKING_SECONDS", 60)

    async def work() -> None:
        async with talking() as talk:
            await talk(METADATA, 9, {"topics": [{"name": name} for name in ("here", "a.b", "late")]})
            for name in ("here", "a_b"):
                talk.broker.create_topic(name, 3)
            talk.broker.clock.advance(60)
            found = {each.name: len(each.partitions) for each in talk.broker.topics}
            assert found == {"here": 3, "a_b": 3, "late": 1}

    run(work())


def test_no_topics_by_themselves_where_that_is_off() -> None:
    async def work() -> None:
        async with talking(config={"auto.create.topics.enable": "false"}) as talk:
            row = (await talk(METADATA, 1, {"topics": [{"name": "new"}]}))["topics"][0]
            assert error_name(row["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"

    run(work())


def test_partitions_are_added(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t", partitions=2) as talk:
            rows = [{"name": name, "count": count, "assignments": None} for name, count in (("t", 4), ("t2", 9))]
            answer = await talk(CREATE_PARTITIONS, 3, {"topics": rows, "timeoutMs": 1})
            assert [error_name(each["errorCode"]) for each in answer["results"]] == [
                "NONE",
                "UNKNOWN_TOPIC_OR_PARTITION",
            ]
            answer = await talk(CREATE_PARTITIONS, 0, {"topics": [{"name": "t", "count": 4}], "timeoutMs": 1})
            assert error_name(answer["results"][0]["errorCode"]) == "INVALID_PARTITIONS"
            assert (await talk.produce("t", batch("a"), 3))["errorCode"] == 0

    async def again() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert [each.end_offset for each in talk.broker.topics.by_name["t"].partitions] == [0, 0, 0, 1]

    run(work())
    run(again())


async def configs(talk: Talk, kind: int, name: str) -> dict[str, tuple[str, int]]:
    body = {"resources": [{"resourceType": kind, "resourceName": name, "configurationKeys": None}]}
    answer = (await talk(DESCRIBE_CONFIGS, 4, body))["results"][0]
    assert answer["errorCode"] == 0
    return {each["name"]: (each["value"], each["configSource"]) for each in answer["configs"]}


def test_configs(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path, config={"log.segment.bytes": "5000"}), topic="t") as talk:
            found = await configs(talk, 2, "t")
            assert found["segment.bytes"] == ("5000", 4)
            assert found["cleanup.policy"] == ("delete", 5)
            change = [
                {"name": "retention.ms", "configOperation": 0, "value": "77"},
                {"name": "cleanup.policy", "configOperation": 2, "value": "compact"},
            ]
            body = {"resources": [{"resourceType": 2, "resourceName": "t", "configs": change}], "validateOnly": False}
            assert (await talk(INCREMENTAL_ALTER_CONFIGS, 1, body))["responses"][0]["errorCode"] == 0
            found = await configs(talk, 2, "t")
            assert (found["retention.ms"], found["cleanup.policy"]) == (("77", 1), ("delete,compact", 1))
            back = [{"name": "retention.ms", "configOperation": 1, "value": None}]
            body["resources"] = [{"resourceType": 2, "resourceName": "t", "configs": back}]
            await talk(INCREMENTAL_ALTER_CONFIGS, 0, body)
            bad = [{"name": "retention.ms", "configOperation": 0, "value": "x"}]
            body["resources"] = [{"resourceType": 2, "resourceName": "t", "configs": bad}]
            answer = (await talk(INCREMENTAL_ALTER_CONFIGS, 0, body))["responses"][0]
            assert error_name(answer["errorCode"]) == "INVALID_CONFIG"
            assert "retention.ms=x" in answer["errorMessage"]
            found = await configs(talk, 4, "1")
            assert found["log.segment.bytes"] == ("5000", 4)
            change = [{"name": "log.retention.ms", "configOperation": 0, "value": "99"}]
            body["resources"] = [{"resourceType": 4, "resourceName": "1", "configs": change}]
            assert (await talk(INCREMENTAL_ALTER_CONFIGS, 0, body))["responses"][0]["errorCode"] == 0

    async def again() -> None:
        async with talking(Broker(tmp_path)) as talk:
            found = await configs(talk, 2, "t")
            assert found["cleanup.policy"] == ("delete,compact", 1)
            assert found["retention.ms"] == ("99", 2)
            body = {
                "resources": [
                    {"resourceType": 2, "resourceName": "t", "configs": [{"name": "segment.ms", "value": "5"}]}
                ],
                "validateOnly": False,
            }
            assert (await talk(ALTER_CONFIGS, 2, body))["responses"][0]["errorCode"] == 0
            found = await configs(talk, 2, "t")
            assert (found["cleanup.policy"], found["segment.ms"]) == (("delete", 5), ("5", 1))

    run(work())
    run(again())


def test_what_configs_do() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            topic = talk.broker.topics.by_name["t"]
            talk.broker.controller.configure_topic(topic, {"max.message.bytes": "100", "segment.bytes": "300"})
            assert error_name((await talk.produce("t", batch("x" * 200)))["errorCode"]) == "MESSAGE_TOO_LARGE"
            for _ in range(9):
                await talk.produce("t", batch("x" * 20))
            log = topic.partitions[0].log
            assert log is not None
            assert len(log.segments) >= 3
            talk.broker.controller.configure_topic(topic, {"retention.bytes": "200"})
            talk.broker.replicas.retain()
            assert log.size <= 500
            assert log.start_offset > 0
            talk.broker.controller.configure_topic(topic, {"retention.ms": "1"})
            talk.broker.replicas.retain()
            assert len(log.segments) == 1

    run(work())


def test_records_are_deleted(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t") as talk:
            for _ in range(5):
                await talk.produce("t", batch("a"))
            for offset, low, error in ((3, 3, "NONE"), (2, 3, "NONE"), (9, -1, "OFFSET_OUT_OF_RANGE"), (-1, 5, "NONE")):
                rows = [{"name": "t", "partitions": [{"partitionIndex": 0, "offset": offset}]}]
                answer = await talk(DELETE_RECORDS, 2, {"topics": rows, "timeoutMs": 1})
                row = answer["topics"][0]["partitions"][0]
                assert (row["lowWatermark"], error_name(row["errorCode"])) == (low, error)

    async def again() -> None:
        async with talking(Broker(tmp_path)) as talk:
            assert error_name(parts(await talk.fetch(12, ("t", 0, 4)))["t", 0]["errorCode"]) == "OFFSET_OUT_OF_RANGE"
            assert (await talk.produce("t", batch("a")))["baseOffset"] == 5

    run(work())
    run(again())


@pytest.mark.parametrize("version", range(12))
def test_offsets_by_time(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for time in (1000, 3000, 2000):
                await talk.produce("t", batch("a", "b", time=time))
            rules = {-1: (-1, 6), -2: (-1, 0), 0: (1000, 0), 1001: (1001, 1), 2500: (3000, 2), 3002: (-1, -1)}
            if version >= 7:
                rules[-3] = (3001, 3)
            for when, found in rules.items():
                row: dict[str, Any] = {"partitionIndex": 0, "timestamp": when}
                if version == 0:
                    row["maxNumOffsets"] = 9
                body: dict[str, Any] = {"replicaId": -1, "topics": [{"name": "t", "partitions": [row]}]}
                got = (await talk(LIST_OFFSETS, version, body))["topics"][0]["partitions"][0]
                assert got["errorCode"] == 0
                if version == 0:
                    assert got["oldStyleOffsets"] == {-1: [6, 0], -2: [0]}.get(when, got["oldStyleOffsets"])
                else:
                    assert (got["timestamp"], got["offset"]) == found, when

    run(work())


def test_offsets_for_leader_epochs() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce_in_epochs("t", 0, 2)
            for epoch, found in ((0, (0, 2)), (1, (0, 2)), (2, (2, 4)), (3, (-1, -1))):
                rows = [{"topic": "t", "partitions": [{"partition": 0, "currentLeaderEpoch": 2, "leaderEpoch": epoch}]}]
                answer = await talk(OFFSET_FOR_LEADER_EPOCH, 4, {"replicaId": -1, "topics": rows})
                row = answer["topics"][0]["partitions"][0]
                assert (row["leaderEpoch"], row["endOffset"]) == found

    run(work())


def test_cluster_coordinator_and_producer_ids(tmp_path: Path) -> None:
    seen = set()

    async def work() -> None:
        async with talking(Broker(tmp_path, config={"cluster.id": "my-cluster"})) as talk:
            cluster = await talk(DESCRIBE_CLUSTER, 2, {})
            assert (cluster["clusterId"], [each["brokerId"] for each in cluster["brokers"]]) == ("my-cluster", [1])
            odd = await talk(DESCRIBE_CLUSTER, 1, {"endpointType": 2})
            assert error_name(odd["errorCode"]) == "MISMATCHED_ENDPOINT_TYPE"
            old = await talk(FIND_COORDINATOR, 0, {"key": "g"})
            new = (await talk(FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["g", "h"]}))["coordinators"]
            assert [old["nodeId"], *(each["nodeId"] for each in new)] == [1, 1, 1]
            for _ in range(3):
                got = await talk(INIT_PRODUCER_ID, 4, {"transactionalId": None, "transactionTimeoutMs": 1})
                assert (got["errorCode"], got["producerEpoch"]) == (0, 0)
                assert got["producerId"] not in seen
                seen.add(got["producerId"])
            bumped = {"transactionalId": None, "transactionTimeoutMs": 1, "producerId": 5, "producerEpoch": 3}
            got = await talk(INIT_PRODUCER_ID, 4, bumped)
            assert (got["producerId"], got["producerEpoch"]) == (5, 4)
            two_phases = {"transactionalId": "tx", "transactionTimeoutMs": 1, "enable2Pc": True}
            refused = await talk(INIT_PRODUCER_ID, 6, two_phases)
            assert error_name(refused["errorCode"]) == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"

    # And again after a restart: no id comes twice.
    run(work())
    run(work())


def test_described_topics_come_in_pieces() -> None:
    async def work() -> None:
        async with talking(topic="b", partitions=5) as talk:
            talk.broker.create_topic("a", 2)
            got: list[tuple[str, int]] = []
            cursor = None
            for _ in range(9):
                body = {"topics": [{"name": "b"}, {"name": "a"}, {"name": "no"}], "responsePartitionLimit": 3}
                answer = await talk(DESCRIBE_TOPIC_PARTITIONS, 0, body | {"cursor": cursor})
                got += [
                    (topic["name"], each["partitionIndex"])
                    for topic in answer["topics"]
                    for each in topic["partitions"]
                ]
                cursor = answer["nextCursor"]
                if cursor is None:
                    break
            assert got == [("a", 0), ("a", 1), *(("b", index) for index in range(5))]
            assert error_name(answer["topics"][-1]["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"

    run(work())


def test_leaders_are_moved_by_reassignment_and_election(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path, nodes=3)) as talk:
            talk.broker.create_topic("t", assignment=[(1, 2)])
            partition = talk.broker.topics.by_name["t"].partitions[0]
            row = {"name": "t", "partitions": [{"partitionIndex": 0, "replicas": [2, 1]}]}
            answer = await talk(ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": [row], "timeoutMs": 1})
            assert answer["responses"][0]["partitions"][0]["errorCode"] == 0
            assert (partition.leader, partition.epoch) == (1, 0)
            assert (await talk(LIST_PARTITION_REASSIGNMENTS, 0, {"timeoutMs": 1}))["topics"] == []
            elect = {"electionType": 0, "topicPartitions": [{"topic": "t", "partitions": [0, 5]}], "timeoutMs": 1}
            answer = await talk(ELECT_LEADERS, 2, elect)
            rows = answer["replicaElectionResults"][0]["partitionResult"]
            assert [error_name(each["errorCode"]) for each in rows] == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION"]
            assert (partition.leader, partition.epoch) == (2, 1)
            again = await talk(ELECT_LEADERS, 2, elect | {"topicPartitions": [{"topic": "t", "partitions": [0]}]})
            assert (
                error_name(again["replicaElectionResults"][0]["partitionResult"][0]["errorCode"])
                == "ELECTION_NOT_NEEDED"
            )
            gone = {"name": "t", "partitions": [{"partitionIndex": 0, "replicas": [3]}]}
            await talk(ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": [gone], "timeoutMs": 1})
            assert (partition.leader, partition.epoch) == (3, 2)

    async def again() -> None:
        async with talking(Broker(tmp_path, nodes=3)) as talk:
            partition = talk.broker.topics.by_name["t"].partitions[0]
            assert (partition.leader, partition.epoch, partition.replicas) == (3, 2, (3,))

    run(work())
    run(again())


def test_the_leaders_of_one_request_move_at_once() -> None:
    """One batch of metadata records a request, as KRaft's controller writes it; a partition named twice moves once."""

    async def work() -> None:
        async with talking(nodes=3) as talk:
            topic = talk.broker.create_topic("t", assignment=[(1, 2)] * 100)
            log = talk.broker.metadata.log
            rows = [{"partitionIndex": each, "replicas": [2, 1]} for each in range(100)]
            for key, version, body in (
                (ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": [{"name": "t", "partitions": rows}], "timeoutMs": 1}),
                (ELECT_LEADERS, 2, {"electionType": 0, "topicPartitions": None, "timeoutMs": 1}),
            ):
                before = log.end_offset
                await talk(key, version, body)
                found = log.find(before)
                assert found is not None
                assert (found[1].base_offset, found[1].last_offset + 1) == (before, log.end_offset)
            assert {(each.leader, each.epoch) for each in topic.partitions} == {(2, 1)}
            topic.partitions[0].replicas = (1, 2)
            twice = {"electionType": 0, "topicPartitions": [{"topic": "t", "partitions": [0, 0]}], "timeoutMs": 1}
            await talk(ELECT_LEADERS, 2, twice)
            assert (topic.partitions[0].leader, topic.partitions[0].epoch) == (1, 2)

    run(work())


def test_another_nodes_partition_is_refused_with_a_hint() -> None:
    """KIP-951: CurrentLeader and NodeEndpoints from Produce v10 and Fetch v16 on."""

    async def work() -> None:
        async with talking(nodes=3) as talk:
            talk.broker.create_topic("t", assignment=[(1,), (2,)])
            topic = talk.broker.topics.by_name["t"]
            talk.broker.move_leader(topic.partitions[0], 3)
            row = await talk.produce("t", batch("a"), version=10)
            assert error_name(row["errorCode"]) == "NOT_LEADER_OR_FOLLOWER"
            assert row["currentLeader"] == {"leaderId": 3, "leaderEpoch": 1}
            assert "currentLeader" not in await talk.produce("t", batch("a"), version=9)
            for version in (15, 16):
                answer = await talk.fetch(version, (topic.id, 0, 0), (topic.id, 1, 0))
                reported = [each.get("currentLeader") for each in parts(answer).values()]
                hints = [{"leaderId": 3, "leaderEpoch": 1}, {"leaderId": 2, "leaderEpoch": 0}]
                assert reported == (hints if version >= 16 else [None, None])
                ends = {each["nodeId"]: each["port"] for each in answer.get("nodeEndpoints", ())}
                ports = {node.id: node.port for node in talk.broker.nodes if node.id in (2, 3)}
                assert ends == (ports if version >= 16 else {})
            async with talk.another(2) as third:
                assert (await third.produce("t", batch("a")))["errorCode"] == 0

    run(work())


def test_nobody_but_the_broker_writes_to_internal_topics(tmp_path: Path) -> None:
    """The metadata log is no topic of the clients'; an admin may write to the others (Kafka's ReplicaManager)."""

    async def names(talk: Talk, version: int, *wanted: str) -> dict[str, str]:
        answer = await talk(METADATA, version, {"topics": [{"name": name} for name in wanted]})
        return {each["name"]: error_name(each["errorCode"]) for each in answer["topics"]}

    async def write(talk: Talk, topic: str) -> str:
        return error_name((await talk.produce(topic, batch("x")))["errorCode"])

    async def work() -> None:
        async with talking(data=tmp_path) as talk:
            unlawful = ["../x", "/x", "a b", "nul\0", "..", "x" * 250]
            assert set((await names(talk, 1, *unlawful)).values()) == {"INVALID_TOPIC_EXCEPTION"}
            assert await names(talk, 1, "__cluster_metadata") == {"__cluster_metadata": "UNKNOWN_TOPIC_OR_PARTITION"}
            assert await write(talk, "__cluster_metadata") == "UNKNOWN_TOPIC_OR_PARTITION"
            for name in ("__consumer_offsets", "__transaction_state", "__share_group_state"):
                assert await names(talk, 1, name) == {name: "UNKNOWN_TOPIC_OR_PARTITION"}
                talk.broker.clock.advance(MAKING_SECONDS)
                assert await names(talk, 1, name) == {name: "NONE"}
                topic = talk.broker.topics.by_name[name]
                assert topic.internal
                assert len(topic.partitions) == 50
                assert await write(talk, name) == "INVALID_TOPIC_EXCEPTION"
                asked = {"name": name, "partitions": [{"partitionIndex": 0, "offset": 0}]}
                answer = await talk(DELETE_RECORDS, 2, {"topics": [asked], "timeoutMs": 1000})
                assert error_name(answer["topics"][0]["partitions"][0]["errorCode"]) == "INVALID_TOPIC_EXCEPTION"
            assert talk.broker.topics.by_name["__consumer_offsets"].configs.own == {"cleanup.policy": "compact"}
            async with connected(talk.broker, client_id="__admin_client") as admin:
                keyed = build_batch([(1, b"k", b"x", ())])
                assert (await admin.produce("__transaction_state", keyed))["errorCode"] == 0
        # The folder starts again, and nothing stands where it should not.
        async with talking(data=tmp_path) as talk:
            assert "__transaction_state" in talk.broker.topics.by_name
        folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
        assert folders == {"__cluster_metadata-0", "__transaction_state-0"}

    run(work())

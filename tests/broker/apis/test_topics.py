"""Topics are made, described, grown, moved and deleted by requests. A row a rule."""

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.broker.apis.topics import metadata
from kcli.broker.apis.topics.metadata import MAKING_SECONDS
from kcli.errors import UsageError
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import (
    ALTER_PARTITION_REASSIGNMENTS,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_TOPIC_PARTITIONS,
    ELECT_LEADERS,
    LIST_PARTITION_REASSIGNMENTS,
    METADATA,
)
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import codes, wanted
from tests.broker.talk import Talk, batch, parts, run, talking


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
            body = {"topics": [{"name": "b"}, {"name": "a"}], "responsePartitionLimit": 2, "cursor": None}
            full = await talk(DESCRIBE_TOPIC_PARTITIONS, 0, body)  # with the first topic: nothing of the second
            assert [each["name"] for each in full["topics"]] == ["a"]
            assert full["nextCursor"] == {"topicName": "b", "partitionIndex": 0}
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


NOTHING_ASKED = -(1 << 31)


def test_operations_are_named_to_who_asks() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            body: dict[str, Any] = {"topics": [{"name": "t"}]}
            answer = await talk(METADATA, 9, body)
            assert answer["topics"][0]["topicAuthorizedOperations"] == NOTHING_ASKED
            body |= {"includeClusterAuthorizedOperations": True, "includeTopicAuthorizedOperations": True}
            answer = await talk(METADATA, 9, body)
            assert answer["topics"][0]["topicAuthorizedOperations"] == 3576
            assert answer["clusterAuthorizedOperations"] == 8096
            answer = await talk(keys.DESCRIBE_CLUSTER, 2, {"includeClusterAuthorizedOperations": True})
            assert answer["clusterAuthorizedOperations"] == 8096
            answer = await talk(keys.DESCRIBE_GROUPS, 5, {"groups": ["g"], "includeAuthorizedOperations": True})
            assert answer["groups"][0]["authorizedOperations"] == 3400

    run(work())


def test_the_same_name_but_for_dots(tmp_path: Path) -> None:
    """Two in one request are made both, as Kafka looks only at topics that were there before."""

    async def work() -> None:
        async with talking(data=tmp_path) as talk:
            rows = [{"name": each, "numPartitions": 1, "replicationFactor": 1} for each in ("c.l", "c_l")]
            body = {"topics": rows, "timeoutMs": 1000, "validateOnly": False}
            assert await codes(talk, keys.CREATE_TOPICS, 5, body) == ["NONE", "NONE"]
            body["topics"] = [{"name": "d.l", "numPartitions": 1, "replicationFactor": 1}]
            await talk(keys.CREATE_TOPICS, 5, body)
            body["topics"] = [{"name": "d_l", "numPartitions": 1, "replicationFactor": 1}]
            assert await codes(talk, keys.CREATE_TOPICS, 5, body) == ["INVALID_TOPIC_EXCEPTION"]

    run(work())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"name": "t"}, "already exists"),
        ({"name": "a_b"}, "differs from a.b"),
        ({"name": "n", "partitions": 0}, "0 partitions"),
        ({"name": "n", "partitions": -1}, "-1 partitions"),
        ({"name": "n", "replication": 3}, "3 copies"),
        ({"name": "n", "configs": {"bogus": "1"}}, "bogus: no such config"),
        ({"name": "n", "configs": {"retention.ms": "x"}}, "retention.ms=x"),
        ({"name": "n", "assignment": [(9,)]}, "of the nodes"),
        ({"name": "n", "assignment": [(1, 1)]}, "of the nodes"),
        ({"name": "a b"}, "other characters"),
    ],
    ids=str,
)
def test_a_topic_that_a_program_can_not_make(options: dict[str, Any], said: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("kept"))
            talk.broker.create_topic("a.b")
            with pytest.raises(UsageError) as caught:
                talk.broker.create_topic(**options)
            assert said in str(caught.value)
            assert talk.broker.topics.by_name["t"].partitions[0].end_offset == 1

    run(work())

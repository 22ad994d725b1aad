"""Nodes that stop and start: leaders, in-sync and eligible replicas, coordinators."""

from pathlib import Path
from typing import Any

import pytest

from kcli import UsageError, embedded_broker
from kcli.broker import Broker
from kcli.broker.embedded import EmbeddedBroker
from kcli.broker.metadata.coordinators import Coordinators
from kcli.errors import NetworkError
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import METADATA
from kcli.schemas.errors import error_name
from tests.broker.control.asking import ask, produce
from tests.broker.talk import run

CLUSTER: dict[str, Any] = {"nodes": 3}


def row(kafka: EmbeddedBroker, topic: str = "t", node: int = 0) -> dict[str, Any]:
    answer = ask(kafka, keys.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": topic}]}, node=node)
    found: dict[str, Any] = answer["topics"][0]["partitions"][0]
    return found


def made(kafka: EmbeddedBroker, replicas: tuple[int, ...], **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    kafka.call(lambda broker: broker.create_topic("t", configs=named, assignment=[replicas]))


def test_another_replica_leads() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        made(kafka, (1, 2, 3))
        assert produce(kafka, "t")[0]["errorCode"] == 0
        kafka.stop_node(1)
        with pytest.raises(NetworkError):
            produce(kafka, "t")
        found = row(kafka, node=1)
        assert (found["leaderId"], found["leaderEpoch"]) == (2, 1)
        assert (found["isrNodes"], found["offlineReplicas"], found["replicaNodes"]) == ([2, 3], [1], [1, 2, 3])
        answer = ask(kafka, METADATA, 9, {"topics": None}, node=1)
        assert [each["nodeId"] for each in answer["brokers"]] == [2, 3] and answer["controllerId"] == 2
        assert error_name(produce(kafka, "t", node=2)[0]["errorCode"]) == "NOT_LEADER_OR_FOLLOWER"
        assert produce(kafka, "t", node=1)[0]["baseOffset"] == 1
        kafka.start_node(1)
        found = row(kafka)
        assert (found["leaderId"], found["isrNodes"], found["offlineReplicas"]) == (2, [1, 2, 3], [])
        body = {"electionType": 0, "topicPartitions": [{"topic": "t", "partitions": [0]}], "timeoutMs": 1}
        ask(kafka, keys.ELECT_LEADERS, 2, body)
        assert row(kafka)["leaderId"] == 1


def test_too_few_in_sync_replicas_take_no_write() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        made(kafka, (3, 1), min_insync_replicas="2")
        kafka.stop_node(1)
        assert error_name(produce(kafka, "t", node=2)[0]["errorCode"]) == "NOT_ENOUGH_REPLICAS"
        found = row(kafka, node=2)
        assert (found["isrNodes"], found["eligibleLeaderReplicas"]) == ([3], [1])
        kafka.start_node(1)
        assert produce(kafka, "t", node=2)[0]["errorCode"] == 0
        assert row(kafka)["eligibleLeaderReplicas"] == []


def test_only_an_eligible_replica_leads_again() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        made(kafka, (1, 2))
        kafka.stop_node(2)
        kafka.stop_node(1)
        found = row(kafka, node=2)
        assert (found["leaderId"], found["isrNodes"], found["eligibleLeaderReplicas"]) == (-1, [], [1])
        assert error_name(found["errorCode"]) == "LEADER_NOT_AVAILABLE"
        kafka.start_node(2)
        assert row(kafka, node=2)["leaderId"] == -1
        body = {"electionType": 0, "topicPartitions": [{"topic": "t", "partitions": [0]}], "timeoutMs": 1}
        answer = ask(kafka, keys.ELECT_LEADERS, 2, body, node=1)
        code = answer["replicaElectionResults"][0]["partitionResult"][0]["errorCode"]
        assert error_name(code) == "PREFERRED_LEADER_NOT_AVAILABLE"
        kafka.start_node(1)
        found = row(kafka)
        assert (found["leaderId"], found["isrNodes"], found["eligibleLeaderReplicas"]) == (1, [1, 2], [])


def test_an_unclean_leader_where_that_is_allowed() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        made(kafka, (1, 2), unclean_leader_election_enable="true")
        kafka.stop_node(2)
        kafka.stop_node(1)
        kafka.start_node(2)
        assert row(kafka, node=2)["leaderId"] == 2


def test_an_admin_elects_an_unclean_leader() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        made(kafka, (1, 2))
        kafka.stop_node(2)
        kafka.stop_node(1)
        kafka.start_node(2)
        body = {"electionType": 1, "topicPartitions": [{"topic": "t", "partitions": [0]}], "timeoutMs": 1}
        ask(kafka, keys.ELECT_LEADERS, 2, body, node=2)
        assert row(kafka, node=2)["leaderId"] == 2


def coordinator(kafka: EmbeddedBroker, kind: int, key: str, node: int) -> int:
    answer = ask(kafka, keys.FIND_COORDINATOR, 4, {"keyType": kind, "coordinatorKeys": [key]}, node=node)
    found: int = answer["coordinators"][0]["nodeId"]
    return found


def test_coordinators_are_found_by_hash_and_move() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        names = [f"group-{number}" for number in range(12)]
        places = {name: coordinator(kafka, 0, name, 0) for name in names}
        assert set(places.values()) == {1, 2, 3}
        name, node = next(iter(places.items()))
        other = node % 3 + 1
        kafka.create_topic("t")
        offsets = [{"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 5}]}]
        commit = {"groupId": name, "generationIdOrMemberEpoch": -1, "memberId": "", "topics": offsets}
        answer = ask(kafka, keys.OFFSET_COMMIT, 7, commit, node=other - 1)
        assert error_name(answer["topics"][0]["partitions"][0]["errorCode"]) == "NOT_COORDINATOR"
        answer = ask(kafka, keys.OFFSET_COMMIT, 7, commit, node=node - 1)
        assert answer["topics"][0]["partitions"][0]["errorCode"] == 0
        listed = [ask(kafka, keys.LIST_GROUPS, 4, {}, node=at)["groups"] for at in range(3)]
        assert [len(each) for each in listed] == [at == node - 1 for at in range(3)]
        kafka.stop_node(node)
        moved = coordinator(kafka, 0, name, other - 1)
        assert moved not in (node, -1)
        asked = {"groups": [{"groupId": name, "topics": None}], "requireStable": False}
        answer = ask(kafka, keys.OFFSET_FETCH, 8, asked, node=moved - 1)
        assert answer["groups"][0]["topics"][0]["partitions"][0]["committedOffset"] == 5


def test_transactions_have_a_coordinator_each() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        node = coordinator(kafka, 1, "tx", 0)
        body = {"transactionalId": "tx", "transactionTimeoutMs": 1000}
        for at in range(3):
            code = ask(kafka, keys.INIT_PRODUCER_ID, 4, body, node=at)["errorCode"]
            assert error_name(code) == ("NONE" if at == node - 1 else "NOT_COORDINATOR")
            listed = ask(kafka, keys.LIST_TRANSACTIONS, 0, {"stateFilters": [], "producerIdFilters": []}, node=at)
            assert len(listed["transactionStates"]) == (at == node - 1 and code == 0)


def test_without_a_leader_there_is_no_coordinator() -> None:
    with embedded_broker(nodes=2, config={"offsets.topic.replication.factor": 1}) as kafka:
        names = [f"g{number}" for number in range(9)]
        name = next(each for each in names if coordinator(kafka, 0, each, 0) == 2)
        kafka.stop_node(2)
        answer = ask(kafka, keys.FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": [name]})
        assert error_name(answer["coordinators"][0]["errorCode"]) == "COORDINATOR_NOT_AVAILABLE"


def test_what_can_not_be_stopped_or_started() -> None:
    with embedded_broker(nodes=2) as kafka:
        for call, node in ((kafka.stop_node, 9), (kafka.start_node, 1), (kafka.start_node, 9)):
            with pytest.raises(UsageError):
                call(node)
        kafka.stop_node(1)
        with pytest.raises(UsageError):
            kafka.stop_node(1)
        kafka.create_topic("t", 4, replication=2)
        assert row(kafka, node=1)["isrNodes"] == [2]
        with pytest.raises(UsageError, match="does not run"):
            kafka.move_leader("t", 0, 1)


def test_a_leader_is_moved() -> None:
    with embedded_broker(**CLUSTER) as kafka:
        made(kafka, (1, 2))
        kafka.move_leader("t", 0, 2)
        assert (row(kafka)["leaderId"], kafka.leader("t")) == (2, 2)
        kafka.move_leader("t", 0, 3)
        assert (row(kafka)["leaderId"], row(kafka)["replicaNodes"]) == (3, [3, 2])
        for topic, partition in (("t", 9), ("nope", 0)):
            with pytest.raises(UsageError):
                kafka.move_leader(topic, partition, 1)
        kafka.stop_node(3)
        kafka.stop_node(2)
        assert kafka.leader("t") is None


def test_a_restart_knows_leaders_and_in_sync_replicas(tmp_path: Path) -> None:
    """All nodes run again then, so that whoever was eligible leads."""

    async def work() -> None:
        async with Broker(tmp_path, nodes=2) as broker:
            topic = broker.create_topic("t", configs={"min.insync.replicas": "2"}, assignment=[(1, 2)])
            await broker.stop_node(2)
            await broker.stop_node(1)
            assert (topic.partitions[0].leader, topic.partitions[0].elr) == (-1, (2, 1))
        async with Broker(tmp_path, nodes=2) as broker:
            found = broker.topics.by_name["t"].partitions[0]
            assert (found.leader, found.isr, found.elr, found.epoch) == (2, (1, 2), (), 2)
            assert isinstance(broker.coordinators, Coordinators)

    run(work())

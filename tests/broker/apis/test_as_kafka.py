"""Answers that a real Kafka 4.4.0 gave to the same requests."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.schemas import apikeys as keys
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import altered, codes
from tests.broker.talk import batch, fetch_body, run, talking


def test_a_request_that_names_a_thing_twice() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            body = altered(2, "t", "retention.ms")
            body["resources"][0]["configs"] *= 2
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == ["INVALID_REQUEST"]
            body = altered(2, "t", "retention.ms")
            body["resources"] *= 2
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == ["INVALID_REQUEST"] * 2
            at = [{"partitionIndex": 0, "timestamp": -1}, {"partitionIndex": 0, "timestamp": -2}]
            body = {"replicaId": -1, "isolationLevel": 0, "topics": [{"name": "t", "partitions": at}]}
            assert await codes(talk, keys.LIST_OFFSETS, 8, body) == ["INVALID_REQUEST"] * 2

    run(work())


UNKNOWN_ID = "AAAAAAAAAAAAAAAAAAAAZg"
SOFTWARE = {"clientSoftwareName": "a", "clientSoftwareVersion": "1"}
NEW = {"name": "new", "numPartitions": 1, "replicationFactor": 1}
IN_T = {"name": "t", "partitions": [{"partitionIndex": 9, "committedOffset": 1}]}
TX = {"transactionalId": "x", "transactionTimeoutMs": 1000}
AT_0 = {"partition": 0, "currentLeaderEpoch": -5, "leaderEpoch": 0}
EPOCH_OF_T = {"replicaId": -1, "topics": [{"topic": "t", "partitions": [AT_0]}]}
ACL: dict[str, Any] = {"resourceType": 1, "resourceName": "t", "resourcePatternType": 3, "principal": "User:a"}
ACL |= {"host": "*", "operation": 3, "permissionType": 3}


def fetched(epoch: int, known: int) -> dict[str, Any]:
    at = {"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 9, "currentLeaderEpoch": epoch}
    body: dict[str, Any] = {
        "maxWaitMs": 0,
        "minBytes": 0,
        "sessionEpoch": -1,
        "replicaId": -1,
        "maxBytes": 9,
        "isolationLevel": 0,
    }
    body |= {"topics": [{"topic": "t", "partitions": [at | {"lastFetchedEpoch": known}]}]}
    return body | {"sessionId": 0, "forgottenTopicsData": []}


# Found by sending each API's first and last version with empty and extreme values to both brokers.
EXTREMES: list[tuple[int, int, dict[str, Any], str]] = [
    (keys.API_VERSIONS, 5, SOFTWARE | {"clusterId": "other", "nodeId": 1}, "REBOOTSTRAP_REQUIRED"),
    (keys.API_VERSIONS, 5, SOFTWARE | {"nodeId": 1}, "INVALID_REQUEST"),
    (keys.CREATE_TOPICS, 7, {"topics": [NEW], "timeoutMs": 0}, "REQUEST_TIMED_OUT"),
    (keys.DELETE_TOPICS, 6, {"topics": [{"name": "t"}], "timeoutMs": -1}, "REQUEST_TIMED_OUT"),
    (keys.CREATE_PARTITIONS, 3, {"topics": [{"name": "t", "count": 4}], "timeoutMs": 0}, "REQUEST_TIMED_OUT"),
    (keys.ELECT_LEADERS, 2, {"topicPartitions": None, "timeoutMs": 0}, "REQUEST_TIMED_OUT"),
    (keys.FETCH, 12, fetched(-5, -1), "NONE NONE"),
    (keys.FETCH, 12, fetched(-1, 1), "NONE OFFSET_OUT_OF_RANGE"),
    (keys.FIND_COORDINATOR, 6, {"keyType": 2, "coordinatorKeys": [f"g:{UNKNOWN_ID}:0"]}, "NONE"),
    (keys.FIND_COORDINATOR, 6, {"keyType": 2, "coordinatorKeys": ["g"]}, "INVALID_REQUEST"),
    (keys.OFFSET_FOR_LEADER_EPOCH, 4, EPOCH_OF_T, "FENCED_LEADER_EPOCH"),
    (keys.HEARTBEAT, 4, {"groupId": "", "generationId": 1, "memberId": "m"}, "INVALID_GROUP_ID"),
    (keys.OFFSET_DELETE, 0, {"groupId": "", "topics": []}, "INVALID_GROUP_ID"),
    (keys.ALTER_SHARE_GROUP_OFFSETS, 0, {"groupId": "", "topics": []}, "INVALID_GROUP_ID"),
    (keys.DELETE_SHARE_GROUP_OFFSETS, 0, {"groupId": "", "topics": []}, "INVALID_GROUP_ID"),
    (keys.DELETE_GROUPS, 2, {"groupsNames": ["g", "g"]}, "GROUP_ID_NOT_FOUND"),
    (keys.OFFSET_COMMIT, 9, {"groupId": "g", "topics": [IN_T]}, "UNKNOWN_TOPIC_OR_PARTITION"),
    (keys.OFFSET_FETCH, 7, {"groupId": "g", "topics": [{"name": "", "partitionIndexes": [0]}]}, "NONE NONE"),
    (keys.INIT_PRODUCER_ID, 5, TX | {"producerId": 5, "producerEpoch": -1}, "INVALID_REQUEST"),
    (keys.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "a b", "partitionIndexes": [0]}]}, "INVALID_TOPIC_EXCEPTION"),
    (keys.DESCRIBE_CONFIGS, 4, {"resources": [{"resourceType": 2, "resourceName": ""}]}, "INVALID_TOPIC_EXCEPTION"),
    (
        keys.DESCRIBE_CONFIGS,
        4,
        {"resources": [{"resourceType": each, "resourceName": "t"} for each in (2, 99)]},
        "INVALID_REQUEST INVALID_REQUEST",
    ),
    (keys.CREATE_ACLS, 3, {"creations": [ACL]}, "SECURITY_DISABLED"),
    (
        keys.SHARE_GROUP_HEARTBEAT,
        1,
        {"groupId": "g", "memberId": "m" * 37, "memberEpoch": 0, "subscribedTopicNames": ["t"]},
        "INVALID_REQUEST",
    ),
    (keys.LIST_CONFIG_RESOURCES, 1, {"resourceTypes": [32]}, "NONE"),
]


def test_a_follower_answers_consumers() -> None:
    """From Fetch v11 on (KIP-392), and in the leader's epoch; a node without a replica does not."""

    async def work() -> None:
        async with talking(nodes=3) as talk:
            talk.broker.create_topic("t", 1, replication=2)
            leader, follower = talk.broker.topics.by_name["t"].partitions[0].replicas
            (stranger,) = {1, 2, 3} - {leader, follower}
            body = fetched(-1, -1)
            old = {name: value for name, value in body["topics"][0]["partitions"][0].items() if "Epoch" not in name}
            before = body | {"topics": [{"topic": "t", "partitions": [old | {"currentLeaderEpoch": -1}]}]}
            named = {"topics": [{"name": "t", "partitionIndexes": [0]}]}
            for node, error in ((follower, "NONE"), (stranger, "NOT_LEADER_OR_FOLLOWER")):
                async with talk.another(node - 1) as other:
                    assert await codes(other, keys.FETCH, 12, body) == ["NONE", error]
                    assert await codes(other, keys.FETCH, 12, fetched(1, -1)) != ["NONE", "NONE"]
                    assert await codes(other, keys.FETCH, 10, before) == ["NONE", "NOT_LEADER_OR_FOLLOWER"]
                    assert await codes(other, keys.DESCRIBE_PRODUCERS, 0, named) == [error]

    run(work())


def test_empty_and_extreme_values() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for api, version, body, found in EXTREMES:
                assert " ".join(await codes(talk, api, version, body)) == found, (api, body)
            assert [each.name for each in talk.broker.topics if not each.internal] == ["t"]
            body = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "replicas": [0, 1]}]}]}
            body |= {"timeoutMs": 1000, "allowReplicationFactorChange": False}
            answer = await talk(keys.ALTER_PARTITION_REASSIGNMENTS, 1, body)
            assert answer["allowReplicationFactorChange"] is False

    run(work())


def test_requests_that_contradict_themselves() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            named = [{"name": "t", "topicId": UNKNOWN_ID}, {"name": None}, {"name": "t"}, {"name": "t"}]
            body: dict[str, Any] = {"topics": named, "timeoutMs": 1000}
            assert await codes(talk, keys.DELETE_TOPICS, 6, body) == ["INVALID_REQUEST"] * 3  # and t is not deleted
            body = {"electionType": 5, "timeoutMs": 1000, "topicPartitions": [{"topic": "t", "partitions": [0]}]}
            assert await codes(talk, keys.ELECT_LEADERS, 2, body) == ["INVALID_REQUEST"] * 2
            body = {"transactionalIds": ["no", ""]}
            found = ["TRANSACTIONAL_ID_NOT_FOUND", "INVALID_REQUEST"]
            assert await codes(talk, keys.DESCRIBE_TRANSACTIONS, 0, body) == found
            beat = {"groupId": "g", "memberId": "m", "memberEpoch": 0, "rebalanceTimeoutMs": 1000}
            beat |= {"subscribedTopicNames": None, "subscribedTopicRegex": "(", "topicPartitions": []}
            assert await codes(talk, keys.CONSUMER_GROUP_HEARTBEAT, 1, beat) == ["INVALID_REGULAR_EXPRESSION"]
            # No group was made for it.
            body = beat | {"memberEpoch": -1, "subscribedTopicRegex": None}
            assert await codes(talk, keys.CONSUMER_GROUP_HEARTBEAT, 1, body) == ["GROUP_ID_NOT_FOUND"]

    run(work())


def test_a_commit_to_an_unknown_topic_and_by_an_unknown_member() -> None:
    """Kafka looks at the topics before it asks the group."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            topics = [{"name": name, "partitions": [{"partitionIndex": 0, "committedOffset": 1}]} for name in "tu"]
            body = {"groupId": "g", "generationIdOrMemberEpoch": 3, "memberId": "m", "topics": topics}
            found = ["GROUP_ID_NOT_FOUND", "UNKNOWN_TOPIC_OR_PARTITION"]
            assert await codes(talk, keys.OFFSET_COMMIT, 9, body) == found

    run(work())


@pytest.mark.parametrize(
    ("api", "body"),
    [
        (keys.CREATE_DELEGATION_TOKEN, {"renewers": [], "maxLifetimeMs": -1}),
        (keys.RENEW_DELEGATION_TOKEN, {"hmac": b"1", "renewPeriodMs": 1}),
        (keys.EXPIRE_DELEGATION_TOKEN, {"hmac": b"1", "expiryTimePeriodMs": 1}),
        (keys.DESCRIBE_DELEGATION_TOKEN, {"owners": None}),
    ],
)
def test_delegation_tokens_are_refused(api: int, body: dict[str, Any]) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert await codes(talk, api, 2, body) == ["DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"]

    run(work())


NOT_HOSTED = "This server does not host this topic-partition."


ELECTED: dict[str, Any] = {"electionType": 0, "timeoutMs": 1000}


MOVED: dict[str, Any] = {"name": "t", "partitions": [{"partitionIndex": 9, "replicas": [1]}]}


GROWN: dict[str, Any] = {"timeoutMs": 1000, "validateOnly": False}


# Requests, and what the only row that has one, or the answer itself, says besides its code.
TEXTS: list[tuple[int, int, dict[str, Any], str, str | None]] = [
    (keys.FIND_COORDINATOR, 6, {"keyType": 0, "coordinatorKeys": ["g"]}, "NONE", ""),
    (keys.FIND_COORDINATOR, 3, {"keyType": 0, "key": "g"}, "NONE", "NONE"),
    (keys.DELETE_TOPICS, 6, {"topics": [{"name": "no"}], "timeoutMs": 1000}, "UNKNOWN_TOPIC_OR_PARTITION", NOT_HOSTED),
    (
        keys.DESCRIBE_PRODUCERS,
        0,
        {"topics": [{"name": "no", "partitionIndexes": [0]}]},
        "UNKNOWN_TOPIC_OR_PARTITION",
        NOT_HOSTED,
    ),
    (
        keys.DESCRIBE_CONFIGS,
        4,
        {"resources": [{"resourceType": 2, "resourceName": "t", "configurationKeys": None}]},
        "NONE",
        "",
    ),
    (
        keys.DESCRIBE_CONFIGS,
        4,
        {"resources": [{"resourceType": 2, "resourceName": "no", "configurationKeys": None}]},
        "UNKNOWN_TOPIC_OR_PARTITION",
        "",
    ),
    (keys.DESCRIBE_CLIENT_QUOTAS, 1, {"components": [], "strict": False}, "NONE", ""),
    (keys.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": None}, "NONE", ""),
    (keys.DESCRIBE_CLUSTER, 2, {"endpointType": 7}, "UNSUPPORTED_ENDPOINT_TYPE", "Unsupported endpoint type 7"),
    (
        keys.ELECT_LEADERS,
        2,
        ELECTED | {"topicPartitions": [{"topic": "t", "partitions": [0]}]},
        "ELECTION_NOT_NEEDED",
        "Leader election not needed for topic partition.",
    ),
    (
        keys.ELECT_LEADERS,
        2,
        ELECTED | {"topicPartitions": [{"topic": "no", "partitions": [0]}]},
        "UNKNOWN_TOPIC_OR_PARTITION",
        "No such topic as no",
    ),
    (
        keys.ALTER_PARTITION_REASSIGNMENTS,
        1,
        {"timeoutMs": 1000, "topics": [MOVED]},
        "UNKNOWN_TOPIC_OR_PARTITION",
        "Unable to find partition t:9.",
    ),
    (
        keys.CREATE_PARTITIONS,
        3,
        GROWN | {"topics": [{"name": "no", "count": 2, "assignments": None}]},
        "UNKNOWN_TOPIC_OR_PARTITION",
        None,
    ),
    (
        keys.INCREMENTAL_ALTER_CONFIGS,
        1,
        altered(2, "no", "retention.ms", 0, "5"),
        "UNKNOWN_TOPIC_OR_PARTITION",
        "The topic 'no' does not exist.",
    ),
]


def said(answer: dict[str, Any]) -> list[tuple[str, str | None]]:
    """All error codes by name and what is said besides, the innermost last."""
    found = [(error_name(answer["errorCode"]), answer["errorMessage"])] if "errorMessage" in answer else []
    for value in answer.values():
        for row in value if isinstance(value, list) else ():
            found += said(row) if isinstance(row, dict) else []
    return found


def test_texts_beside_the_codes() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for api, version, body, code, text in TEXTS:
                assert said(await talk(api, version, body))[-1] == (code, text), (api, body)

    run(work())


def test_what_is_asked_of_topics_that_are_not_there() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for body in (altered(2, "no", "bogus"), altered(2, "no", "retention.ms", 0, "abc")):
                assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == ["INVALID_CONFIG"]
            body = altered(2, "no", "bogus", 1, None)
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == ["UNKNOWN_TOPIC_OR_PARTITION"]
            grown = GROWN | {"topics": [{"name": "t", "count": 2, "assignments": []}]}
            assert await codes(talk, keys.CREATE_PARTITIONS, 3, grown) == ["INVALID_REPLICA_ASSIGNMENT"]
            elected = await talk(keys.ELECT_LEADERS, 2, ELECTED | {"topicPartitions": None})
            assert elected["replicaElectionResults"] == [{"topic": "t", "partitionResult": []}]
            asked = {"topics": [{"name": "no"}], "responsePartitionLimit": 5}
            (row,) = (await talk(keys.DESCRIBE_TOPIC_PARTITIONS, 0, asked))["topics"]
            assert row["topicAuthorizedOperations"] == 3576
            new = {"name": "t", "numPartitions": 1, "replicationFactor": 1}
            (row,) = (await talk(keys.CREATE_TOPICS, 7, {"topics": [new], "timeoutMs": 1000}))["topics"]
            assert row["configs"] == []
            (row,) = (await talk(keys.DESCRIBE_TRANSACTIONS, 0, {"transactionalIds": ["no"]}))["transactionStates"]
            names = ("producerId", "producerEpoch", "transactionStartTimeMs")
            assert [row[name] for name in names] == [0, 0, 0]

    run(work())


def test_a_fetch_that_reads_nothing() -> None:
    """An unknown partition has no aborted transactions, and of one that can't be read they are unknown."""

    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("a"))
            for topic, offset, limit, isolation, error, aborted in (
                ("u", 0, 9, 0, "UNKNOWN_TOPIC_OR_PARTITION", []),
                ("u", 0, 9, 1, "UNKNOWN_TOPIC_OR_PARTITION", []),
                ("t", 5, 9, 1, "OFFSET_OUT_OF_RANGE", None),
                ("t", 0, -1, 1, "UNKNOWN_SERVER_ERROR", None),
                ("t", 1, -1, 1, "NONE", []),
                ("t", 1, 9, 0, "NONE", None),
            ):
                answer = await talk.fetch(12, (topic, 0, offset), part_bytes=limit, isolation=isolation)
                (row,) = answer["responses"][0]["partitions"]
                assert (error_name(row["errorCode"]), row["abortedTransactions"]) == (error, aborted)
            body = fetch_body(12, ("t", 0, 0), max_bytes=-1)
            assert await codes(talk, keys.FETCH, 12, body) == ["NONE", "UNKNOWN_SERVER_ERROR"]

    run(work())


def test_partitions_are_added_to_each_node_once() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for nodes, error in (
                ([], "INVALID_REPLICA_ASSIGNMENT"),
                ([1, 1], "INVALID_REPLICA_ASSIGNMENT"),
                ([1], "NONE"),
            ):
                wanted = {"name": "t", "count": 2, "assignments": [{"brokerIds": nodes}]}
                body = {"topics": [wanted], "timeoutMs": 1000, "validateOnly": True}
                assert await codes(talk, keys.CREATE_PARTITIONS, 3, body) == [error]

    run(work())


def test_a_cursor_is_of_a_topic_that_is_asked_for() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for name, index, found in (("t", 0, "NONE"), ("u", 0, "INVALID_REQUEST"), ("t", -1, "INVALID_REQUEST")):
                cursor = {"topicName": name, "partitionIndex": index}
                body = {"topics": [{"name": "t"}], "responsePartitionLimit": 9, "cursor": cursor}
                answer = await talk(keys.DESCRIBE_TOPIC_PARTITIONS, 0, body)
                assert [error_name(each["errorCode"]) for each in answer["topics"]] == [found]

    run(work())


def test_configs_of_lists_and_threads() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            for kind, name, key, operation, value, found in (
                (2, "", "retention.ms", 2, "1", "INVALID_CONFIG"),  # before the name
                (2, "", "cleanup.policy", 2, "compact", "INVALID_REQUEST"),
                (16, "m", "metrics", 2, "a", "INVALID_CONFIG"),
                (4, "1", "num.io.threads", 0, "16", "NONE"),
                (4, "1", "num.io.threads", 0, "33", "INVALID_REQUEST"),
                (4, "1", "num.io.threads", 0, "7", "INVALID_REQUEST"),
                (4, "1", "num.replica.fetchers", 0, "0", "INVALID_REQUEST"),
                (4, "1", "advertised.listeners", 1, None, "NONE"),
            ):
                body = altered(kind, name, key, operation, value)
                assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == [found], (name, key, value)

    run(work())


def test_a_topic_s_name_that_cannot_be() -> None:
    async def work() -> None:
        async with talking() as talk:
            body = {"topics": [{"name": "a b"}, {"name": "no"}], "responsePartitionLimit": 9, "cursor": None}
            assert await codes(talk, keys.DESCRIBE_TOPIC_PARTITIONS, 0, body) == [
                "INVALID_TOPIC_EXCEPTION",
                "UNKNOWN_TOPIC_OR_PARTITION",
            ]

    run(work())


def test_offsets_of_partitions_that_are_not_there_are_not_deleted() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            committed = {"partitionIndex": 0, "committedOffset": 2, "committedMetadata": ""}
            body: dict[str, Any] = {"groupId": "g", "generationIdOrMemberEpoch": -1, "memberId": ""}
            await talk(keys.OFFSET_COMMIT, 8, body | {"topics": [{"name": "t", "partitions": [committed]}]})
            wanted = [("t", [0, 9]), ("no", [0])]
            topics = [{"name": name, "partitions": [{"partitionIndex": n} for n in each]} for name, each in wanted]
            found = await codes(talk, keys.OFFSET_DELETE, 0, {"groupId": "g", "topics": topics})
            assert found == ["NONE", "NONE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"]

    run(work())


def test_a_user_s_credentials_change_once_in_a_request_be_it_by_two_mechanisms() -> None:
    def made(mechanism: int, iterations: int = 4096) -> dict[str, Any]:
        return {"name": "u", "mechanism": mechanism, "iterations": iterations, "salt": "AAAA", "saltedPassword": "AAAA"}

    async def work() -> None:
        async with talking() as talk:
            api = keys.ALTER_USER_SCRAM_CREDENTIALS
            for upserts, code in (
                ([made(1), made(2)], "DUPLICATE_RESOURCE"),
                ([made(1), made(1, 10)], "UNACCEPTABLE_CREDENTIAL"),
                ([made(1)], "NONE"),
            ):
                assert await codes(talk, api, 0, {"deletions": [], "upsertions": upserts}) == [code]
            body = {"deletions": [{"name": "u", "mechanism": 1}], "upsertions": [made(2)]}
            assert await codes(talk, api, 0, body) == ["DUPLICATE_RESOURCE"]
            body = {"deletions": [{"name": "u", "mechanism": 2}], "upsertions": [made(2)]}
            assert await codes(talk, api, 0, body) == ["RESOURCE_NOT_FOUND"]

    run(work())


def test_a_reassignment_that_is_refused_as_a_whole_names_each_partition() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            talk.broker.faults.add("api=AlterPartitionReassignments,error=CLUSTER_AUTHORIZATION_FAILED")
            body = {"topics": [MOVED], "timeoutMs": 1000}
            found = await codes(talk, keys.ALTER_PARTITION_REASSIGNMENTS, 0, body)
            assert found == ["CLUSTER_AUTHORIZATION_FAILED"] * 2

    run(work())

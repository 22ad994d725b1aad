"""Answers that a real Kafka 4.4.0 gave to the same requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kcli.broker import Broker
from kcli.errors import UsageError
from kcli.records import build_batch
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import METADATA
from kcli.schemas.errors import error_name
from tests.broker.talk import Talk, batch, parts, run, talking

NOTHING_ASKED = -(1 << 31)


async def codes(talk: Talk, api: int, version: int, body: dict[str, Any]) -> list[str]:
    """All error codes of an answer by name, in its order."""
    found: list[str] = []

    def walk(value: object) -> None:
        for name, inner in value.items() if isinstance(value, dict) else ():
            if name.lower().endswith("errorcode"):
                found.append(error_name(inner))
            walk(inner)
        for inner in value if isinstance(value, list) else ():
            walk(inner)

    walk(await talk(api, version, body))
    return found


def altered(kind: int, name: str, key: str, operation: int = 0, value: str | None = "1") -> dict[str, Any]:
    change = {"name": key, "configOperation": operation, "value": value}
    return {"resources": [{"resourceType": kind, "resourceName": name, "configs": [change]}], "validateOnly": False}


ALTERED = [
    (altered(4, "1", "node.id"), "INVALID_REQUEST"),
    (altered(4, "1", "a.plugins.own"), "NONE"),
    (altered(4, "7", "log.cleaner.threads"), "INVALID_REQUEST"),
    (altered(4, "abc", "log.cleaner.threads"), "INVALID_REQUEST"),
    (altered(4, "", "log.cleaner.threads", 0, "abc"), "INVALID_REQUEST"),
    (altered(4, "1", "log.cleaner.threads", 0, "2"), "NONE"),
    (altered(4, "", "log.retention.ms", 0, None), "INVALID_REQUEST"),
    (altered(4, "", "log.retention.ms", 7), "INVALID_REQUEST"),
    (altered(4, "", "log.retention.ms", 2), "INVALID_CONFIG"),
    (altered(4, "", "log.cleanup.policy", 2, "compact"), "NONE"),
    (altered(4, "", "min.insync.replicas", 0, "2"), "NONE"),
    (altered(4, "", "min.insync.replicas", 1, None), "INVALID_CONFIG"),
    (altered(4, "1", "min.insync.replicas", 0, "2"), "INVALID_CONFIG"),
    (altered(32, "g", "consumer.session.timeout.ms", 0, "50000"), "NONE"),
    (altered(32, "g", "consumer.session.timeout.ms", 0, "5"), "INVALID_CONFIG"),
    (altered(32, "g", "bogus"), "INVALID_CONFIG"),
    (altered(32, "", "consumer.session.timeout.ms", 0, "50000"), "INVALID_REQUEST"),
    (altered(16, "m", "interval.ms", 0, "50000"), "NONE"),
    (altered(16, "m", "interval.ms", 0, "5"), "INVALID_REQUEST"),
    (altered(16, "m", "bogus"), "INVALID_REQUEST"),
    (altered(16, "m", "match", 0, "foo"), "INVALID_CONFIG"),
    (altered(16, "m", "match", 0, "client_id=a.*"), "NONE"),
    (altered(16, "", "interval.ms", 0, "50000"), "INVALID_REQUEST"),
    (altered(8, "1", "root", 0, "DEBUG"), "NONE"),
    (altered(8, "1", "root", 0, "LOUD"), "INVALID_CONFIG"),
    (altered(8, "1", "root", 1, None), "INVALID_REQUEST"),
    (altered(8, "1", "kafka", 2, "INFO"), "INVALID_REQUEST"),
    (altered(8, "2", "root", 0, "INFO"), "INVALID_REQUEST"),
    (altered(1, "x", "a"), "INVALID_REQUEST"),
    (altered(2, "a b", "retention.ms"), "INVALID_TOPIC_EXCEPTION"),
    (altered(2, "", "retention.ms"), "INVALID_REQUEST"),
    (altered(2, "t", "min.cleanable.dirty.ratio", 0, "2"), "INVALID_CONFIG"),
    (altered(2, "t", "retention.ms", 0, "-2"), "INVALID_CONFIG"),
    (altered(2, "t", "retention.bytes", 0, "-5"), "NONE"),
    (altered(2, "t", "cleanup.policy", 0, ""), "NONE"),
    (altered(2, "t", "compression.gzip.level", 0, "0"), "INVALID_CONFIG"),
    (altered(2, "t", "leader.replication.throttled.replicas", 0, "x"), "INVALID_CONFIG"),
    (altered(2, "t", "leader.replication.throttled.replicas", 0, "0:1,1:1"), "NONE"),
]


@pytest.mark.parametrize(("body", "code"), ALTERED, ids=lambda each: each if isinstance(each, str) else None)
def test_configs_that_are_altered(body: dict[str, Any], code: str) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, body) == [code]

    run(work())


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


async def described(talk: Talk, kind: int, name: str, **more: Any) -> dict[str, dict[str, Any]]:
    resource = {"resourceType": kind, "resourceName": name, "configurationKeys": more.pop("names", None)}
    answer = (await talk(keys.DESCRIBE_CONFIGS, 4, {"resources": [resource], **more}))["results"][0]
    assert answer["errorCode"] == 0, answer
    return {each["name"]: each for each in answer["configs"]}


def test_eligible_leaders_need_one_min_insync_replicas_for_all_brokers() -> None:
    async def work() -> None:
        async with talking(config={"min.insync.replicas": "3"}, topic="t") as talk:
            kept = (await described(talk, 2, "t"))["min.insync.replicas"]
            assert (kept["value"], kept["configSource"]) == ("3", 3)
            update = {"feature": "eligible.leader.replicas.version", "maxVersionLevel": 0, "upgradeType": 2}
            body: dict[str, Any] = {"timeoutMs": 1000, "featureUpdates": [update], "validateOnly": False}
            assert await codes(talk, keys.UPDATE_FEATURES, 1, body) == ["NONE", "NONE"]
            own = altered(4, "1", "min.insync.replicas", 0, "2")
            assert await codes(talk, keys.INCREMENTAL_ALTER_CONFIGS, 1, own) == ["NONE"]
            assert (await described(talk, 2, "t"))["min.insync.replicas"]["value"] == "2"
            update |= {"maxVersionLevel": 1, "upgradeType": 1}
            assert await codes(talk, keys.UPDATE_FEATURES, 1, body) == ["NONE", "NONE"]
            assert (await described(talk, 2, "t"))["min.insync.replicas"]["value"] == "3"

    run(work())


def test_configs_are_described_with_where_they_come_from() -> None:
    async def work() -> None:
        async with talking(config={"log.retention.hours": "2"}, topic="t") as talk:
            assert len(await described(talk, 2, "t")) == 37
            broker = await described(talk, 4, "1")
            assert len(broker) == 350
            assert broker["advertised.listeners"]["value"] == f"PLAINTEXT://{talk.broker.bootstrap}"
            assert broker["listeners"]["configSource"] == 4
            assert list(await described(talk, 4, "")) == ["min.insync.replicas"]
            assert (await described(talk, 2, "t"))["retention.ms"]["value"] == str(2 * 3600 * 1000)
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "", "log.retention.ms", 0, "5000"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "1", "log.retention.ms", 0, "6000"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(4, "", "mine", 0, "secret"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(2, "t", "retention.ms", 0, "7000"))
            rows = await described(talk, 2, "t", names=["retention.ms"], includeSynonyms=True)
            assert [tuple(each.values()) for each in rows["retention.ms"]["synonyms"]] == [
                ("retention.ms", "7000", 1),
                ("log.retention.ms", "6000", 2),
                ("log.retention.ms", "5000", 3),
                ("log.retention.hours", "2", 4),
                ("log.retention.hours", "168", 5),
            ]
            rows = await described(talk, 4, "")
            assert rows["log.retention.ms"]["value"] == "5000"
            assert (rows["mine"]["value"], rows["mine"]["isSensitive"]) == (None, True)
            assert (await described(talk, 8, "1"))["root"]["value"] == "INFO"
            rows = await described(talk, 32, "g", includeSynonyms=True)
            assert rows["share.session.timeout.ms"]["synonyms"][0]["name"] == "group.share.session.timeout.ms"
            assert len(rows) == 21 and len(await described(talk, 16, "m")) == 3

    run(work())


def test_a_config_is_not_said_to_come_from_one_that_stands_in_for_it() -> None:
    async def work() -> None:
        async with talking(config={"log.retention.hours": "2"}, topic="t") as talk:
            topic = await described(talk, 2, "t", includeSynonyms=True)
            shown = ("value", "configSource", "synonyms")
            assert [topic["retention.ms"][each] for each in shown] == ["7200000", 5, []]
            assert [topic["flush.ms"][each] for each in shown] == [str((1 << 63) - 1), 5, []]
            assert topic["segment.jitter.ms"]["synonyms"] == []
            broker = await described(talk, 4, "1", includeSynonyms=True)
            assert [broker["log.retention.ms"][each] for each in shown] == [None, 5, []]
            assert [each["source"] for each in broker["log.retention.hours"]["synonyms"]] == [4, 5]
            assert (await described(talk, 8, "1", includeSynonyms=True))["root"]["synonyms"] == []

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


def test_configs_are_documented_where_that_is_asked_for() -> None:
    async def work() -> None:
        async with talking(topic="t", config={"remote.read.latency.ms": "1"}) as talk:
            rows = await described(talk, 4, "1", includeDocumentation=True)
            assert rows["log.retention.ms"]["documentation"] == "As Apache Kafka's broker config log.retention.ms."
            assert "no effect" in rows["log.flush.interval.ms"]["documentation"]
            assert rows["remote.read.latency.ms"]["documentation"] is None
            assert (await described(talk, 4, "1"))["log.retention.ms"]["documentation"] is None
            documented = await described(talk, 2, "t", includeDocumentation=True)
            assert all(each["documentation"] for each in documented.values())
            assert (await described(talk, 8, "1", includeDocumentation=True))["root"]["documentation"] == ""

    run(work())


def test_groups_and_metrics_keep_their_configs(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(data=tmp_path) as talk:
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(32, "g", "share.isolation.level", 0, "x"))

    async def again() -> None:
        async with talking(data=tmp_path) as talk:
            assert (await described(talk, 32, "g"))["share.isolation.level"]["value"] == "x"

    run(work())
    run(again())


def committed(version: int, generation: int, member: str) -> dict[str, Any]:
    place = {"name": "t", "partitions": [{"partitionIndex": 0, "committedOffset": 1}]}
    return {"groupId": "g", "generationIdOrMemberEpoch": generation, "memberId": member, "topics": [place]}


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


@pytest.mark.parametrize(
    ("timestamp", "version", "code", "offset"),
    [
        (-1, 5, "NONE", 2),
        (-3, 5, "UNSUPPORTED_VERSION", -1),
        (-3, 7, "NONE", 1),
        (-4, 7, "UNSUPPORTED_VERSION", -1),
        (-4, 8, "NONE", 0),
        (-5, 8, "UNSUPPORTED_VERSION", -1),
        (-5, 9, "NONE", -1),
        (-6, 10, "UNSUPPORTED_VERSION", -1),
        (-6, 11, "NONE", -1),
        (-7, 11, "UNSUPPORTED_VERSION", -1),
    ],
)
def test_offsets_by_name(timestamp: int, version: int, code: str, offset: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("a", "b"))
            at = [{"partitionIndex": 0, "timestamp": timestamp}]
            body = {"replicaId": -1, "isolationLevel": 0, "topics": [{"name": "t", "partitions": at}]}
            row = (await talk(keys.LIST_OFFSETS, version, body))["topics"][0]["partitions"][0]
            assert (error_name(row["errorCode"]), row["offset"]) == (code, offset)

    run(work())


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


def test_the_cluster_of_other_endpoints() -> None:
    async def work() -> None:
        async with talking() as talk:
            assert await codes(talk, keys.DESCRIBE_CLUSTER, 2, {"endpointType": 2}) == ["MISMATCHED_ENDPOINT_TYPE"]
            answer = await talk(keys.DESCRIBE_CLUSTER, 2, {"endpointType": 7})
            assert error_name(answer["errorCode"]) == "UNSUPPORTED_ENDPOINT_TYPE"
            assert (answer["controllerId"], answer["clusterId"]) == (-1, "")

    run(work())


def test_records_that_a_topic_does_not_take() -> None:
    async def work() -> None:
        async with talking() as talk:
            now = talk.broker.now()
            talk.broker.create_topic("compacted", configs={"cleanup.policy": "delete,compact"})
            keyless = build_batch([(now, b"k", b"v", ()), (now, None, b"v", ())])
            row = await talk.produce("compacted", keyless)
            assert error_name(row["errorCode"]) == "INVALID_RECORD" and "records[1]" in row["errorMessage"]
            assert (await talk.produce("compacted", build_batch([(now, b"k", None, ())])))["errorCode"] == 0
            rows = [(now, key, b"v", ()) for key in (b"k", None, b"k", None)]
            wrong = (await talk.produce("compacted", build_batch(rows)))["recordErrors"]
            assert [each["batchIndex"] for each in wrong] == [1, 3] and "without key" in wrong[0][
                "batchIndexErrorMessage"
            ]
            times = (now, now + 2 * 3_600_000)
            row = await talk.produce("compacted", build_batch([(each, b"k", b"v", ()) for each in times]))
            assert error_name(row["errorCode"]) == "INVALID_TIMESTAMP"
            assert [each["batchIndex"] for each in row["recordErrors"]] == [1]
            limits = {"message.timestamp.after.max.ms": "60000", "message.timestamp.before.max.ms": "90000"}
            talk.broker.create_topic("timely", configs=limits)
            for ahead, code in ((50_000, 0), (70_000, 32), (-80_000, 0), (-100_000, 32)):
                assert (await talk.produce("timely", batch("x", time=now + ahead)))["errorCode"] == code

    run(work())


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topics_own_codec(codec: str) -> None:
    async def work() -> None:
        async with talking() as talk:
            configs = {"compression.type": codec, "message.timestamp.type": "LogAppendTime"}
            talk.broker.create_topic("t", configs=configs)
            for sent in ("none", "zstd"):
                assert (await talk.produce("t", batch("a" * 99, "b", codec=sent)))["errorCode"] == 0
            log = talk.broker.topics.by_name["t"].partitions[0].made_log()
            from kcli.records.batches import scan

            for each in scan(log.active.slice(0, log.size).read()):
                assert (each.compression, each.crc_valid, each.is_append_time) == (
                    "none" if codec == "uncompressed" else codec,
                    True,
                    True,
                )
                assert [record.value for record in each.records()] == [b"a" * 99, b"b"]

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


def test_configs_without_effect_are_noted() -> None:
    notes: list[str] = []

    async def work() -> None:
        config = {"listeners": "PLAINTEXT://:9092", "log.dirs": "/data", "num.io.threads": "4", "num.partitions": "2"}
        async with talking(Broker(config=config, note=notes.append), topic="t") as talk:
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(2, "t", "flush.ms"))
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, altered(2, "t", "flush.ms"))

    run(work())
    names = ["listeners", "log.dirs", "num.io.threads", "flush.ms"]
    assert notes == [f"config {name} has no effect here" for name in names]


def test_an_old_fetch_of_records_that_have_no_older_form() -> None:
    """Two records of one offset are taken, as by Kafka; a fetch below v4 gets what is before them, then an error."""
    from kcli.core.records.crc import crc32c

    odd = bytearray(batch("a", "b"))
    at = odd.rindex(b"\x02\x01\x02b\x00")  # the second record's offset delta
    odd[at] = 0
    odd[17:21] = crc32c(bytes(odd[21:])).to_bytes(4, "big")

    async def work() -> None:
        async with talking(topic="t") as talk:
            await talk.produce("t", batch("first"))
            assert (await talk.produce("t", bytes(odd)))["errorCode"] == 0
            for version in range(4):
                row = parts(await talk.fetch(version, ("t", 0, 0)))["t", 0]
                assert row["errorCode"] == 0 and b"first" in row["records"]
                row = parts(await talk.fetch(version, ("t", 0, 1)))["t", 0]
                assert error_name(row["errorCode"]) == "CORRUPT_MESSAGE"

    run(work())


def test_retention_takes_the_active_segment() -> None:
    async def work() -> None:
        async with talking() as talk:
            topic = talk.broker.create_topic("t", configs={"retention.ms": "1000"})
            await talk.produce("t", batch("old", time=talk.broker.now() - 9000))
            talk.broker.replicas.retain()
            log = topic.partitions[0].made_log()
            assert (log.start_offset, log.end_offset, log.size) == (1, 1, 0)
            await talk.produce("t", batch("new", time=talk.broker.now()))
            talk.broker.replicas.retain()
            assert (log.start_offset, log.end_offset) == (1, 2)

    run(work())


def test_segments_are_rolled_by_time() -> None:
    async def work() -> None:
        async with talking() as talk:
            topic = talk.broker.create_topic("t", configs={"segment.ms": "1000"})
            for ago in (9000, 8500, 7000):
                await talk.produce("t", batch("x", time=talk.broker.now() - ago))
            assert topic.partitions[0].made_log().bases == [0, 2]

    run(work())

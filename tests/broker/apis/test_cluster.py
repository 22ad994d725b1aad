"""Features, the quorum, log directories, resources with configs: as a real Kafka 4.4.0 answered."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kcli import embedded_broker
from kcli.broker import Broker
from kcli.broker.metadata.features import ELR, supported_by
from kcli.broker.patterns import regular
from kcli.errors import InputError
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import API_VERSIONS, DESCRIBE_CLUSTER, FIND_COORDINATOR, INIT_PRODUCER_ID
from kcli.schemas.errors import error_name
from tests.broker.apis.asking import codes
from tests.broker.control.asking import ask
from tests.broker.talk import batch, run, talking
from tests.broker.transactions.producer import Producer

CLIENT = {"clientSoftwareName": "x", "clientSoftwareVersion": "1"}


def updated(*features: tuple[str, int, int], validate: bool = False) -> dict[str, Any]:
    rows = [{"feature": name, "maxVersionLevel": level, "upgradeType": kind} for name, level, kind in features]
    return {"timeoutMs": 1000, "featureUpdates": rows, "validateOnly": validate}


def test_features_are_finalized(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(data=tmp_path) as talk:
            answer = await talk(API_VERSIONS, 4, CLIENT)
            levels = {each["name"]: each["maxVersionLevel"] for each in answer["finalizedFeatures"]}
            assert (levels["transaction.version"], levels["group.version"]) == (2, 1)
            assert answer["finalizedFeaturesEpoch"] > 0
            supported = {each["name"]: (each["minVersion"], each["maxVersion"]) for each in answer["supportedFeatures"]}
            assert supported["transaction.version"] == (0, 2)
            old = await talk(API_VERSIONS, 3, CLIENT)
            assert [each["name"] for each in old["supportedFeatures"]] == ["metadata.version"]
            answer = await talk(keys.UPDATE_FEATURES, 1, updated(("transaction.version", 1, 2)))
            assert (answer["errorCode"], len(answer["results"])) == (0, 1)

    async def again() -> None:
        async with talking(data=tmp_path) as talk:
            answer = await talk(API_VERSIONS, 4, CLIENT)
            levels = {each["name"]: each["maxVersionLevel"] for each in answer["finalizedFeatures"]}
            assert (levels["transaction.version"], levels["group.version"]) == (1, 1)

    run(work())
    run(again())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (updated(), "NONE"),
        (updated(("nope", 1, 1)), "INVALID_UPDATE_VERSION"),
        (updated(("transaction.version", 99, 1)), "INVALID_UPDATE_VERSION"),
        (updated(("transaction.version", 1, 1)), "INVALID_UPDATE_VERSION"),
        (updated(("transaction.version", 1, 2), validate=True), "NONE"),
        (updated(("transaction.version", 2, 1)), "NONE"),
        (updated(("transaction.version", 2, 9)), "INVALID_UPDATE_VERSION"),
        (updated(("metadata.version", 7, 2)), "INVALID_UPDATE_VERSION"),
        (updated(("group.version", 1, 1), ("nope", 1, 1)), "INVALID_UPDATE_VERSION"),
    ],
)
def test_updates_of_features(body: dict[str, Any], code: str) -> None:
    async def work() -> None:
        async with talking() as talk:
            answer = await talk(keys.UPDATE_FEATURES, 2, body)
            assert error_name(answer["errorCode"]) == code
            levels = (await talk(API_VERSIONS, 4, CLIENT))["finalizedFeatures"]
            assert {"name": "transaction.version", "maxVersionLevel": 2, "minVersionLevel": 2} in levels

    run(work())


@pytest.mark.parametrize(
    ("release", "names", "finalized"),
    [
        ("3.2", [], {}),
        ("3.9", ["kraft.version", "metadata.version"], {"metadata.version": 21}),
        (
            "4.0",
            [ELR, "group.version", "kraft.version", "metadata.version", "transaction.version"],
            {ELR: 1, "group.version": 1, "metadata.version": 25, "transaction.version": 2},
        ),
    ],
)
def test_an_older_release_has_the_features_of_its_time(
    release: str, names: list[str], finalized: dict[str, int]
) -> None:
    """By Kafka's classes MetadataVersion and Feature of these releases."""

    async def work() -> None:
        async with talking(release=release) as talk:
            answer = await talk(API_VERSIONS, 4 if release == "4.0" else 3, CLIENT)
            least_0 = ["metadata.version"] if release == "3.9" else names
            assert [each["name"] for each in answer.get("supportedFeatures", [])] == least_0
            levels = {each["name"]: each["maxVersionLevel"] for each in answer.get("finalizedFeatures", [])}
            assert levels == finalized
            assert list(supported_by(release)) == names

    run(work())


def test_features_that_a_release_lacks_are_refused() -> None:
    async def work() -> None:
        async with talking(release="3.9") as talk:
            for name, level in (("transaction.version", 2), ("metadata.version", 25)):
                answer = await talk(keys.UPDATE_FEATURES, 1, updated((name, level, 1)))
                assert error_name(answer["errorCode"]) == "INVALID_UPDATE_VERSION"

    run(work())


def test_nodes_are_unregistered() -> None:
    with embedded_broker(nodes=2) as kafka:

        def code(node: int) -> str:
            return error_name(ask(kafka, keys.UNREGISTER_BROKER, 0, {"brokerId": node})["errorCode"])

        assert code(77) == "BROKER_ID_NOT_REGISTERED"
        assert code(2) == code(2) == "NONE"
        kafka.stop_node(2)
        assert [code(2), code(2)] == ["NONE", "BROKER_ID_NOT_REGISTERED"]
        kafka.start_node(2)
        assert code(2) == "NONE"


def test_log_directories(tmp_path: Path) -> None:
    async def work() -> None:
        async with talking(Broker(tmp_path), topic="t", partitions=2) as talk:
            await talk.produce("t", batch("a"))
            (found,) = (await talk(keys.DESCRIBE_LOG_DIRS, 4, {"topics": None}))["results"]
            assert found["logDir"] == str(tmp_path) and found["totalBytes"] >= found["usableBytes"] > 0
            (topic,) = found["topics"]
            sizes = {each["partitionIndex"]: each["partitionSize"] for each in topic["partitions"]}
            assert topic["name"] == "t" and sizes == {0: len(batch("a")), 1: 0}
            asked = [{"topic": "t", "partitions": [0, 5]}, {"topic": "nope", "partitions": [0]}]
            (found,) = (await talk(keys.DESCRIBE_LOG_DIRS, 1, {"topics": asked}))["results"]
            assert [len(each["partitions"]) for each in found["topics"]] == [1]
            named = [{"name": "t", "partitions": [0, 5]}, {"name": "nope", "partitions": [0]}]
            moved = [{"path": path, "topics": named} for path in (str(tmp_path), "/nowhere")]
            rows = (await talk(keys.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": moved}))["results"]
            codes = [[error_name(each["errorCode"]) for each in row["partitions"]] for row in rows]
            unknown, lost = "UNKNOWN_TOPIC_OR_PARTITION", "LOG_DIR_NOT_FOUND"
            assert codes == [["NONE", unknown, lost, lost], [unknown, lost]]

    run(work())


@pytest.mark.parametrize("version", range(3))
def test_the_quorum(version: int) -> None:
    with embedded_broker(nodes=2) as kafka:

        def described(name: str, index: int, node: int = 0) -> dict[str, Any]:
            body = {"topics": [{"topicName": name, "partitions": [{"partitionIndex": index}]}]}
            return ask(kafka, keys.DESCRIBE_QUORUM, version, body, node=node)

        row = described("__cluster_metadata", 0)["topics"][0]["partitions"][0]
        assert (row["leaderId"], [each["replicaId"] for each in row["currentVoters"]]) == (1, [1, 2])
        assert row["highWatermark"] == row["currentVoters"][0]["logEndOffset"] > 0
        for name, index in (("t", 0), ("__cluster_metadata", 1)):
            row = described(name, index)["topics"][0]["partitions"][0]
            assert error_name(row["errorCode"]) == "UNKNOWN_TOPIC_OR_PARTITION"
        kafka.stop_node(1)
        assert described("__cluster_metadata", 0, 1)["topics"][0]["partitions"][0]["leaderId"] == 2


def test_resources_with_configs() -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            change = [{"name": "interval.ms", "configOperation": 0, "value": "1000"}]
            body = {"resources": [{"resourceType": 16, "resourceName": "m", "configs": change}], "validateOnly": False}
            await talk(keys.INCREMENTAL_ALTER_CONFIGS, 1, body)

            async def listed(version: int, **body: Any) -> tuple[str, set[tuple[str, int]]]:
                answer = await talk(keys.LIST_CONFIG_RESOURCES, version, body)
                rows = {(each["resourceName"], each.get("resourceType", 16)) for each in answer["configResources"]}
                return error_name(answer["errorCode"]), rows

            assert await listed(0) == ("NONE", {("m", 16)})
            assert await listed(1, resourceTypes=[]) == ("NONE", {("m", 16), ("t", 2), ("1", 4), ("1", 8)})
            assert await listed(1, resourceTypes=[2, 4]) == ("NONE", {("t", 2), ("1", 4)})
            assert await listed(1, resourceTypes=[77]) == ("UNSUPPORTED_VERSION", set())

    run(work())


def test_transactions_by_a_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[str] = []

    async def work() -> None:
        async with talking(Broker(note=notes.append), topic="t") as talk:
            for name in ("tx-1", "other"):
                await Producer(talk, name).init()

            async def listed(pattern: str | None) -> tuple[str, list[str]]:
                body: dict[str, Any] = {"stateFilters": [], "producerIdFilters": [], "transactionalIdPattern": pattern}
                answer = await talk(keys.LIST_TRANSACTIONS, 2, body)
                return error_name(answer["errorCode"]), [
                    each["transactionalId"] for each in answer["transactionStates"]
                ]

            assert await listed("tx") == ("NONE", [])
            assert await listed("tx.*") == ("NONE", ["tx-1"])
            assert await listed("") == await listed(None) == ("NONE", ["tx-1", "other"])
            assert await listed("a(") == await listed(r"(a)\1") == ("INVALID_REGULAR_EXPRESSION", [])
            monkeypatch.setitem(sys.modules, "re2", None)
            assert await listed("tx.*") == ("UNKNOWN_SERVER_ERROR", [])

    run(work())
    assert notes == ["a pattern in a request needs google-re2 (pip install 'kcli-kafka[broker]')"]


def test_a_pattern_takes_time_by_the_text_alone() -> None:
    fits = regular("(a*)*(a*)*b")
    assert not fits("a" * 5000) and fits("aab")
    with pytest.raises(InputError):
        regular("(((a{99}){99}){99})")


async def added(talk: Any, version: int, name: str, producer: Producer, topic: str, *, verify: bool) -> list[str]:
    who = {"transactionalId": name, "producerId": producer.id, "producerEpoch": producer.epoch}
    row = who | {"verifyOnly": verify, "topics": [{"name": topic, "partitions": [0]}]}
    answer = await talk(keys.ADD_PARTITIONS_TO_TXN, version, {"transactions": [row]})
    rows = answer["resultsByTransaction"][0]["topicResults"][0]["resultsByPartition"]
    return [error_name(each["partitionErrorCode"]) for each in rows]


@pytest.mark.parametrize("version", [4, 5])
def test_partitions_of_several_transactions(version: int) -> None:
    async def work() -> None:
        async with talking(topic="t") as talk:
            talk.broker.create_topic("u")
            producer = Producer(talk, "tx")
            await producer.init()
            assert await added(talk, version, "tx", producer, "t", verify=True) == ["TRANSACTION_ABORTABLE"]
            assert await added(talk, version, "tx", producer, "t", verify=False) == ["NONE"]
            assert await added(talk, version, "tx", producer, "t", verify=True) == ["NONE"]
            assert await added(talk, version, "tx", producer, "u", verify=True) == ["TRANSACTION_ABORTABLE"]
            assert await added(talk, version, "no", producer, "t", verify=True) == ["INVALID_PRODUCER_ID_MAPPING"]
            assert await added(talk, version, "tx", producer, "no", verify=False) == ["UNKNOWN_TOPIC_OR_PARTITION"]

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


def test_the_cluster_of_other_endpoints() -> None:
    async def work() -> None:
        async with talking() as talk:
            assert await codes(talk, keys.DESCRIBE_CLUSTER, 2, {"endpointType": 2}) == ["MISMATCHED_ENDPOINT_TYPE"]
            answer = await talk(keys.DESCRIBE_CLUSTER, 2, {"endpointType": 7})
            assert error_name(answer["errorCode"]) == "UNSUPPORTED_ENDPOINT_TYPE"
            assert (answer["controllerId"], answer["clusterId"]) == (-1, "")

    run(work())

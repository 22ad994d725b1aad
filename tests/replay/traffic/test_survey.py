"""What a first reading of captures finds that they need."""

from pathlib import Path

from kcli.capture.api import read_capture
from kcli.records import build_batch
from kcli.replay.traffic.choice import Choice
from kcli.replay.traffic.survey import ConnectionPurpose, survey
from kcli.schemas.apikeys import CREATE_TOPICS, FETCH, FIND_COORDINATOR, METADATA, PRODUCE
from kcli.schemas.catalog import catalog
from tests.replay.traffic.made import exchange

SAMPLES = Path(__file__).parents[3] / "samples"
CHOICE = Choice(catalog(None))


def metadata(name: str, code: int, partitions: int = 1, at: int = 0) -> object:
    parts = [{"partitionIndex": n, "leaderId": 1, "replicaNodes": [2, 1], "errorCode": 0} for n in range(partitions)]
    topic = {"errorCode": code, "name": name, "partitions": [] if code else parts}
    answer = {"brokers": [{"nodeId": 1, "host": "h", "port": 9}], "topics": [topic]}
    return exchange(METADATA, 1, {"topics": [{"name": name}]}, answer, at=at)


def test_a_capture_of_transactions() -> None:
    found = survey(read_capture(str(SAMPLES / "java44-txn.pcap")), CHOICE)
    assert {name: seen.partitions for name, seen in found.needed().items()} == {"pay-in": 2, "pay-out": 2}
    assert {key for key in found.coordinated if key[0] == 1} == {(1, "pay-1")}
    assert found.left_out == {"of brokers among themselves": 19}
    assert found.requests == sum(found.connections.values()) == 59
    assert set(found.nodes) == {1}


def test_topics_are_needed_when_they_are_named_and_there() -> None:
    found = survey([metadata("a", 0, 3), metadata("gone", 3), metadata("late", 5), metadata("late", 0)], CHOICE)  # type: ignore[list-item]
    assert {name: (seen.partitions, seen.is_late) for name, seen in found.needed().items()} == {
        "a": (3, False), "late": (1, True),
    }  # fmt: skip
    assert found.needed()["a"].replicas == {index: [1, 2] for index in range(3)}


def test_a_topic_that_the_capture_makes() -> None:
    made = exchange(
        CREATE_TOPICS,
        2,
        {"topics": [{"name": "n", "numPartitions": 2, "replicationFactor": 1}], "timeoutMs": 1},
        {"topics": [{"name": "n", "errorCode": 0}]},
    )
    found = survey([made, metadata("n", 0, 2)], CHOICE)  # type: ignore[list-item]
    assert not found.needed()["n"].is_made
    assert found.left_out == {"that change the cluster (--admin)": 1}
    again = survey([made, metadata("n", 0, 2)], Choice(catalog(None), admin=True))  # type: ignore[list-item]
    assert again.needed()["n"].is_made


def test_routes_offsets_and_produced() -> None:
    fetch = exchange(
        FETCH,
        4,
        {"topics": [{"topic": "t", "partitions": [{"partition": 2, "fetchOffset": 40, "partitionMaxBytes": 1}]}]},
        {"responses": []},
    )
    produce = exchange(
        PRODUCE,
        3,
        {"topicData": [{"name": "t", "partitionData": [{"index": 1, "records": b""}]}]},
        {"responses": [{"name": "t", "partitionResponses": [{"index": 1, "errorCode": 0, "baseOffset": 9}]}]},
        client="10.0.0.2:1",
    )
    find = exchange(FIND_COORDINATOR, 0, {"key": "g"}, client="10.0.0.3:1")
    found = survey([fetch, produce, find], CHOICE)
    assert found.routes == {
        fetch.connection: ConnectionPurpose(-1, "t", 2),
        produce.connection: ConnectionPurpose(-1, "t", 1),
    }
    assert found.coordinated == {(0, "g")}
    assert found.topics["t"].produced == {1: 9}


def test_records_that_fetches_found_and_no_produce_of_the_capture_wrote() -> None:
    def answered(index: int, offset: int) -> object:
        records = build_batch([(0, b"k", b"v", ())], offset)
        row = {"partitionIndex": index, "errorCode": 0, "highWatermark": 1, "records": records}
        return exchange(FETCH, 4, {"topics": []}, {"responses": [{"topic": "t", "partitions": [row]}]})

    produced = [{"index": index, "errorCode": 0, "baseOffset": 9} for index in (1, 2)]
    produce = exchange(PRODUCE, 3, {"topicData": []}, {"responses": [{"name": "t", "partitionResponses": produced}]})
    found = survey([produce, *(answered(index, offset) for index, offset in ((0, 7), (1, 9), (2, 8)))], CHOICE)  # type: ignore[list-item]
    assert found.topics["t"].presumed == {0, 2}

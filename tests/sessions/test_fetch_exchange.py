from typing import Any

import pytest

from kcli.sessions.fetch_exchange import FetchExchange, keys_of, records_size

UUID = "UN81GBVGSGmhiqBEPXpYyw"
HEADER = {"requestApiKey": 1, "requestApiVersion": 17, "correlationId": 5, "clientId": None}


def exchange(request: dict[str, Any], response: dict[str, Any] | None) -> FetchExchange:
    return FetchExchange("b:1", "b:1-c:2", HEADER, 10, 20).read(request, response)


def test_columns_of_a_new_version() -> None:
    part = {"partition": 3, "fetchOffset": 9, "logStartOffset": 1, "partitionMaxBytes": 7}
    part |= {"currentLeaderEpoch": 4, "lastFetchedEpoch": 2}
    reported: dict[str, Any] = {
        "partitionIndex": 3,
        "errorCode": 0,
        "highWatermark": 12,
        "lastStableOffset": 11,
        "logStartOffset": 1,
    }
    reported |= {
        "preferredReadReplica": -1,
        "records": {"sizeInBytes": 50},
        "divergingEpoch": {"epoch": 3, "endOffset": 1},
    }
    x = exchange(
        {
            "maxBytes": 99,
            "isolationLevel": 1,
            "sessionId": 7,
            "sessionEpoch": 2,
            "replicaState": {"replicaId": 4, "replicaEpoch": 1},
            "topics": [{"topicId": UUID, "partitions": [part]}],
            "forgottenTopicsData": [{"topicId": UUID, "partitions": [1, 2]}],
        },
        {
            "throttleTimeMs": 1,
            "errorCode": 0,
            "sessionId": 7,
            "responses": [{"topicId": UUID, "partitions": [reported]}],
        },
    )
    assert (x.session_id, x.session_epoch, x.max_bytes, x.isolation, x.replica_id) == (7, 2, 99, 1, 4)
    assert x.asked == [((UUID, 3), (9, 1, 7, 4, 2))]
    assert x.forgotten == [(UUID, 1), (UUID, 2)]
    assert x.reported == [((UUID, 3), (0, 12, 11, 1, 50, -1, True))]
    assert (x.answered, x.granted, x.throttle_ms, x.client_id) == (True, 7, 1, "")


def test_an_old_version_says_less() -> None:
    part = {"partition": 0, "fetchOffset": 9, "partitionMaxBytes": 7}
    reported = {"partitionIndex": 0, "errorCode": 0, "highWatermark": 12, "records": b"12345"}
    x = exchange(
        {"replicaId": -1, "topics": [{"topic": "a", "partitions": [part]}]},
        {"responses": [{"topic": "a", "partitions": [reported]}]},
    )
    assert (x.session_id, x.session_epoch, x.granted) == (0, -1, 0)
    assert x.asked == [(("a", 0), (9, -1, 7, -1, -1))]
    assert x.reported == [(("a", 0), (0, 12, -1, -1, 5, -1, False))]


def test_a_lost_answer() -> None:
    x = exchange({"topics": [], "forgottenTopicsData": []}, None)
    assert not x.answered and x.reported == []


@pytest.mark.parametrize(
    ("part", "size"),
    [
        ({"records": None}, 0),
        ({"records": b"abc"}, 3),
        ({"records": {"sizeInBytes": 8}}, 8),
        ({"recordsSizeInBytes": 9}, 9),
        ({}, 0),
    ],
)
def test_sizes_of_records_however_they_are_said(part: dict[str, Any], size: int) -> None:
    assert records_size(part) == size


def test_a_topic_without_an_id_goes_by_its_name() -> None:
    assert keys_of([{"topic": "a", "topicId": "A" * 22, "partitions": [1]}]) == [("a", 1)]

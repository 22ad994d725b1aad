import pytest

from kcli.sessions.draft_exchange import is_full, read_full, read_incremental
from kcli.sessions.fetch_exchange import FetchExchange


def exchange(version: int) -> FetchExchange:
    return FetchExchange("s:1", "s:1-c:1", {"requestApiVersion": version, "correlationId": 3}, 5, 6)


def test_a_full_fetch() -> None:
    asked = {"partition": 2, "fetchOffset": 7, "logStartOffset": -1, "partitionMaxBytes": 99}
    request = {"replicaId": -1, "maxBytes": 500, "topics": [{"topic": "t", "partitions": [asked]}]}
    reported = {"partitionIndex": 2, "errorCode": 0, "highWatermark": 9, "lastStableOffset": 8, "logStartOffset": 1}
    response = {
        "throttleTimeMs": 0,
        "uuid": -5,
        "responses": [{"topic": "t", "partitions": [reported | {"records": b"xy"}]}],
    }
    x = read_full(exchange(7), request, response)
    assert (x.draft, x.session_id, x.session_epoch, x.granted, x.max_bytes) == (True, 0, 0, -5, 500)
    assert x.asked == [(("t", 2), (7, -1, 99, -1, -1))]
    assert x.reported == [(("t", 2), (0, 9, 8, 1, 2, -1, False))]


def test_an_incremental_fetch_writes_partitions_as_digits() -> None:
    asked = {"partitionId": "12", "fetchOffset": 7, "startOffset": 3, "maxBytes": 99}
    request = {
        "uuid": 8,
        "replicaId": 4,
        "isolationLevel": 1,
        "maxWaitTime": 9,
        "topics": [{"topicName": "t", "partitions": [asked]}],
    }
    header = {"partitionId": 12, "errorCode": 1, "highWatermark": 9, "lastStableOffset": 8, "logStartOffset": 1}
    topics = [{"topicName": "t", "partitions": [{"header": header, "recordsSizeInBytes": 70}]}]
    response = {"throttleTimeMs": 4, "errorCode": 0, "uuid": 8, "topics": topics}
    x = read_incremental(exchange(0), request, response)
    assert (x.version, x.session_id, x.session_epoch, x.granted, x.replica_id, x.isolation) == (7, 8, 1, 8, 4, 1)
    assert (x.answered, x.error, x.throttle_ms) == (True, 0, 4)
    assert x.asked == [(("t", 12), (7, 3, 99, -1, -1))]
    assert x.reported == [(("t", 12), (1, 9, 8, 1, 70, -1, False))]
    assert not read_incremental(exchange(0), request, None).answered


@pytest.mark.parametrize(
    ("version", "request_", "full"),
    [(7, {"topics": []}, True), (7, {"topics": [], "sessionId": 0}, False), (6, {"topics": []}, False)],
)
def test_what_is_a_full_fetch_of_the_draft(version: int, request_: dict[str, object], full: bool) -> None:
    assert is_full(version, request_) is full

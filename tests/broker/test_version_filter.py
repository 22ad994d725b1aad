"""Response values cut to their version."""

from __future__ import annotations

from kcli.broker.version_filter import shape


def test_fields_that_a_version_lacks_go_at_any_depth() -> None:
    value = {
        "throttleTimeMs": 0,
        "clusterId": "c",
        "brokers": [{"nodeId": 1, "host": "h", "port": 2, "rack": None}],
        "topics": [{"errorCode": 0, "name": "t", "topicId": "x", "partitions": [{"leaderEpoch": 3, "leaderId": 1}]}],
    }
    assert shape(3, 0, value) == {
        "brokers": [{"nodeId": 1, "host": "h", "port": 2}],
        "topics": [{"errorCode": 0, "name": "t", "partitions": [{"leaderId": 1}]}],
    }
    assert shape(3, 13, value) == value


def test_null_stays() -> None:
    assert shape(9, 7, {"topics": None, "errorCode": 0}) == {"topics": None, "errorCode": 0}

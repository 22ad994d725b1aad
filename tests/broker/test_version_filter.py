"""Fields that a version of a response lacks are left out of its value."""

import pytest

from kcli.broker.api_version import version_filter
from kcli.errors import SchemaError
from kcli.grammar import messages


def test_fields_that_a_version_lacks_go_at_any_depth() -> None:
    value = {
        "throttleTimeMs": 0,
        "clusterId": "c",
        "brokers": [{"nodeId": 1, "host": "h", "port": 2, "rack": None}],
        "topics": [{"errorCode": 0, "name": "t", "topicId": "x", "partitions": [{"leaderEpoch": 3, "leaderId": 1}]}],
    }
    assert version_filter("MetadataResponse", 0)(value) == {
        "brokers": [{"nodeId": 1, "host": "h", "port": 2}],
        "topics": [{"errorCode": 0, "name": "t", "partitions": [{"leaderId": 1}]}],
    }


def test_what_needs_no_change_is_not_copied() -> None:
    value = {"throttleTimeMs": 0, "topics": [{"errorCode": 0, "name": "t", "partitions": [{"leaderId": 1}]}]}
    assert version_filter("MetadataResponse", 13)(value) is value


def test_the_value_that_is_given_stays_as_it_is() -> None:
    rows = [{"leaderId": 1, "leaderEpoch": 3}, {"leaderId": 2}]
    value = {"topics": [{"name": "t", "partitions": rows}, {"name": "u", "partitions": []}]}
    made = version_filter("MetadataResponse", 1)(value)
    assert made["topics"][0]["partitions"] == [{"leaderId": 1}, {"leaderId": 2}]
    assert rows == [{"leaderId": 1, "leaderEpoch": 3}, {"leaderId": 2}]
    assert made["topics"][1] is value["topics"][1]


def test_null_stays() -> None:
    value = {"topics": None, "errorCode": 0}
    assert version_filter("OffsetFetchResponse", 7)(value) == value


def test_a_struct_that_is_no_list() -> None:
    leader = {"partitionIndex": 0, "errorCode": 6, "records": None, "currentLeader": {"leaderId": 1, "leaderEpoch": 2}}
    value = {"responses": [{"topic": "t", "partitions": [leader]}]}
    kept = version_filter("FetchResponse", 12)(value)["responses"][0]["partitions"][0]
    assert kept["currentLeader"] == {"leaderId": 1, "leaderEpoch": 2}
    assert messages.response(1, 12).write({"responses": [{"topic": "t", "partitions": [kept]}]})
    assert "currentLeader" not in version_filter("FetchResponse", 11)(value)["responses"][0]["partitions"][0]


def test_a_version_that_the_message_lacks() -> None:
    with pytest.raises(SchemaError):
        version_filter("MetadataResponse", 99)

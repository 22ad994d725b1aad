"""Error responses made from requests: shaped as a broker's, for every API there is."""

from typing import Any

import pytest

from kcli.grammar import frames
from kcli.proxy.error_answers import ErrorTarget, error_body, merge, places_in, without
from kcli.schemas.catalog import catalog
from tests.messages import filled

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, FIND_COORDINATOR, DESCRIBE_GROUPS, DELETE_TOPICS = (
    0, 1, 2, 3, 8, 10, 15, 20,
)  # fmt: skip
ID = "AAAAAAAAAAAAAAAAAAAAAQ"
NAMES = {ID: "t"}


def name(topic_id: str) -> str:
    return NAMES.get(topic_id, "")


def answered(api_key: int, version: int, body: dict[str, Any], code: int = 7) -> dict[str, Any]:
    """What a client reads of an answer in which all is an error."""
    made = error_body(catalog(None).apis[api_key].response, version, body, lambda _: code, name)
    frame = frames.encode_response({"correlationId": 1}, api_key, version, made)
    return frames.decode_response(frame, api_key, version).body


@pytest.mark.parametrize("api_key", sorted(catalog(None).apis))
def test_every_request_can_be_answered(api_key: int) -> None:
    api = catalog(None).apis[api_key]
    for version in range(api.versions.lo, api.versions.hi + 1):
        body = answered(api_key, version, filled(catalog(None).message(api.request), version))
        if any(
            field.name == "errorCode" and version in field.versions
            for field in catalog(None).message(api.response).fields
        ):
            assert body["errorCode"] == 7


def rows(topic: str = "t", field: str = "name", partition: str = "partitionIndex") -> list[dict[str, Any]]:
    return [{field: topic, "partitions": [{partition: 0}, {partition: 1}]}]


def test_partitions_are_those_of_the_request() -> None:
    body = {
        "topicData": [{"name": "t", "partitionData": [{"index": 3, "records": b"x"}, {"index": 4, "records": b""}]}]
    }
    (topic,) = answered(PRODUCE, 9, body)["responses"]
    assert (topic["name"], [(each["index"], each["errorCode"]) for each in topic["partitionResponses"]]) == (
        "t", [(3, 7), (4, 7)],
    )  # fmt: skip
    fetched = answered(FETCH, 13, {"topics": [{"topicId": ID, "partitions": [{"partition": 2, "fetchOffset": 5}]}]})
    assert fetched["errorCode"] == 7
    assert fetched["responses"][0]["topicId"] == ID
    assert [each["partitionIndex"] for each in fetched["responses"][0]["partitions"]] == [2]
    listed = answered(LIST_OFFSETS, 6, {"topics": rows()})
    assert [each["partitionIndex"] for each in listed["topics"][0]["partitions"]] == [0, 1]
    assert (
        answered(OFFSET_COMMIT, 7, {"groupId": "g", "topics": rows()})["topics"][0]["partitions"][1]["errorCode"] == 7
    )


def test_names_without_a_struct_are_rows_too() -> None:
    assert answered(FIND_COORDINATOR, 4, {"keyType": 0, "coordinatorKeys": ["g"]})["coordinators"][0]["key"] == "g"
    assert [each["groupId"] for each in answered(DESCRIBE_GROUPS, 5, {"groups": ["a", "b"]})["groups"]] == ["a", "b"]
    assert answered(DELETE_TOPICS, 4, {"topicNames": ["t"]})["responses"] == [{"name": "t", "errorCode": 7}]
    metadata = answered(METADATA, 9, {"topics": [{"name": "t"}]})
    assert (metadata["topics"][0]["name"], metadata["topics"][0]["errorCode"], metadata["brokers"]) == ("t", 7, [])


def test_the_places_of_a_request() -> None:
    assert list(places_in({"topics": rows()}, name)) == [ErrorTarget("t", 0), ErrorTarget("t", 1)]
    assert list(places_in({"topics": [{"topicId": ID, "partitions": [{"partition": 2}]}]}, name)) == [
        ErrorTarget("t", 2)
    ]
    assert list(places_in({"topics": [{"topicId": "unknown", "partitions": [{"partition": 2}]}]}, name)) == []
    assert list(places_in({"topics": [{"name": "t"}, {"name": "u"}]}, name)) == [ErrorTarget("t"), ErrorTarget("u")]
    assert list(places_in({"topics": [{"name": "t", "partitionIndexes": [4]}]}, name)) == [ErrorTarget("t", 4)]
    assert list(places_in({"topics": None, "groupId": "g"}, name)) == []


def test_a_request_is_parted_and_its_answers_are_put_together() -> None:
    body = {"acks": -1, "topics": [*rows("t"), *rows("u")]}
    gone = {ErrorTarget("t", 1), ErrorTarget("u", 0), ErrorTarget("u", 1)}
    kept = without(body, gone, name)
    assert list(places_in(kept, name)) == [ErrorTarget("t", 0)]
    assert kept["acks"] == -1
    failed = without(body, {ErrorTarget("t", 0)}, name)
    assert set(places_in(failed, name)) == gone
    answer, more = {"topics": [{"name": "t", "partitions": [1]}]}, {"topics": [*rows("t"), *rows("u")], "x": 5}
    merge(answer, more)
    assert answer == {"topics": [{"name": "t", "partitions": [1, *rows()[0]["partitions"]]}, *rows("u")]}

"""Which topics, partitions and groups messages name."""

from typing import Any

import pytest

from kcli.capture.tables.field_paths import GROUP, INDEX, TOPIC, Named, Scan, names_in, scans
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import ZERO_UUID

ID = "c" * 21 + "A"


def names(message: str, value: dict[str, Any] | None) -> Named:
    found = Named({}, {}, {})
    names_in(message, None, value, found)
    return found


@pytest.mark.parametrize(
    ("message", "value", "topics", "partitions", "groups"),
    [
        ("MetadataRequest", {"topics": [{"name": "a"}, {"name": None, "topicId": ID}]}, ["a", (ID,)], None, []),
        ("MetadataRequest", {"topics": [{"name": None, "topicId": ZERO_UUID}]}, [], None, []),
        (
            "FetchResponse",
            {"responses": [{"topicId": ID, "partitions": [{"partitionIndex": 3}, {"partitionIndex": 5}]}]},
            [(ID,)], [((ID,), 3), ((ID,), 5)], [],
        ),
        ("FetchRequest", {"forgottenTopicsData": [{"topic": "a", "partitions": [1]}]}, ["a"], [], []),
        (
            "OffsetFetchRequest",
            {"groups": [{"groupId": "g", "topics": [{"name": "a", "partitionIndexes": [0, 1]}]}]},
            ["a"], [("a", 0), ("a", 1)], ["g"],
        ),
        ("CreateTopicsRequest", {"topics": [{"name": "a", "configs": [{"name": "no.topic"}]}]}, ["a"], None, []),
        ("DeleteTopicsRequest", {"topicNames": ["a", "b"]}, ["a", "b"], None, []),
        ("ConsumerGroupHeartbeatRequest", {"groupId": "g", "subscribedTopicNames": ["a"]}, ["a"], None, ["g"]),
        ("DescribeGroupsRequest", {"groups": ["g", "h"]}, [], [], ["g", "h"]),
        ("DeleteGroupsRequest", {"groupsNames": ["g"]}, [], [], ["g"]),
        ("FindCoordinatorRequest", {"key": "g", "keyType": 0}, [], [], ["g"]),
        ("FindCoordinatorRequest", {"coordinatorKeys": ["t"], "keyType": 1}, [], [], []),
        (
            "DescribeConfigsRequest",
            {"resources": [{"resourceType": 2, "resourceName": "a"}, {"resourceType": 4, "resourceName": "1"}]},
            ["a"], [("a", None)], [],
        ),
        ("ApiVersionsResponse", {"supportedFeatures": [{"name": "metadata.version"}]}, [], [], []),
        ("FetchResponse", None, [], [], []),
    ],
)  # fmt: skip
def test_names_in_values(
    message: str, value: dict[str, Any] | None, topics: list[Any], partitions: list[Any] | None, groups: list[str]
) -> None:
    found = names(message, value)
    assert [*found.topics] == topics and [*found.groups] == groups
    assert partitions is None or [*found.partitions] == partitions


def test_what_text_tells() -> None:
    both = {TOPIC, INDEX}
    asked, answer = scans(1, 12, both) or (None, None)
    assert asked == answer is None or (asked, answer) == (
        Scan(b'"topic":"', False, b'"partition":', None, None),
        Scan(b'"topic":"', False, b'"partitionIndex":', None, None),
    )
    assert scans(1, 13, {TOPIC}) == (Scan(b'"topicId":"', True, None, None, None),) * 2
    assert scans(12, 0, {GROUP}) == (Scan(None, False, None, b'"groupId":"', None), None)
    assert scans(12, 0, {TOPIC}) == (None, None)
    metadata = scans(3, 12, {TOPIC})
    assert metadata is not None and metadata[0] == Scan(b'"name":"', False, None, None, b'"name":null')
    assert scans(19, 7, {TOPIC}) is None, "topics and configs have a `name`"
    assert scans(15, 0, {GROUP}) is None, "groups are an array of texts"


def test_every_message_has_an_answer() -> None:
    for key, api in catalog(None).apis.items():
        for version in range(api.versions.lo, api.versions.hi + 1):
            found = scans(key, version, {TOPIC, INDEX, GROUP})
            assert found is None or len(found) == 2

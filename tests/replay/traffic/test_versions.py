"""Requests in other versions: every request of every API as it is by default, and forms that changed."""

import pytest

from kcli.errors import SchemaError
from kcli.grammar import messages
from kcli.replay.traffic.versions import common, converted
from kcli.schemas.apikeys import FETCH, FIND_COORDINATOR, LEAVE_GROUP, LIST_OFFSETS, OFFSET_FETCH
from kcli.schemas.catalog import catalog
from tests.replay.traffic.test_identities import OTHER, identities

TOPICS = identities().topics


@pytest.mark.parametrize("key", catalog().apis)
def test_every_request_goes_into_every_version_of_its_api(key: int) -> None:
    """From any version to the oldest and the newest: what comes out can be written."""
    api = catalog().apis[key]
    for version in range(api.versions.lo, api.versions.hi + 1):
        try:
            codec = messages.request(key, version)
        except SchemaError:
            continue
        body = codec.read_whole(codec.write({}))
        for other in (api.versions.lo, api.versions.hi):
            try:
                made = converted(key, body, version, other, TOPICS, None)
            except SchemaError:
                assert key in (FIND_COORDINATOR, OFFSET_FETCH, LEAVE_GROUP)  # several at once, or none
                continue
            messages.request(key, other).write(dict(made))


@pytest.mark.parametrize(
    ("key", "old", "new", "one", "several"),
    [
        (FIND_COORDINATOR, 3, 4, {"key": "g", "keyType": 0}, {"keyType": 0, "coordinatorKeys": ["g"]}),
        (OFFSET_FETCH, 7, 8, {"groupId": "g", "topics": None, "requireStable": True},
         {"groups": [{"groupId": "g", "topics": None}], "requireStable": True}),
        (LEAVE_GROUP, 2, 3, {"groupId": "g", "memberId": "m"}, {"groupId": "g", "members": [{"memberId": "m"}]}),
    ],
)  # fmt: skip
def test_one_and_several(key: int, old: int, new: int, one: dict[str, object], several: dict[str, object]) -> None:
    assert converted(key, one, old, new, TOPICS, None) == several
    assert converted(key, several, new, old, TOPICS, None) == one


def test_more_than_one_do_not_go_into_the_form_for_one() -> None:
    with pytest.raises(SchemaError, match="a request for 2 at once"):
        converted(FIND_COORDINATOR, {"keyType": 0, "coordinatorKeys": ["a", "b"]}, 4, 3, TOPICS, None)


def test_topics_get_the_name_or_the_id_that_the_version_has() -> None:
    part = {"partition": 0, "fetchOffset": 1, "partitionMaxBytes": 9}
    by_id = {"topics": [{"topicId": OTHER, "partitions": [part]}]}
    by_name = {"topics": [{"topic": "orders", "partitions": [part]}]}
    assert converted(FETCH, by_id, 13, 12, TOPICS, None) == by_name
    assert converted(FETCH, by_name, 12, 13, TOPICS, None) == by_id


def test_answers_in_their_common_form() -> None:
    found = {"errorCode": 0, "nodeId": 1, "host": "h", "port": 9}
    assert common(FIND_COORDINATOR, found)["coordinators"] == [found]
    assert common(FIND_COORDINATOR, {"coordinators": [found | {"key": "g"}]})["coordinators"] == [found]
    topics = {"topics": [{"name": "t", "partitions": []}], "errorCode": 0}
    assert common(OFFSET_FETCH, topics)["groups"] == [topics]
    assert common(OFFSET_FETCH, {"groups": [topics | {"groupId": "g"}]})["groups"] == [topics]
    old = {"topics": [{"name": "t", "partitions": [{"partitionIndex": 0, "oldStyleOffsets": [7, 0]}]}]}
    assert common(LIST_OFFSETS, old)["topics"][0]["partitions"] == [{"partitionIndex": 0, "offset": 7}]

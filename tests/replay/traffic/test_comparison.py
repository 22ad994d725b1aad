"""Where two answers differ, at each level."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.records import build_batch
from kcli.replay.traffic.comparison import Level, differences, records_in
from kcli.replay.traffic.fields import plan_of
from kcli.schemas.apikeys import API_VERSIONS, FETCH, LIST_OFFSETS, OFFSET_FETCH
from tests.replay.traffic.test_identities import identities


def offsets(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"topics": [{"name": "orders", "partitions": list(parts)}], "throttleTimeMs": 0}


ONE = {"partitionIndex": 0, "errorCode": 0, "offset": 5, "timestamp": 1}


@pytest.mark.parametrize(
    ("live", "level", "found"),
    [
        (ONE, "strict", []),
        (ONE | {"errorCode": 3}, "shape", ["topics.partitions.errorCode: 0, live 3"]),
        (ONE | {"errorCode": 3}, "errors", []),  # by the sums of the API
        (ONE | {"offset": 6}, "shape", []),
        (ONE | {"offset": 6}, "strict", ["topics.partitions.offset: 5, live 6"]),
        (ONE | {"timestamp": 6}, "strict", []),
    ],
)
def test_a_partition(live: dict[str, object], level: Level, found: list[str]) -> None:
    assert list(differences(LIST_OFFSETS, offsets(ONE), offsets(live), identities(), level)) == found


def test_entries_that_are_missing() -> None:
    found = list(differences(LIST_OFFSETS, offsets(ONE), offsets(), identities(), "shape"))
    assert found == ["topics.partitions: 1 entries, live 0"]
    groups = {"groups": [{"topics": [], "errorCode": 0}]}
    assert not list(differences(OFFSET_FETCH, groups, groups, identities(), "strict"))


def test_what_is_the_moments_or_the_clusters_is_no_difference() -> None:
    one = {"errorCode": 0, "sessionId": 5, "responses": [{"topic": "orders", "partitions": [{"partitionIndex": 0}]}]}
    ids = identities()
    assert not list(differences(FETCH, one, {"errorCode": 0, "sessionId": 8, "responses": []}, ids, "strict"))
    assert not list(differences(API_VERSIONS, {"apiKeys": [1]}, {"apiKeys": []}, ids, "strict"))


def test_records_are_found_wherever_they_stand() -> None:
    data = build_batch([(0, b"k", b"v", ())])
    body = {"responses": [{"topic": "t", "partitions": [{"partitionIndex": 0, "records": data}, {"records": None}]}]}
    assert list(records_in(body, plan_of("FetchResponse"))) == [data]

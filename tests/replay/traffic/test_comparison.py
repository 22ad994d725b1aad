"""Where two answers differ, at each level."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.records import build_batch
from kcli.replay.traffic.comparison import Level, content_of, differences, records_in
from kcli.replay.traffic.fields import plan_of
from kcli.schemas.apikeys import API_VERSIONS, DESCRIBE_CONFIGS, FETCH, LIST_OFFSETS, OFFSET_FETCH
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


def test_of_secrets_only_sizes_are_told() -> None:
    """Tokens that a real cluster gave to the replay were among them."""
    create, describe = 38, 41
    one, other = ({"hmac": mark * 64, "tokenId": "a"} for mark in (b"\x9d", b"\x1a"))
    for api_key, made in ((create, lambda each: each), (describe, lambda each: {"tokens": [each]})):
        (found,) = differences(api_key, made(one), made(other), identities(), "strict")
        assert found.partition("hmac")[1:] == ("hmac", ": (redacted, 64 bytes), live (redacted, 64 bytes)")


@pytest.mark.parametrize(
    ("name", "kind", "found"),
    [
        ("ssl.key.password", 4, "(redacted, 6 bytes), live (redacted, 9 bytes)"),
        ("a.plugins.own", 4, "(redacted, 6 bytes), live (redacted, 9 bytes)"),
        ("log.retention.ms", 4, "'S3CRET', live 'T3CRET-T3'"),
        ("org.example", 8, "'S3CRET', live 'T3CRET-T3'"),
    ],
)
def test_configs_that_are_secrets(name: str, kind: int, found: str) -> None:
    def answer(value: str | None) -> dict[str, Any]:
        configs = [{"name": name, "value": value, "synonyms": [{"name": name, "value": value}]}]
        return {"results": [{"resourceType": kind, "resourceName": "1", "configs": configs}]}

    texts = list(differences(DESCRIBE_CONFIGS, answer("S3CRET"), answer("T3CRET-T3"), identities(), "strict"))
    assert texts == [f"results.configs.{path}: {found}" for path in ("value", "synonyms.value")]
    texts = list(differences(DESCRIBE_CONFIGS, answer(None), answer("T3CRET-T3"), identities(), "strict"))
    assert all(
        text.startswith(f"results.configs.{path}: None, live")
        for text, path in zip(texts, ("value", "synonyms.value"), strict=True)
    )


def test_records_are_equal_however_they_are_batched() -> None:
    rows = [(at, b"k", f"{at}".encode(), (("h", b"1"),)) for at in (5, 6)]
    whole, parts = build_batch(rows), build_batch(rows[:1]) + build_batch(rows[1:], 1)
    assert content_of(whole) == content_of(parts) != content_of(build_batch(rows[:1])) != []
    assert [value for _, value, _ in content_of(whole)] == [b"5", b"6"]
    assert content_of(None) == content_of(b"") == []
    broken = whole[:-2] + b"\x08" + whole[-1:]  # a header's value beyond the end
    assert content_of(broken) == [(broken,)]

"""What a definition may not change of the versions that a release has."""

import copy
from typing import Any

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.checks.draft_check import broken_promises, released_versions
from kcli.schemas.definition import build
from kcli.schemas.table_files import to_raw

FETCH = catalog().message("FetchRequest")
RAW = to_raw(FETCH)


def changed(**keys: Any) -> dict[str, Any]:
    return copy.deepcopy(RAW) | keys


def with_field(name: str, /, **keys: Any) -> dict[str, Any]:
    raw = changed()
    next(each for each in raw["fields"] if each["name"] == name).update(keys)
    return raw


def added(**keys: Any) -> dict[str, Any]:
    raw = changed()
    raw["fields"].append({"name": "added", "type": "int32", **keys})
    return raw


def without(name: str) -> dict[str, Any]:
    raw = changed()
    raw["fields"] = [each for each in raw["fields"] if each["name"] != name]
    return raw


def rules(raw: dict[str, Any], release: str = "4.4") -> set[tuple[str, str]]:
    return {(path, rule) for path, rule, _ in broken_promises(FETCH, build(raw), release)}


def test_every_message_keeps_its_promises() -> None:
    for name in catalog().names:
        message = catalog().message(name)
        assert list(broken_promises(message, message, "4.4")) == [], name


@pytest.mark.parametrize(
    "raw",
    [
        changed(validVersions="0-19"),
        changed(validVersions="4-18"),
        added(versions="19+"),
        added(versions="13+", taggedVersions="13+", tag=7),
        with_field("maxWaitMs", name="longestWaitMs"),
    ],
)
def test_what_is_lawful(raw: dict[str, Any]) -> None:
    assert rules(raw) == set()


@pytest.mark.parametrize(
    ("raw", "path", "rule"),
    [
        (changed(apiKey=77), "", "released-key"),
        (changed(validVersions="0-17"), "", "released-gone"),
        (changed(flexibleVersions="11+"), "", "released-flexible"),
        (changed(flexibleVersions="13+"), "", "released-flexible"),
        (with_field("maxWaitMs", type="int64"), "maxWaitMs", "released-type"),
        (with_field("rackId", nullableVersions="0+"), "rackId", "released-null"),
        (with_field("clusterId", tag=5), "clusterId", "released-tag"),
        (with_field("clusterId", default="c"), "clusterId", "released-default"),
        (with_field("sessionId", versions="8+"), "sessionId", "released-field"),
        (without("minBytes"), "minBytes", "released-field"),
        (without("replicaState"), "replicaState", "released-field"),
        (added(versions="0+"), "added", "released-field"),
    ],
)
def test_what_is_not(raw: dict[str, Any], path: str, rule: str) -> None:
    assert (path, rule) in rules(raw)


def test_an_order_that_changes_is_named() -> None:
    raw = changed()
    raw["fields"][3:5] = reversed(raw["fields"][3:5])
    assert {rule for _, rule in rules(raw)} == {"released-order"}


def test_a_release_promises_only_what_it_has() -> None:
    assert rules(with_field("sessionId", type="int64"), "2.4") != set()
    assert rules(changed(flexibleVersions="13+"), "2.4") == set()
    assert str(released_versions(FETCH, "2.4")) == "0-11"


def test_what_a_version_is_in_the_release_is_said() -> None:
    for since, text in (("11+", "versions 11 are not flexible in 4.4"), ("13+", "versions 12 are flexible in 4.4")):
        assert text in [said for _, _, said in broken_promises(FETCH, build(changed(flexibleVersions=since)), "4.4")]

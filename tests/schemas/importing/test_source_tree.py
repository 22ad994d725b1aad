"""Definitions in a tree of Kafka's sources; `tests/cli/schema/test_importing.py` writes them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kcli.errors import InputError
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.importing.source_tree import is_known, read_tree, release_of_tree
from kcli.schemas.vectors.export import to_definition
from tests.schemas.definitions import field, message


def test_every_message_of_the_tables_is_known() -> None:
    for name in catalog().names:
        assert is_known(catalog(), build(to_definition(catalog().message(name))))


@pytest.mark.parametrize(
    "change",
    [
        {"validVersions": "0-19"},
        {"flexibleVersions": "13+"},
        {"apiKey": 99},
        {"name": "FetchesRequest"},
    ],
)
def test_what_differs_is_not(change: dict[str, Any]) -> None:
    raw = to_definition(catalog().message("FetchRequest"))
    assert not is_known(catalog(), build(raw | change))


def test_a_field_that_differs() -> None:
    raw = to_definition(catalog().message("FetchRequest"))
    raw["fields"][1]["default"] = "5"
    assert not is_known(catalog(), build(raw))


def test_an_older_release_of_a_message_is_known() -> None:
    """Its versions are fewer, or it bears its former name."""
    assert is_known(catalog(), build(to_definition(catalog().message("FetchRequest")) | {"validVersions": "4-17"}))
    assert is_known(catalog(), build(message("GoneRequest", kind="request", apiKey=5, versions="none")))


def test_a_coordinators_record_had_no_key_before_4_1() -> None:
    raw = to_definition(catalog().message("OffsetCommitValue")) | {"type": "data"}
    raw.pop("apiKey")
    assert is_known(catalog(), build(raw))
    assert not is_known(catalog(), build(raw | {"type": "header"}))


def test_what_streams_puts_into_bytes_is_known() -> None:
    assert is_known(catalog(), build(to_definition(catalog().message("SubscriptionInfoData"))))


def test_links_and_builds_are_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "a/src/main/resources/common/message"
    place.mkdir(parents=True)
    (place / "Plan.json").write_text(json.dumps(message("Plan", field("A"))))
    (place / "loop").symlink_to(tmp_path)
    os.mkfifo(place / "Pipe.json")
    (place / "README.md").write_text("no definition")
    found = read_tree(tmp_path, catalog())
    assert (list(found.new), found.known, found.tests, found.problems) == (["Plan"], [], 0, [])


def test_a_tree_without_definitions(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(InputError, match=r"no message definitions in this tree, and no jars"):
        read_tree(tmp_path, catalog())


def test_the_release_of_a_tree(tmp_path: Path) -> None:
    assert release_of_tree(tmp_path) == ""
    (tmp_path / "gradle.properties").write_text("group=x\n# version=1\nversion = 4.5.0-SNAPSHOT\n")
    assert release_of_tree(tmp_path) == "4.5.0-SNAPSHOT"

"""Definitions in the form that Kafka's generator takes; tests/real/test_generator.py gives them to it."""

import json

import pytest

from kcli.cli.main import main
from kcli.schemas.catalog import catalog
from kcli.schemas.checks.generator_rules import broken_rules
from kcli.schemas.definition import build
from kcli.schemas.layout import layout
from kcli.schemas.ranges import Range
from kcli.schemas.vectors.export import to_definition
from kcli.schemas.vectors.notes import notes_of

NAMES = catalog().names


def test_every_message_leads_back_to_itself() -> None:
    for name in NAMES:
        check(name)


def check(name: str) -> None:
    """The definition made of a message gives that message again."""
    message = catalog().message(name)
    notes = catalog().notes(message)
    raw = json.loads(json.dumps(to_definition(message, notes)))
    assert broken_rules(raw) == [], name
    again = build(raw)
    assert (again.name, again.kind, again.api_key, again.versions) == (
        name,
        message.kind,
        message.api_key,
        message.versions,
    )
    assert all(layout(again, version) == layout(message, version) for version in message.versions), name
    assert notes_of(raw) == notes, name


def test_a_struct_in_two_places_is_a_common_one() -> None:
    raw = to_definition(catalog().message("DescribeTopicPartitionsRequest"))
    assert "commonStructs" not in raw
    many = [name for name in NAMES if "commonStructs" in to_definition(catalog().message(name))]
    assert len(many) > 5
    for name in many:
        for struct in to_definition(catalog().message(name))["commonStructs"]:
            assert set(struct) == {"name", "versions", "fields"}


def test_facts_besides_bytes_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "show", "MetadataRequest", "--format", "json"]) == 0
    raw = json.loads(capsys.readouterr().out)
    assert [*raw][:7] == ["apiKey", "type", "listeners", "name", "validVersions", "flexibleVersions", "fields"]
    assert raw["validVersions"] == "0-13" and catalog().message("FetchRequest").versions == Range(0, 18)
    assert main(["schema", "show", "FetchRequest", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["validVersions"] == "4-18"  # as Kafka 4 has it
    topics = raw["fields"][0]
    assert topics["fields"][1]["entityType"] == "topicName"
    assert raw["fields"][1]["default"] == "true"
    assert main(["schema", "show", "CreateTopicsRequest", "--format", "json"]) == 0
    assert '"mapKey": true' in capsys.readouterr().out


def test_an_unstable_version_is_marked() -> None:
    marked = [name for name in NAMES if to_definition(catalog().message(name)).get("latestVersionUnstable")]
    assert all(catalog().message(name).releases[-1].unstable for name in marked)

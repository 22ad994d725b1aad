from typing import Any

import pytest

from kcli.errors import SchemaError
from kcli.schemas.definition import build
from kcli.schemas.importing.merge import Tables, add_release, identity
from kcli.schemas.layout import layout
from kcli.schemas.model import Message, Releases
from kcli.schemas.ranges import Range
from tests.schemas.definitions import field, message


def said(raw: dict[str, Any], release: str, component: str = "clients") -> Message:
    built = build(raw)
    releases = (Releases(release, release, built.versions),) if built.versions else ()
    return built._replace(releases=releases, component=component)


def merged(*releases: dict[str, Any] | list[dict[str, Any]], component: str = "clients") -> Tables:
    """Releases 1.0, 1.1, ... of these definitions."""
    tables: Tables = {}
    before = None
    for number, raws in enumerate(releases):
        release = f"1.{number}"
        several = raws if isinstance(raws, list) else [raws]
        tables = add_release(tables, [said(raw, release, component) for raw in several], before)
        before = release
    return tables


def one(*releases: dict[str, Any], component: str = "clients") -> Message:
    (only,) = merged(*releases, component=component).values()
    return only


def paths(given: Message) -> dict[str, str]:
    return {each.name: str(each.versions) for each in given.fields}


def test_newer_versions_are_added() -> None:
    found = one(
        message("M", field("A"), versions="0-1"),
        message("M", field("A"), field("B", versions="2+"), versions="0-2"),
    )
    assert found.versions == Range(0, 2)
    assert [(str(each), str(each.versions)) for each in found.releases] == [("1.0", "0-1"), ("1.1", "0-2")]


def test_names_are_those_of_the_newest() -> None:
    found = one(message("M", field("RecordSet", "bytes")), message("M", field("Records", "records")))
    assert [(each.name, each.type) for each in found.fields] == [("records", "records")]
    assert not found.variants


def test_a_run_of_releases_that_say_the_same_is_one_entry() -> None:
    found = one(*[message("M", field("A"))] * 3, message("M", field("A"), versions="0-1"))
    assert [str(each) for each in found.releases] == ["1.0-1.2", "1.3"]


def test_a_release_read_again_changes_nothing() -> None:
    raws = [message("M", field("A")), message("M", field("A")), message("M", field("A"), field("B"))]
    tables = merged(*raws)
    assert add_release(tables, [said(raws[-1], "1.2")], "1.1") == tables


def test_versions_that_were_dropped_keep_their_fields() -> None:
    old = message("M", field("A"), field("Gone", versions="0-1"), field("S", "S", fields=[field("X"), field("Y")]))
    new = message("M", field("A"), field("S", "S", fields=[field("X"), field("Y", versions="2+")]), versions="2-3")
    found = one({**old, "validVersions": "0-2"}, new)
    assert found.versions == Range(0, 3)
    assert paths(found) == {"a": "0+", "gone": "0-1", "s": "0+"}
    assert str(found.fields[2].fields[1].versions) == "0+"
    for version in (0, 1):
        assert layout(found, version) == layout(build(old), version)


def test_a_field_that_old_versions_lack_is_cut_out_of_them() -> None:
    old = message("M", field("A"), versions="0-1")
    new = message("M", field("A"), field("B"), versions="2")
    assert paths(one(old, new)) == {"a": "0+", "b": "2+"}


def test_a_stub_of_a_dropped_message_is_no_definition() -> None:
    found = one(message("M", field("A")), message("M", versions="none"))
    assert paths(found) == {"a": "0+"}
    assert [str(each) for each in found.releases] == ["1.0"]


def test_tags_of_either_release_are_known() -> None:
    first, second = (field(name, taggedVersions="0+", tag=tag) for name, tag in (("T", 0), ("U", 1)))
    found = one(message("M", first, flexibleVersions="0+"), message("M", second, flexibleVersions="0+"))
    assert sorted((each.name, each.tag) for each in found.fields) == [("t", 0), ("u", 1)]
    assert not found.variants


def test_layouts_that_part_become_variants() -> None:
    found = one(
        message("M", field("A"), flexibleVersions="none"),
        message("M", field("A"), field("B")),
        message("M", field("A"), field("B")),
        message("M", field("A"), field("C", "int64")),
    )
    assert paths(found) == {"a": "0+", "c": "0+"}
    assert [each.name for each in found.variants] == ["before 1.1", "before 1.3"]
    assert [list(paths(each.message)) for each in found.variants] == [["a"], ["a", "b"]]
    assert [[str(run) for run in each.message.releases] for each in found.variants] == [["1.0"], ["1.1-1.2"]]


def test_requests_are_one_by_their_key() -> None:
    old = message("AlterIsrRequest", field("A"), kind="request", apiKey=56)
    found = one(old, {**old, "name": "AlterPartitionRequest"})
    assert found.name == "AlterPartitionRequest"
    assert found.aliases == ("AlterIsrRequest",)
    assert identity(found) == ("request", "56")


def test_old_keys_of_records_become_types() -> None:
    old = message("OffsetCommitKey", field("Group", "string", versions="0-1"), versions="0-1")
    zero = message("LegacyOffsetCommitKey", field("Group", "string"), kind="coordinator-key", apiKey=0)
    first = message("OffsetCommitKey", field("Group", "string"), kind="coordinator-key", apiKey=1)
    tables = merged([old], [zero, first], component="group")
    assert sorted(each.name for each in tables.values()) == ["LegacyOffsetCommitKey", "OffsetCommitKey"]
    for each in tables.values():
        assert each.versions == Range(0, 0)
        assert [str(run) for run in each.releases] == ["1.0-1.1"]
        assert not each.variants


def test_an_old_key_that_lay_otherwise_is_a_variant() -> None:
    old = message("OffsetCommitKey", field("Group", "string", versions="1"), versions="1")
    new = message("OffsetCommitKey", field("Group", "int64"), kind="coordinator-key", apiKey=1)
    (found,) = merged([old], [new], component="group").values()
    assert [each.name for each in found.variants] == ["before 1.1"]


def test_what_cannot_be_merged_is_refused() -> None:
    old = message("M", field("A", versions="0-1"), versions="0-1")
    new = message("M", field("A", versions="3+"), versions="3")
    with pytest.raises(SchemaError, match="M v1: a: version 1 does not adjoin 3\\+"):
        merged(old, new)

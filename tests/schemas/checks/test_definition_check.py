from typing import Any

import pytest

from kcli.schemas.catalog import catalog
from kcli.schemas.checks.definition_check import check_message, check_pair, check_versions_of_pair, repair
from kcli.schemas.definition import build
from tests.schemas.definitions import field, message


def tagged(name: str, tag: int | None, versions: str = "0+", kind: str = "int8") -> dict[str, Any]:
    return field(name, kind, versions, taggedVersions=versions, tag=tag)


def found(*fields: dict[str, Any], versions: str = "0-2") -> list[tuple[str, str]]:
    built = build(message("M", *fields, versions=versions, flexibleVersions="0+"))
    return [(finding.rule, finding.path) for finding in check_message(built)]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([tagged("A", 0), tagged("B", 0)], [("tag-clash", "b")]),
        ([tagged("A", 0, "0-1"), tagged("B", 0, "2+")], []),
        ([field("S", "S", fields=[tagged("A", 0), tagged("B", 0)])], [("tag-clash", "s.b")]),
        ([tagged("A", None)], [("tag-missing", "a")]),
        ([field("A", tag=3)], [("tag-unused", "a")]),
        ([field("A", versions="12+")], [("versions-outside", "a")]),
        ([field("A", versions="1+"), field("B", versions="0-9")], []),
        ([field("A"), field("A")], [("name-twice", "a")]),
        ([field("A", versions="0-1"), field("A", versions="2+")], []),
        ([field("A", "int8", nullableVersions="0+")], [("not-nullable", "a")]),
        ([field("A", "string", default="null")], [("null-default", "a")]),
        ([field("A", "string", default="null", nullableVersions="1+")], []),
        ([field("A", "records")], []),
    ],
)
def test_rules(fields: list[dict[str, Any]], expected: list[tuple[str, str]]) -> None:
    """What KIP-630's draft has and a checker should find: one tag twice, versions outside the message's; and more."""
    assert found(*fields) == expected


def test_a_tag_where_there_is_no_place_for_one() -> None:
    built = build(message("M", tagged("A", 0), versions="0-2", flexibleVersions="2+"))
    assert [(finding.rule, finding.text) for finding in check_message(built)] == [
        ("tag-inflexible", "tagged in version 0, which is not flexible: there is no place for tags")
    ]


def test_one_struct_name_with_two_shapes() -> None:
    """KIP-630's draft has one struct name with two shapes."""
    one, other = field("One", "S", fields=[field("A")]), field("Two", "[]S", fields=[field("B", "string")])
    (finding,) = check_message(build(message("M", one, other)))
    assert (
        str(finding) == "M: two: struct S is {b string} here, but {a int32} at one: each keeps its own [struct-shapes]"
    )


def test_what_a_pair_disagrees_about() -> None:
    request = build(message("XRequest", field("Id", "string"), field("Same"), kind="request", versions="0-1"))
    response = build(message("XResponse", field("Id", "int32"), field("Same"), kind="response"))
    assert [(finding.rule, finding.path) for finding in check_pair(request, response)] == [("types-differ", "id")]
    assert [finding.rule for finding in check_versions_of_pair(request, response)] == ["versions-differ"]
    assert check_versions_of_pair(request, request) == []


def test_the_next_free_tag_is_assigned() -> None:
    fields = [tagged("A", 0), tagged("B", 1), tagged("C", 0), tagged("D", None)]
    mended, findings = repair(build(message("M", *fields, flexibleVersions="0+")))
    assert [each.tag for each in mended.fields] == [0, 1, 2, 3]
    assert [finding.path for finding in findings] == ["c", "d"]
    assert not check_message(mended)


def test_what_needs_no_repair_stays_as_it_is() -> None:
    built = catalog().message("FetchResponse")
    assert repair(built) == (built, [])


def test_stock_messages_contradict_themselves_nowhere() -> None:
    assert not [(name, finding.rule) for name in catalog().names for finding in check_message(catalog().message(name))]

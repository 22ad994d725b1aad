from typing import Any

import pytest

from kcli.errors import SchemaError
from kcli.schemas.definition import ZERO_UUID, build, camel, parse_text
from kcli.schemas.ranges import NONE, Range
from tests.schemas.definitions import field, message


def test_comments_and_text_after_the_object_are_left_out() -> None:
    text = """// licence "quoted"
    { "name": "a // no comment", /* nor
      this */ "about": "say \\"x\\" // y" } // end
    ] }
    """
    assert parse_text(text) == {"name": "a // no comment", "about": 'say "x" // y'}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('// one\n/* two\n*/ {"a": }', "line 3, column 10"),
        ("[]", "a JSON object expected, not list"),
        ("", "line 1, column 1"),
        ("[" * 100_000, "nested too deep"),
        ('{"name": ' + "9" * 10_000 + "}", "too many digits"),
    ],
)
def test_what_is_no_definition(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        parse_text(text)


@pytest.mark.parametrize(("name", "expected"), [("ISRs", "iSRs"), ("TopicId", "topicId"), ("x", "x"), ("", "")])
def test_only_the_first_letter_is_lowered(name: str, expected: str) -> None:
    assert camel(name) == expected


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("int32", "0x7fffffff", 0x7FFFFFFF),
        ("int64", "-1", -1),
        ("int8", -2, -2),
        ("bool", "true", True),
        ("bool", False, False),
        ("float64", "1.5", 1.5),
        ("string", "null", None),
        ("string", "0", "0"),
        ("bytes", "", b""),
        ("int32", "", 0),
        ("[]int32", "null", None),
        ("uuid", None, None),
    ],
)
def test_a_default_has_the_type_of_its_field(kind: str, given: object, expected: object) -> None:
    built = build(message("M", field("F", kind, default=given))).fields[0].default
    assert (built, type(built)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("int16", 0),
        ("bool", False),
        ("string", ""),
        ("bytes", b""),
        ("records", None),
        ("uuid", ZERO_UUID),
        ("float64", 0.0),
        ("[]string", ()),
    ],
)
def test_the_default_of_a_field_without_one(kind: str, expected: object) -> None:
    assert build(message("M", field("F", kind))).fields[0].default == expected


def test_a_struct_has_its_members_and_their_defaults() -> None:
    inner = field("Inner", "Pair", fields=[field("A"), field("B", "string")])
    (built,) = build(message("M", inner)).fields
    assert built.is_struct
    assert not built.is_array
    assert built.default == {}
    assert [member.name for member in built.fields] == ["a", "b"]


def test_common_structs_serve_every_field_that_names_them() -> None:
    common = [{"name": "Pair", "versions": "0+", "fields": [field("A"), field("Deep", "Leaf")]}]
    common.append({"name": "Leaf", "versions": "0+", "fields": [field("X")]})
    built = build(message("M", field("One", "Pair"), field("Many", "[]Pair"), commonStructs=common))
    assert built.fields[0].fields == built.fields[1].fields
    assert built.fields[1].fields[1].fields[0].name == "x"


def test_one_struct_name_may_have_two_shapes() -> None:
    one, other = field("One", "S", fields=[field("A")]), field("Other", "S", fields=[field("B")])
    built = build(message("M", one, other))
    assert [each.fields[0].name for each in built.fields] == ["a", "b"]


def test_a_field_without_versions_is_in_those_in_which_it_is_tagged() -> None:
    raw = {"name": "ReplicaState", "type": "int8", "taggedVersions": "15+", "tag": 1}
    for more in ({}, {"versions": " "}):
        (built,) = build(message("M", raw | more)).fields
        assert (str(built.versions), str(built.tagged), built.tag) == ("15+", "15+", 1)


def test_a_field_may_go_against_the_flexible_versions() -> None:
    built = build(message("M", field("ClientId", "string", flexibleVersions="none"), field("Other")))
    assert built.fields[0].flexible == NONE
    assert built.fields[1].flexible is None


def test_versions_and_releases() -> None:
    raw = message("M", versions="2-5", releases={"2.8-3.9": ["0-3", "broker controller", "unstable"], "4.0": ["1", ""]})
    built = build(raw)
    assert built.versions == Range(2, 5)
    first, last = built.releases
    assert (first.since, first.until, first.enabled) == ("2.8", "3.9", Range(0, 2))
    assert first.listeners == ("broker", "controller")
    assert (last.since, last.until, last.listeners) == ("4.0", "4.0", ())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"name": 3}, 'the message: "name" is 3'),
        ({"type": "letter"}, "M: type 'letter' is none of request"),
        ({"validVersions": None}, 'M: "validVersions" is missing'),
        ({"validVersions": "x"}, 'M: "validVersions": "x" is no range'),
        ({"apiKey": "one"}, "M: \"apiKey\" is 'one'"),
        ({"apiKey": True}, 'M: "apiKey" is True'),
        ({"fields": {}}, "M: a list of JSON objects expected"),
        ({"fields": [3]}, "M: a list of JSON objects expected"),
        ({"fields": [{"type": "int8"}]}, 'M: "name" is missing'),
        ({"fields": [{"name": "F"}]}, 'M.f: "type" is missing'),
        ({"fields": [field("F", "Nothing")]}, 'M.f: "Nothing" is neither a type nor a struct'),
        ({"fields": [field("F", "int8", default="300")]}, "M.f: default '300': -128 to 127 expected"),
        ({"fields": [field("F", "bool", default="yes")]}, "M.f: default 'yes': true or false expected"),
        ({"fields": [field("F", "string", default=[])]}, r"M.f: default \[\]: a text expected"),
        ({"fields": [{**field("F"), "versions": 3}]}, 'M.f: "versions" is 3'),
        ({"fields": [field("F", tag="x")]}, "M.f: \"tag\" is 'x'"),
        ({"commonStructs": [{"name": "S", "fields": [field("F", "S")]}], "fields": [field("F", "S")]}, "holds itself"),
    ],
)
def test_a_definition_that_makes_no_sense_is_named(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        build({**message("M"), **change})


def test_nesting_is_bounded() -> None:
    deep = field("Leaf")
    for number in range(40):
        deep = field(f"F{number}", f"S{number}", fields=[deep])
    with pytest.raises(SchemaError, match="more than 32 deep"):
        build(message("M", deep))


def test_a_default_of_jsons_null_is_none_that_was_given() -> None:
    """As Kafka's generator reads it (FieldSpec); "null" is the text that says null."""
    raw = parse_text(
        '{"name": "M", "type": "data", "validVersions": "0", "flexibleVersions": "0+", "fields": ['
        '{"name": "A", "type": "[]int8", "versions": "0+", "nullableVersions": "0+", "default": null},'
        '{"name": "B", "type": "[]int8", "versions": "0+", "nullableVersions": "0+", "default": "null"}]}'
    )
    assert [each.default for each in build(raw).fields] == [(), None]


def test_structs_that_hold_each_other_twice_are_bounded() -> None:
    """Each of 24 structs has two fields of the next: 16 million fields in two kilobytes."""
    structs = [
        {"name": f"S{n}", "versions": "0+", "fields": [field("a", f"S{n + 1}"), field("b", f"S{n + 1}")]}
        for n in range(24)
    ]
    structs.append({"name": "S24", "versions": "0+", "fields": [field("leaf", "int8")]})
    with pytest.raises(SchemaError, match="more than 10,000 fields"):
        build(message("X", field("x", "S0"), commonStructs=structs))

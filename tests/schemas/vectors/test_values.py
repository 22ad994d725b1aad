"""Values that show how each field of a message is written; Kafka's own code judges them in tests/real."""

from typing import Any

import pytest

from kcli.errors import SchemaError
from kcli.grammar import messages
from kcli.records import scan
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.ranges import Range
from kcli.schemas.vectors.values import BATCH, MOST_FIELDS, UNKNOWN_TAG, vectors
from tests.schemas.definitions import field, message


def made(*fields: Any, version: int = 0, **more: Any) -> dict[str, dict[str, Any]]:
    return dict(vectors(build(message("M", *fields, **more)), version))


def test_a_message_may_have_too_many_fields() -> None:
    assert len(made(*(field(f"f{n}") for n in range(MOST_FIELDS)))) > MOST_FIELDS
    with pytest.raises(SchemaError, match=r"M 0 has 401 fields; vectors are made of 400 at most"):
        made(*(field(f"f{n}") for n in range(MOST_FIELDS + 1)))


@pytest.mark.parametrize(
    ("kind", "cases"),
    [
        ("int8", {"min": -128, "max": 127}),
        ("uint16", {"min": 0, "max": 65535}),
        ("int64", {"min": -(1 << 63), "max": (1 << 63) - 1}),
        ("bool", {"false": False, "true": True}),
        ("string", {"empty": "", "one byte": "x", "127 bytes": "x" * 127, "128 bytes": "x" * 128,
                    "2, 3 and 4 bytes a character": "ä€😀"}),
        ("bytes", {"empty": b"", "one byte": b"\0", "127 bytes": bytes(range(127)), "128 bytes": bytes(range(128))}),
        ("[]int8", {"empty": [], "two": [0, 0], "128 entries": [0] * 128, "[min]": [-128], "[max]": [127]}),
        ("records", {"empty": b"", "a batch": BATCH}),
    ],
)  # fmt: skip
def test_the_edges_of_a_type(kind: str, cases: dict[str, Any]) -> None:
    found = made(field("a", kind))
    wanted = {"defaults", "one of each", *(f"a: {case}" for case in cases), "all changed"}
    assert set(found) == wanted
    assert {case: found[f"a: {case}"]["a"] for case in cases} == cases


def test_null_where_the_version_allows_it() -> None:
    raw = field("a", "string", nullableVersions="1+")
    assert "a: null" not in made(raw, validVersions="0-1")
    assert made(raw, validVersions="0-1", version=1)["a: null"] == {"a": None}


def test_fields_in_structs_and_arrays() -> None:
    inner: dict[str, Any] = {"fields": [field("b"), field("c", "string")]}
    found = made(field("a", "[]A", **inner), field("s", "S", nullableVersions="0+", **inner))
    assert found["one of each"] == {"a": [{"b": 0, "c": ""}], "s": {"b": 0, "c": ""}}
    assert found["a.b: max"] == {"a": [{"b": (1 << 31) - 1, "c": ""}], "s": {"b": 0, "c": ""}}
    assert found["a: empty"]["a"] == []
    assert len(found["a: two"]["a"]) == 2
    assert found["s: null"]["s"] is None


def test_tags_that_are_sent_and_those_that_nobody_knows() -> None:
    """Each alone; at its default it is left out, as Kafka's code does, also behind a struct whose members are."""
    inner: dict[str, Any] = {"fields": [field("b"), field("c", "string")]}
    found = made(
        field("t", "int8", taggedVersions="0+", tag=0, default="5"),
        field("u", "U", taggedVersions="0+", tag=1, **inner),
        field("v", "[]int8", taggedVersions="0+", tag=2, nullableVersions="0+", default="null"),
        flexibleVersions="0+",
    )
    assert found["one of each"] == {"v": [0]}
    assert found["t: max"] == {"t": 127, "v": [0]}
    assert found["u.b: min"] == {"u": {"b": -(1 << 31), "c": ""}, "v": [0]}
    assert found["v: null"] == {}
    assert found["v: empty"] == {"v": []}
    unknown = [{"tag": UNKNOWN_TAG, "data": b"new"}]
    assert found["message: unknown tag"]["_unknownTaggedFields"] == unknown
    assert found["u: unknown tag"]["u"]["_unknownTaggedFields"] == unknown
    assert set(found["all changed"]) == {"t", "u", "v"}


def test_the_batch_is_a_sound_one() -> None:
    (batch,) = scan(BATCH)
    assert [record.value for record in batch.records()] == [b"v"]


def test_every_version_has_vectors_that_decode_to_what_they_are() -> None:
    for name in catalog().names:
        known = catalog().message(name)
        for version in {known.versions.lo, known.versions.hi} if known.versions else ():
            codec = messages.data(name, version)
            for case, value in vectors(known, version):
                data = codec.write(value)
                assert codec.skip(data) == len(data), (name, version, case)
    assert catalog().message("FetchRequest").versions == Range(0, 18)

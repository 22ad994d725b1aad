from typing import Any

import pytest

from kcli.schemas.definition import build
from kcli.schemas.layout import holds, layout, reads
from tests.schemas.definitions import field, message

PLAIN = [field("A", "string"), field("B", "[]int32")]
TAGGED = [field("T", "int8", taggedVersions="0+", tag=0)]
PAIR = field("P", "Pair", fields=[field("X"), field("Y", "int64")])


def lies(fields: list[dict[str, Any]], flexible: str = "0+") -> Any:
    return layout(build(message("M", *fields, flexibleVersions=flexible)), 0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, [field("Other", "string"), field("Names", "[]int32")]),
        ([field("A", "records")], [field("A", "bytes")]),
        ([field("A", "string")], [field("A", "string", nullableVersions="0+", default="null")]),
        ([*PLAIN, field("Later", versions="1+")], PLAIN),
        ([field("A"), *TAGGED, field("B")], [*TAGGED, field("A"), field("B")]),
    ],
)
def test_names_defaults_null_and_other_versions_change_no_layout(one: list[Any], other: list[Any]) -> None:
    assert lies(one) == lies(other)
    assert holds(lies(one), lies(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, PLAIN[::-1]),
        (PLAIN, PLAIN[:1]),
        ([field("A", "int32")], [field("A", "uint32")]),
        ([field("A", "int32")], [field("A", "[]int32")]),
        ([PAIR], [{**PAIR, "nullableVersions": "0+"}]),
        ([PAIR], [{**PAIR, "fields": PAIR["fields"][:1]}]),
        ([field("A", "string")], [field("A", "string", flexibleVersions="none")]),
        (TAGGED, [field("T", "int16", taggedVersions="0+", tag=0)]),
        (TAGGED, [field("T", "int8")]),
    ],
)
def test_what_does_change_it(one: list[Any], other: list[Any]) -> None:
    assert not reads(lies(one), lies(other))


def test_flexible_or_not() -> None:
    assert not reads(lies(PLAIN), lies(PLAIN, "none"))


def test_a_tag_that_only_one_knows_is_no_obstacle_but_not_held() -> None:
    with_tag, without = lies([PAIR, *TAGGED]), lies([PAIR])
    assert reads(with_tag, without)
    assert reads(without, with_tag)
    assert holds(with_tag, without)
    assert not holds(without, with_tag)


def test_tags_inside_structs_count_too() -> None:
    deep = lies([{**PAIR, "fields": [*PAIR["fields"], *TAGGED]}])
    assert reads(lies([PAIR]), deep)
    assert not holds(lies([PAIR]), deep)

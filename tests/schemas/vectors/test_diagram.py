"""Byte diagrams: boxes in the order of the bytes, structs by themselves."""

from typing import Any

import pytest

from kcli.grammar import messages
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.model import Message
from kcli.schemas.vectors.diagram import WIDEST, diagrams
from kcli.schemas.vectors.values import vectors
from tests.schemas.definitions import field, message


def drawn(*fields: dict[str, Any], version: int = 0, **more: Any) -> dict[str, list[str]]:
    return dict(diagrams(build(message("M", *fields, **more)), version))


def test_a_row_of_boxes() -> None:
    assert drawn(field("a"), field("b", "string", nullableVersions="0+"))["M v0"] == [
        "+-------+-----------------+",
        "| a     | b               |",
        "| int32 | nullable string |",
        "| 4     | 2 + n           |",
        "+-------+-----------------+",
    ]


@pytest.mark.parametrize(
    ("kind", "more", "flexible", "said"),
    [
        ("string", {}, "none", ("string", "2 + n")),
        ("string", {}, "0+", ("compact string", "varint + n")),
        ("string", {"flexibleVersions": "none"}, "0+", ("string", "2 + n")),
        ("bytes", {}, "none", ("bytes", "4 + n")),
        ("records", {"nullableVersions": "0+"}, "0+", ("nullable compact records", "varint + n")),
        ("uuid", {}, "0+", ("uuid", "16")),
        ("[]int8", {}, "none", ("array of int8", "4 + n entries")),
        ("[]S", {"fields": [field("x")]}, "0+", ("array of S", "varint + n entries")),
        ("S", {"fields": [field("x")]}, "none", ("S", "its fields")),
        ("S", {"fields": [field("x")], "nullableVersions": "0+"}, "none", ("nullable S", "1 + its fields")),
    ],
)
def test_what_a_box_says(kind: str, more: dict[str, Any], flexible: str, said: tuple[str, str]) -> None:
    lines = drawn(field("a", kind, **more), flexibleVersions=flexible)["M v0"]
    cells = [line.split("|")[1].strip() for line in lines[1:4]]
    assert cells == ["a", *said]


def test_tags_and_structs_come_behind() -> None:
    found = drawn(
        field("s", "[]S", fields=[field("x"), field("t", "T", fields=[field("y")])]),
        field("u", "int8", taggedVersions="0+", tag=1),
        field("v", "int8", taggedVersions="0+", tag=0),
        flexibleVersions="0+",
    )
    assert list(found) == ["M v0", "M v0: tagged fields", "s: each entry", "s.t"]
    assert "| tagged fields " in found["M v0"][1]
    assert found["M v0: tagged fields"][1] == "| tag 0: v | tag 1: u |"


def test_of_another_version_only_its_fields() -> None:
    assert "old" in drawn(field("old", versions="0"), field("new", versions="1+"), versions="0-1")["M v0"][1]
    assert (
        "old"
        not in drawn(field("old", versions="0"), field("new", versions="1+"), versions="0-1", version=1)["M v1"][1]
    )
    assert drawn() == {"M v0": []}


def test_rows_are_not_too_wide() -> None:
    for name in catalog().names:
        known = catalog().message(name)
        for _, lines in diagrams(known, known.versions.hi) if known.versions else ():
            assert all(len(line) <= WIDEST + 1 for line in lines)


def size(known: Message, version: int) -> int:
    """The bytes of what has a fixed width in the first diagram."""
    (_, lines), *_ = diagrams(known, version)
    boxes = [line.split("|")[1:-1] for line in lines if line.startswith("|")]
    return sum(int(cell) for row in boxes[2::3] for cell in row if cell.strip().isdigit())


def test_the_sizes_are_those_that_are_written() -> None:
    """Of messages whose fields all have a fixed width."""
    for name in ("HeartbeatResponse", "ControllerMutationQuota", "RemoveTopicRecord", "NoOpRecord", "EndTxnMarker"):
        if name not in catalog().names:
            continue
        known = catalog().message(name)
        version = known.versions.lo
        data = messages.data(name, version).write(next(iter(vectors(known, version))).value)
        assert len(data) == size(known, version) + known.is_flexible(version)

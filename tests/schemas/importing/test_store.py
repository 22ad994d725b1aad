import json

from kcli.schemas.catalog import catalog
from kcli.schemas.definition import build
from kcli.schemas.table_files import ordered, to_line, to_raw
from tests.schemas.definitions import field, message


def test_every_message_comes_back_from_its_line() -> None:
    for name in catalog().names:
        stored = catalog().message(name)
        assert build(json.loads(to_line(stored))) == stored, name
        assert to_line(stored) == catalog().lines[name]


def test_a_struct_is_written_once() -> None:
    pair = [field("A")]
    built = build(message("M", field("One", "Pair", fields=pair), field("Two", "[]Pair", fields=pair)))
    assert ["fields" in each for each in to_raw(built)["fields"]] == [True, False]
    assert build(to_raw(built)) == built


def test_defaults_that_go_without_saying_are_left_out() -> None:
    raws = [field("A"), field("B", "string"), field("C", "uuid"), field("D", "bool"), field("E", "[]int8")]
    built = build(message("M", *raws, field("F", "bool", default=True), field("G", "string", default="null")))
    assert [each["default"] for each in to_raw(built)["fields"] if "default" in each] == [True, None]
    assert build(to_raw(built)) == built


def test_the_order_is_by_kind_then_number() -> None:
    raws = [
        message("Z", kind="data"),
        message("B", kind="response", apiKey=1),
        message("A", kind="request", apiKey=10),
        message("C", kind="request", apiKey=2),
    ]
    assert [each.name for each in ordered(build(raw) for raw in raws)] == ["C", "A", "B", "Z"]

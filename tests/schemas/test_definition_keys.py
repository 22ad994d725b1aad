"""Values of definitions as Jackson makes them (tests/real/test_generator.py asks the generator itself)."""

from typing import Any

import pytest

from kcli.schemas.definition_keys import coerce, coerced, fits


@pytest.mark.parametrize(
    ("value", "kind", "made"),
    [
        ("1", int, 1),
        (" +7 ", int, 7),
        ("1.0", int, "1.0"),
        ("1_0", int, "1_0"),
        ("", int, None),
        ("null", int, None),
        (3.9, int, 3),
        (float("inf"), int, float("inf")),
        (True, int, True),
        ("True", bool, True),
        ("FALSE", bool, False),
        ("tRUE", bool, "tRUE"),
        ("", bool, None),
        (2, bool, True),
        (0, bool, False),
        (1.0, bool, 1.0),
        (7, str, "7"),
        (True, str, "true"),
        ({}, list, [{}]),
        ("broker", tuple, ["broker"]),
        ("broker", list, "broker"),
        ([1], str, [1]),
    ],
)
def test_what_jackson_makes(value: Any, kind: type, made: Any) -> None:
    found = coerced(value, kind)
    assert found == made and type(found) is type(made)


def test_what_fits() -> None:
    assert fits(1, int) and fits(True, bool) and fits([{}], list) and fits(["x"], tuple) and fits("x", str)
    assert not fits(True, int) and not fits(1, bool) and not fits(["x"], list) and not fits([{}], tuple)
    assert not fits("1", int) and not fits(None, str)


def test_null_is_as_no_key_where_the_key_is_known() -> None:
    raw: dict[str, Any] = {
        "commonStructs": [{"name": "S", "fields": None, "tag": None}],
        "fields": {"name": "A", "tag": "", "default": None, "mapKey": 0, "fields": [{"tag": "3"}]},
        "listeners": None,
        "mine": None,
    }
    coerce(raw)
    assert raw == {
        "commonStructs": [{"name": "S", "tag": None}],
        "fields": [{"name": "A", "mapKey": False, "fields": [{"tag": 3}]}],
        "mine": None,
    }

"""dialect.json: what makes sense in it is taken, and the rest is named with its place."""

from typing import Any

import pytest

from kcli.schemas.dialect_settings import read_settings


def test_what_makes_sense_is_taken() -> None:
    found = read_settings({"source": "a KIP", "apiKeys": {"A": 30001, "B": "7"}, "errors": {"-30227": "BAD_MOOD"}})
    assert (found.source, found.api_keys, found.errors) == ("a KIP", {"A": 30001, "B": 7}, {-30227: "BAD_MOOD"})
    assert found.faults == []


@pytest.mark.parametrize(
    ("raw", "path", "text"),
    [
        ({"error": {}}, "error", "'error' is unknown and ignored; did you mean errors?"),
        ({"x": {}}, "x", "'x' is unknown and ignored; there are apiKeys, errors, source"),
        ({"source": 5}, "source", "5: a text expected"),
        ({"apiKeys": [1]}, "apiKeys", '[1]: {"Api": key} expected'),
        ({"apiKeys": {"A": True}}, "apiKeys.A", "True is no API key: a number from 0 to 32767 expected"),
        ({"apiKeys": {"A": 1.5}}, "apiKeys.A", "1.5 is no API key: a number from 0 to 32767 expected"),
        ({"apiKeys": {"A": 32768}}, "apiKeys.A", "32768 is no API key: a number from 0 to 32767 expected"),
        ({"errors": None}, "errors", 'None: {"code": "NAME"} expected'),
        ({"errors": {"x": "A"}}, "errors.x", "'x' is no error code: a number from -32768 to 32767 expected"),
        (
            {"errors": {"40000": "A"}},
            "errors.40000",
            "'40000' is no error code: a number from -32768 to 32767 expected",
        ),
        ({"errors": {"400": ""}}, "errors.400", "'' is no name: a word expected, as in UNKNOWN_TOPIC_ID"),
        ({"errors": {"6": "A"}}, "errors.6", "error 6 is NOT_LEADER_OR_FOLLOWER in Apache Kafka"),
    ],
)
def test_what_makes_no_sense_is_named(raw: dict[str, Any], path: str, text: str) -> None:
    (found,) = read_settings(raw).faults
    assert (found.path, found.text) == (path, text)

"""Fields, tagged fields, and what a writer does with names and numbers."""

import pytest

from kcli.errors import EncodeError
from tests.grammar.cases import TAGGED, codec_of


def test_fields_left_out_take_their_defaults() -> None:
    assert codec_of(TAGGED).write({"x": {}}) == b"\0\0"


def test_underscored_names_are_notes_and_no_fields() -> None:
    assert codec_of(TAGGED).write({"x": {"a": 1, "_topicName": "t"}}) == b"\1\0"


def test_names_that_are_no_fields_are_refused_with_those_that_are() -> None:
    with pytest.raises(EncodeError, match=r"x: has no field 'A' in this version \(it has: a, s, t\)"):
        codec_of(TAGGED).write({"x": {"A": 1}})


def test_unknown_tags_come_as_base64_too() -> None:
    value = {"x": {"_unknownTaggedFields": [{"tag": 2, "data": "Pw=="}]}}
    assert codec_of(TAGGED).write(value) == b"\0\1\2\1?"


def test_defaults_of_the_plain_fields_make_the_least_size() -> None:
    assert TAGGED.least == 2

"""Partial messages: of all bytes the JSON of the whole message, of fewer what is in it, up to there."""

import contextlib
from typing import Any

import pytest

from kcli.errors import DecodeError
from kcli.grammar.codec import MessageCodec
from kcli.grammar.partial import partial_json
from kcli.grammar.words.trace import Span
from kcli.grammar.words.word import JsonForm
from kcli.jsontext import loads
from tests.messages import COMMON, SHAPES, written


def spans_of(codec: MessageCodec, data: bytes) -> list[Span]:
    spans: list[Span] = []
    with contextlib.suppress(DecodeError):
        codec.spans(data, 0, spans, secrets=True)
    return spans


@pytest.mark.parametrize("shape", SHAPES)
def test_of_all_bytes_it_is_the_message(shape: str) -> None:
    for codec, data in written(SHAPES[shape], *COMMON, "DescribeUserScramCredentialsResponse 0", "PartitionRecord 1"):
        text, _ = codec.json(data, records="raw", secrets=True)
        assert partial_json(spans_of(codec, data), JsonForm("raw")) == loads(text), codec.what


def test_of_fewer_it_is_a_part() -> None:
    for codec, data in written(SHAPES["strange"], "FetchRequest 17"):
        whole = loads(codec.json(data)[0])
        for size in range(len(data)):
            made = partial_json(spans_of(codec, data[:size]), JsonForm())
            assert is_part(made, whole), size


def is_part(made: Any, whole: Any) -> bool:
    if isinstance(made, dict):
        return all(name in whole and is_part(item, whole[name]) for name, item in made.items())
    if isinstance(made, list):
        return len(made) <= len(whole) and all(map(is_part, made, whole))
    return bool(made == whole)

"""Construct's own words inside kcli's."""

from typing import Any

import construct
import pytest
from construct import this

from kcli.errors import DecodeError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.words import primitives as kafka
from kcli.grammar.words.embedded import Embedded, as_word
from kcli.grammar.words.word import JsonForm


def test_words_and_messages_are_themselves() -> None:
    codec = messages.data("FetchRequest", 12)
    assert as_word(kafka.Int8) is kafka.Int8
    assert as_word(codec) is codec.grammar
    assert isinstance(as_word(construct.Int8ub), Embedded)
    with pytest.raises(TypeError, match="needs a construct, not 5"):
        as_word(5)


def test_a_message_of_construct_words_is_interpreted() -> None:
    codec = MessageCodec("Own", 0, kafka.Struct("n" / construct.Int8ub, "data" / construct.Bytes(this.n)))
    assert codec.compiled is None
    assert codec.read(b"\2abc") == ({"n": 2, "data": b"ab"}, 3)
    assert codec.json(b"\2abc") == (b'{"n":2,"data":"YWI="}', 3)
    assert codec.write({"n": 2, "data": b"ab"}) == b"\2ab"
    assert codec.skip(b"\2abc") == 3
    assert [(span.path, span.start, span.end) for span in codec.spans(b"\2ab")] == [("n", 0, 1), ("data", 1, 3)]
    with pytest.raises(DecodeError, match="Own v0: data: "):
        codec.read(b"\2a")
    assert MessageCodec("Own", 0, kafka.Struct("n" / kafka.Int8)).compiled is not None


def test_tagged_fields_see_the_plain_ones() -> None:
    word = kafka.Struct("n" / kafka.Int8, kafka.TaggedFields({0: "x" / construct.Bytes(this.n)}))
    assert word.parse(b"\2\1\0\2ab") == {"n": 2, "x": b"ab"}
    assert word.build({"n": 2, "x": b"ab"}) == b"\2\1\0\2ab"


@pytest.mark.parametrize(
    ("word", "data", "said"),
    [
        (construct.Const(b"MAGI"), b"XXXX\1", "expected b'MAGI'"),
        (construct.Check(lambda this: False), b"\1", "check failed"),
        (construct.Padding(3), b"\0", "expected 3, found 1"),
    ],
)
def test_an_unnamed_word_says_what_is_wrong(word: Any, data: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        kafka.Struct(word, "v" / kafka.Int8).parse(data)


def test_nothing_is_read_behind_the_end_of_a_tagged_field() -> None:
    word = kafka.Struct(kafka.TaggedFields({0: "x" / construct.GreedyRange(construct.Int16ub)}))
    assert word.parse(b"\1\0\4\0\1\0\2behind").x == [1, 2]
    with pytest.raises(DecodeError, match="x: a tagged field at 0x3 says 3 bytes and takes 2"):
        word.parse(b"\1\0\3\0\1\0")


def test_steering_passes_through() -> None:
    word = kafka.Struct("n" / kafka.Int8, "stop" / construct.StopIf(this.n == 0), "x" / kafka.Int8)
    assert word.parse(b"\0") == {"n": 0}
    assert word.parse(b"\1\2").x == 2
    with pytest.raises(construct.ExplicitError):
        kafka.Struct("x" / construct.Error).parse(b"")


def test_hooks_are_called() -> None:
    seen: list[int] = []
    word = kafka.Struct("n" / kafka.Int8 * (lambda value, _: seen.append(value)))
    assert word.parse(b"\7").n == 7
    assert seen == [7]


def test_json_of_what_construct_gives() -> None:
    inner = construct.Struct("data" / construct.Bytes(2), "rows" / construct.Int8ub[1])
    value = inner.parse(b"ab\1")
    assert Embedded(inner).json_value(value, JsonForm()) == {"data": "YWI=", "rows": [1]}

"""Every word inside construct's own classes, and construct's own inside every word."""

import io
from typing import Any, cast

import construct
import pytest
from construct import ConstructError, Container, ListContainer, SizeofError, this

from kcli.errors import DecodeError, EncodeError
from kcli.grammar import batches
from kcli.grammar.words import primitives as kafka
from kcli.grammar.words.trace import DecodeTrace
from tests.grammar import cases

EVERY = cases.CANONICAL + cases.ODD


@pytest.mark.parametrize("case", cases.CANONICAL, ids=lambda case: case.name)
def test_a_word_parses_and_builds_as_a_construct(case: cases.Case) -> None:
    assert case.word.parse(case.data) == case.value
    assert case.word.parse(bytearray(case.data + b"?")) == case.value
    assert case.word.build(case.value) == case.data


@pytest.mark.parametrize("case", cases.CANONICAL, ids=lambda case: case.name)
def test_a_word_stands_among_constructs_fields(case: cases.Case) -> None:
    around = construct.Struct("before" / construct.Int8ub, "x" / case.word, "after" / construct.Int16ub)
    found = around.parse(b"\7" + case.data + b"\1\2")
    assert (found.before, found.x, found.after) == (7, case.value, 0x0102)
    assert around.build({"before": 7, "x": case.value, "after": 0x0102}) == b"\7" + case.data + b"\1\2"


def wrapped(word: Any) -> list[tuple[Any, bytes, bytes | None]]:
    """(construct with that word in it, bytes before, bytes behind)."""
    return [
        (construct.Prefixed(construct.Int32ub, word), b"SIZE", b""),
        (construct.FocusedSeq("x", "a" / construct.Const(b"<"), "x" / word, construct.Const(b">")), b"<", b">"),
        (construct.Optional(word), b"", b""),
        (construct.Select(word, construct.GreedyBytes), b"", b""),
        (construct.Switch(this._params.kind, {1: word}), b"", b""),
        (construct.IfThenElse(this._params.kind == 1, word, construct.Pass), b"", b""),
        (construct.Padded(1000, word), b"", None),
        (construct.Bitwise(construct.Bytewise(word)), b"", b""),
    ]


@pytest.mark.parametrize("case", cases.CANONICAL, ids=lambda case: case.name)
def test_a_word_is_held_by_each_of_constructs_classes(case: cases.Case) -> None:
    for around, before, behind in wrapped(case.word):
        head = len(case.data).to_bytes(4, "big") if before == b"SIZE" else before
        data = head + case.data + (bytes(1000 - len(case.data)) if behind is None else behind)
        assert around.build(case.value, kind=1) == data, around
        assert around.parse(data, kind=1) == case.value, around


@pytest.mark.parametrize("case", cases.CANONICAL, ids=lambda case: case.name)
def test_rows_of_a_word(case: cases.Case) -> None:
    rows = [case.value] * 3
    for around in (construct.GreedyRange(case.word), case.word[3], construct.PrefixedArray(kafka.Int8, case.word)):
        data = around.build(rows)
        assert data.endswith(case.data * 3)
        assert around.parse(data) == rows
    whole = construct.RawCopy(case.word).parse(case.data + b"?")
    assert (whole.data, whole.value) == (case.data, case.value)
    lazy = construct.LazyArray(2, case.word).parse(case.data * 2)
    assert lazy[1] == case.value


@pytest.mark.parametrize("case", cases.CANONICAL, ids=lambda case: case.name)
def test_streams_are_left_behind_the_value(case: cases.Case, tmp_path: Any) -> None:
    path = tmp_path / "bytes"
    path.write_bytes(b"??" + case.data + b"rest")
    with path.open("rb") as file:
        file.seek(2)
        assert case.word.parse_stream(file) == case.value
        assert file.read() == b"rest"
    pipe: Any = Pipe(case.data + b"rest")
    assert case.word.parse_stream(pipe) == case.value
    assert pipe.read(10) == b"rest"
    memory = io.BytesIO(b"??" + case.data + b"rest")
    memory.seek(2)
    assert case.word.parse_stream(memory) == case.value
    assert memory.read() == b"rest"


class Pipe:
    """A stream that knows no place."""

    def __init__(self, data: bytes) -> None:
        self.inner = io.BytesIO(data)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(size)


def test_a_pipe_that_ends_is_an_error_with_its_place() -> None:
    for word in (kafka.Int32, kafka.CompactString, kafka.Varint, kafka.Array(kafka.Int8)):
        with pytest.raises(DecodeError):
            word.parse_stream(cast(Any, Pipe(b"\x85")))


@pytest.mark.parametrize("case", cases.CANONICAL + cases.ODD, ids=lambda case: case.name)
def test_sizes_are_those_of_the_bytes(case: cases.Case) -> None:
    try:
        assert case.word.sizeof() == len(case.data) == construct.Struct("x" / case.word).sizeof()
    except SizeofError:
        assert case.word.size is None
    stream = io.BytesIO(b"?" + case.data + b"?")
    stream.seek(1)
    assert case.word._actualsize(stream, Container(), "") == len(case.data)


def test_fixed_sizes() -> None:
    assert batches.BATCH_HEADER.sizeof() == 61
    assert (kafka.Int64.sizeof(), kafka.Uuid.sizeof(), kafka.Boolean.sizeof()) == (8, 16, 1)
    assert kafka.Struct("a" / kafka.Int8, "b" / kafka.Struct("c" / kafka.Int32)).sizeof() == 5
    assert kafka.Struct("n" / kafka.Int8, "b" / construct.Bytes(this._params.n)).sizeof(n=5) == 6
    for word in (kafka.String, kafka.Varint, kafka.Array(kafka.Int8), batches.RECORD, kafka.TaggedFields()):
        with pytest.raises(SizeofError, match="or more"):
            word.sizeof()


@pytest.mark.parametrize(("word", "data", "said"), [case[1:] for case in cases.WRONG_BYTES])
def test_wrong_bytes_are_construct_errors_with_their_path(word: Any, data: bytes, said: str) -> None:
    with pytest.raises(ConstructError) as raised:
        construct.Struct("x" / word).parse(data)
    assert isinstance(raised.value, DecodeError) and str(raised.value) == said
    with pytest.raises(DecodeError) as deep:
        construct.Struct("x" / construct.Struct(construct.Pass, "y" / word)).parse(data)
    assert str(deep.value) == "x.y" + said.removeprefix("x")
    assert construct.Optional(word).parse(data) is None


@pytest.mark.parametrize(("word", "value", "said"), [case[1:] for case in cases.WRONG_VALUES])
def test_wrong_values_are_construct_errors_with_their_path(word: Any, value: Any, said: str) -> None:
    with pytest.raises(ConstructError) as raised:
        construct.Struct("x" / word).build({"x": value})
    assert isinstance(raised.value, EncodeError) and said in str(raised.value)


def test_structs_give_containers() -> None:
    word = kafka.Struct("a" / kafka.Int8, "rows" / kafka.Array(kafka.Struct("b" / kafka.Int8)))
    found = word.parse(b"\1\0\0\0\1\2")
    assert found.rows[0].b == 2
    assert isinstance(found, Container) and isinstance(found.rows, ListContainer)
    assert [each.name for each in word.subcons] == ["a", "rows"]


@pytest.mark.parametrize("case", cases.ODD, ids=lambda case: case.name)
def test_odd_encodings_are_kept_in_structs_and_in_a_trace(case: cases.Case) -> None:
    word = kafka.Struct("x" / case.word)
    found = word.parse(case.data)
    assert found._encodings and word.build(found) == case.data
    inside = construct.Struct("name" / word)
    assert inside.build(inside.parse(case.data)) == case.data
    trace = DecodeTrace([])
    around = construct.Struct("x" / case.word)
    value = around.parse(case.data, trace=trace)
    assert around.build(value, trace=trace) == case.data
    assert trace.spans and trace.spans[0].path.startswith("x") and trace.context is None


def test_expressions_reach_over_both_kinds_of_word() -> None:
    word = kafka.Struct(
        "count" / construct.Rebuild(construct.Int8ub, construct.len_(this.rows)),
        "rows" / construct.Array(this.count, kafka.Struct("n" / kafka.Int8, "data" / construct.Bytes(this.n))),
        "sum" / construct.Computed(lambda context: sum(row["n"] for row in context.rows)),
        "outer" / construct.Computed(this._.given),
        kafka.TaggedFields({1: "deep" / construct.GreedyBytes}),
    )
    around = construct.Struct("given" / construct.Int8ub, "x" / word)
    made = around.build({"given": 7, "x": {"rows": [{"n": 1, "data": b"a"}, {"n": 2, "data": b"bc"}], "deep": b"?!"}})
    assert made == b"\7\2\1a\2bc\1\1\2?!"
    found = around.parse(made + b"behind").x
    assert (found.count, found.sum, found.outer, found.deep) == (2, 3, 7, b"?!")
    assert found.rows[1] == {"n": 2, "data": b"bc"}


def test_constructs_own_words_stand_in_each_of_ours() -> None:
    point = construct.Struct("x" / construct.Int8ub, "y" / construct.Int8ub)
    assert kafka.Array(point).parse(b"\0\0\0\1\1\2") == [{"x": 1, "y": 2}]
    assert kafka.CompactArray(construct.Int16ub).build([1, 2]) == b"\3\0\1\0\2"
    assert kafka.Optional(point).parse(b"\1\1\2") == {"x": 1, "y": 2}
    assert kafka.TaggedFields({0: "p" / point}).build({"p": {"x": 1, "y": 2}}) == b"\1\0\2\1\2"
    with pytest.raises(DecodeError, match=r"rows\[0\].y: stream read less than specified amount"):
        kafka.Struct("rows" / kafka.Array(kafka.Struct("y" / construct.Int32ub))).parse(b"\0\0\0\1\1\2")
    with pytest.raises(EncodeError, match="a: "):
        kafka.Struct("a" / construct.Int8ub).build({"a": 1000})


def test_construct_compiles_around_words() -> None:
    around = construct.Struct("h" / batches.BATCH_HEADER, "n" / construct.Int8ub)
    assert around.compile().parse(bytes(61) + b"\7") == around.parse(bytes(61) + b"\7")


def test_a_range_over_many_values_takes_each_once() -> None:
    """Time grows with the bytes: no value's parse copies what is behind it."""
    found = construct.GreedyRange(kafka.Int8).parse(bytes(50_000))
    assert len(found) == 50_000

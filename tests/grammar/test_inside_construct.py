"""One of each of construct's classes around kcli's words, and inside them: value to bytes and back."""

import copy
import pickle
from typing import Any

import construct
import pytest
from construct import Bytes, Int8ub, len_, obj_, this

from kcli.grammar import batches, messages
from kcli.grammar.words import primitives as kafka

BYTE, SHORT = kafka.Int8, kafka.Int16
METADATA = messages.request("Metadata", 12)

AROUND: dict[str, tuple[Any, Any, bytes]] = {
    "Rebuild": (
        construct.Struct("n" / construct.Rebuild(kafka.Int32, len_(this.rows)), "rows" / BYTE[this.n]),
        {"n": 2, "rows": [1, 2]},
        b"\0\0\0\2\1\2",
    ),
    "Default": (construct.Struct("x" / construct.Default(kafka.String, "a")), {"x": "a"}, b"\0\1a"),
    "Const": (construct.Struct(construct.Const(5, SHORT)), {}, b"\0\5"),
    "Enum": (construct.Enum(BYTE, a=1), "a", b"\1"),
    "FlagsEnum": (construct.FlagsEnum(SHORT, a=1, b=2), {"a": True, "b": False}, b"\0\1"),
    "Mapping": (construct.Mapping(BYTE, {"x": 1}), "x", b"\1"),
    "PrefixedArray": (construct.PrefixedArray(kafka.UnsignedVarint, BYTE), [1, 2], b"\2\1\2"),
    "Prefixed by a varint": (construct.Prefixed(kafka.UnsignedVarint, kafka.String), "a", b"\3\0\1a"),
    "Prefixed with itself": (construct.Prefixed(SHORT, kafka.String, includelength=True), "a", b"\0\5\0\1a"),
    "Sequence": (BYTE >> SHORT, [1, 2], b"\1\0\2"),
    "RepeatUntil": (construct.RepeatUntil(obj_ == 0, BYTE), [1, 0], b"\1\0"),
    "Union": (construct.Union(0, "a" / SHORT, "b" / Bytes(2)), {"a": 1, "b": b"\0\1"}, b"\0\1"),
    "Pointer": (construct.Struct("a" / BYTE, "p" / construct.Pointer(1, BYTE)), {"a": 1, "p": 2}, b"\1\2"),
    "Peek": (construct.Struct("p" / construct.Peek(SHORT), "a" / BYTE[2]), {"p": 258, "a": [1, 2]}, b"\1\2"),
    "Tell": (construct.Struct("a" / kafka.String, "t" / construct.Tell), {"a": "x", "t": 3}, b"\0\1x"),
    "LazyBound": (construct.LazyBound(lambda: BYTE), 1, b"\1"),
    "If": (construct.Struct("a" / BYTE, "b" / construct.If(this.a == 1, BYTE)), {"a": 1, "b": 4}, b"\1\4"),
    "ExprAdapter": (construct.ExprAdapter(BYTE, obj_ + 1, obj_ - 1), 5, b"\4"),
    "OneOf": (construct.OneOf(BYTE, [1, 2]), 1, b"\1"),
    "Aligned": (construct.Aligned(4, BYTE), 1, b"\1\0\0\0"),
    "NullTerminated": (construct.NullTerminated(BYTE), 1, b"\1\0"),
    "ProcessXor": (construct.ProcessXor(1, BYTE), 2, b"\3"),
    "ByteSwapped": (construct.ByteSwapped(SHORT), 1, b"\1\0"),
    "Bytewise": (
        construct.BitStruct("a" / construct.BitsInteger(8), "b" / construct.Bytewise(SHORT)),
        {"a": 1, "b": 2},
        b"\1\0\2",
    ),
    "OffsettedEnd": (
        construct.Struct("a" / construct.OffsettedEnd(-1, construct.GreedyRange(BYTE)), "b" / BYTE),
        {"a": [1, 2], "b": 3},
        b"\1\2\3",
    ),
    "documented": (construct.Struct("a" / BYTE * "a number"), {"a": 1}, b"\1"),
    "message": (
        construct.Prefixed(construct.Int32ub, METADATA),
        {"topics": None, "allowAutoTopicCreation": True, "includeTopicAuthorizedOperations": False},
        b"\0\0\0\4\0\1\0\0",
    ),
    "record": (
        construct.GreedyRange(batches.RECORD),
        [{"attributes": 0, "timestampDelta": 0, "offsetDelta": 0, "key": None, "value": b"v", "headers": []}],
        b"\x0e\0\0\0\1\2v\0",
    ),
}

INSIDE: dict[str, tuple[Any, Any, bytes]] = {
    "Const": (kafka.Struct(construct.Const(b"MAGIC"), "a" / BYTE), {"a": 1}, b"MAGIC\1"),
    "Padding": (kafka.Struct("a" / BYTE, construct.Padding(2), "b" / BYTE), {"a": 1, "b": 2}, b"\1\0\0\2"),
    "Default": (kafka.Struct("a" / construct.Default(BYTE, 7)), {"a": 7}, b"\7"),
    "Enum": (kafka.Struct("a" / construct.Enum(BYTE, x=1)), {"a": "x"}, b"\1"),
    "Switch": (
        kafka.Struct("a" / BYTE, "b" / construct.Switch(this.a, {1: kafka.String, 2: SHORT})),
        {"a": 1, "b": "q"},
        b"\1\0\1q",
    ),
    "Tell": (kafka.Struct("a" / kafka.String, "t" / construct.Tell), {"a": "x", "t": 3}, b"\0\1x"),
    "Index": (
        kafka.Array(kafka.Struct("i" / construct.Index, "v" / BYTE)),
        [{"i": 0, "v": 7}, {"i": 1, "v": 8}],
        b"\0\0\0\2\7\x08",
    ),
    "message": (
        kafka.Struct("m" / METADATA, "after" / Int8ub),
        {
            "m": {"topics": None, "allowAutoTopicCreation": True, "includeTopicAuthorizedOperations": False},
            "after": 1,
        },
        b"\0\1\0\0\1",
    ),
}


@pytest.mark.parametrize("name", AROUND)
def test_around(name: str) -> None:
    check(*AROUND[name])


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name: str) -> None:
    check(*INSIDE[name])


def check(word: Any, value: Any, data: bytes) -> None:
    assert word.build(value) == data
    found = word.parse(data)
    assert found == value
    assert word.build(found) == data


def test_defaults_and_counts_need_no_value() -> None:
    assert AROUND["Rebuild"][0].build({"rows": [1, 2]}) == b"\0\0\0\2\1\2"
    assert AROUND["Default"][0].build({}) == b"\0\1a"
    assert INSIDE["Default"][0].build({}) == b"\7"


def test_words_are_copied_and_pickled() -> None:
    word = kafka.Struct("a" / kafka.CompactArray(BYTE), kafka.TaggedFields({1: "b" / kafka.String}))
    for each in (copy.copy(word), copy.deepcopy(word), pickle.loads(pickle.dumps(word))):
        assert each.parse(b"\2\7\0") == {"a": [7]}


def test_files(tmp_path: Any) -> None:
    path = tmp_path / "header"
    batches.BATCH_HEADER.build_file(batches.BATCH_HEADER.parse(bytes(61)), path)
    assert batches.BATCH_HEADER.parse_file(path).recordCount == 0
    assert path.read_bytes() == bytes(61)

"""Grammars by hand, with values and the bytes they are: one table for every reader and writer."""

from typing import Any, NamedTuple

from kcli.grammar.codec import MessageCodec
from kcli.grammar.words.primitives import Array, Field, Optional, Struct, TaggedFields
from kcli.grammar.words.scalars import LengthPrefixed, Primitive

__all__ = ["CANONICAL", "ODD", "WRONG_BYTES", "WRONG_VALUES", "Case", "codec_of"]


class Case(NamedTuple):
    name: str
    word: Any
    value: Any
    data: bytes


def codec_of(word: Any) -> MessageCodec:
    """A message with the one field `x`."""
    return MessageCodec("Test", 0, Struct(Field("x", word, zero(word))))


def zero(word: Any) -> Any:
    """A value that the word takes, for the default of its field."""
    if isinstance(word, Optional):
        return None
    if isinstance(word, Array):
        return []
    if isinstance(word, Struct):
        return {}
    return {"string": "", "bytes": b"", "records": b"", "bool": False, "uuid": "A" * 22}.get(
        word.kind if isinstance(word, LengthPrefixed) else word.type, 0
    )


POINT = Struct(Field("a", Primitive("int8"), 0), Field("b", Primitive("int8"), 7))
TAGGED = Struct(
    Field("a", Primitive("int8"), 0),
    TaggedFields({1: Field("t", Primitive("int16"), 5), 3: "s" / LengthPrefixed("string", True, True)}),
)
STRING, COMPACT = LengthPrefixed("string", False, False), LengthPrefixed("string", False, True)
NULLABLE, COMPACT_NULLABLE = LengthPrefixed("string", True, False), LengthPrefixed("string", True, True)
BYTES, COMPACT_BYTES = LengthPrefixed("bytes", True, False), LengthPrefixed("bytes", True, True)
RECORDS, COMPACT_RECORDS = LengthPrefixed("records", True, False), LengthPrefixed("records", True, True)
LONG = "x" * 200

# What a canonical writer makes, and a reader gives back.
CANONICAL = [
    Case("bool", Primitive("bool"), True, b"\x01"),
    Case("int8", Primitive("int8"), -1, b"\xff"),
    Case("int16", Primitive("int16"), -2, b"\xff\xfe"),
    Case("int32", Primitive("int32"), 1 << 30, b"\x40\0\0\0"),
    Case("int64", Primitive("int64"), -(1 << 63), b"\x80" + bytes(7)),
    Case("uint16", Primitive("uint16"), 65535, b"\xff\xff"),
    Case("uint32", Primitive("uint32"), 4294967295, b"\xff\xff\xff\xff"),
    Case("float64", Primitive("float64"), 1.5, b"\x3f\xf8" + bytes(6)),
    Case("uuid", Primitive("uuid"), "AAAAAAAAAAAAAAAAAAAAAQ", bytes(15) + b"\x01"),
    Case("string", STRING, "aé", b"\0\x03a\xc3\xa9"),
    Case("compact string", COMPACT, LONG, b"\xc9\x01" + LONG.encode()),
    Case("null string", NULLABLE, None, b"\xff\xff"),
    Case("compact null string", COMPACT_NULLABLE, None, b"\0"),
    Case("bytes", BYTES, b"\0\1", b"\0\0\0\x02\0\1"),
    Case("null bytes", BYTES, None, b"\xff\xff\xff\xff"),
    Case("compact bytes", COMPACT_BYTES, b"", b"\x01"),
    Case("records", COMPACT_RECORDS, b"abc", b"\x04abc"),
    Case("array", Array(Primitive("int8"), False, False), [1, 2], b"\0\0\0\x02\1\2"),
    Case("compact array", Array(STRING, False, True), ["", "a"], b"\x03\0\0\0\1a"),
    Case("null array", Array(Primitive("int8"), True, True), None, b"\0"),
    Case("structs", Array(POINT, False, True), [{"a": 1, "b": 2}, {"a": 3, "b": 4}], b"\x03\1\2\3\4"),
    Case("struct there", Optional(POINT), {"a": 1, "b": 2}, b"\1\1\2"),
    Case("struct null", Optional(POINT), None, b"\xff"),
    Case("tagged struct there", Optional(POINT, tagged=True), {"a": 1, "b": 2}, b"\1\1\2"),
    Case("tagged struct null", Optional(POINT, tagged=True), None, b"\0"),
    Case("no tags", TAGGED, {"a": 1}, b"\1\0"),
    Case("a tag at its default", TAGGED, {"a": 1, "t": 5}, b"\1\1\1\2\0\5"),
    Case(
        "known and unknown tags",
        TAGGED,
        {"a": 1, "t": 9, "s": "z", "_unknownTaggedFields": [{"tag": 2, "data": b"?"}, {"tag": 300, "data": b""}]},
        b"\1\4" + b"\1\2\0\x09" + b"\2\1?" + b"\3\2\2z" + b"\xac\2\0",
    ),
    Case(
        "the greatest tag",
        TAGGED,
        {"a": 1, "_unknownTaggedFields": [{"tag": 2**32 - 1, "data": b"?"}]},
        b"\1\1" + b"\xff\xff\xff\xff\x0f\1?",
    ),
]

# Lawful, but not what a canonical writer makes: read all the same, and written again as they were.
ODD = [
    Case("bool 2", Primitive("bool"), True, b"\x02"),
    Case("long varint length", COMPACT, "a", b"\x82\0a"),
    Case("long varint length of bytes", COMPACT_BYTES, b"a", b"\x82\0a"),
    Case("long varint count", Array(Primitive("int8"), False, True), [7], b"\x82\0\7"),
    Case("null of length -2", NULLABLE, None, b"\xff\xfe"),
    Case("null bytes of length -9", BYTES, None, b"\xff\xff\xff\xf7"),
    Case("null array of count -5", Array(Primitive("int8"), True, False), None, b"\xff\xff\xff\xfb"),
    Case("no UTF-8", STRING, "a�", b"\0\2a\xff"),
    Case("surrogates", STRING, "���", b"\0\3\xed\xa0\x80"),
    Case("marker 5", Optional(POINT), {"a": 1, "b": 2}, b"\5\1\2"),
    Case("marker -128", Optional(POINT), None, b"\x80"),
    Case("tagged marker 5", Optional(POINT, tagged=True), {"a": 1, "b": 2}, b"\5\1\2"),
    Case("tagged marker -1", Optional(POINT, tagged=True), None, b"\xff\xff\xff\xff\x0f"),
    Case("tagged marker of two bytes", Optional(POINT, tagged=True), {"a": 1, "b": 2}, b"\x81\0\1\2"),
    Case("tags out of order", TAGGED, {"a": 1, "s": None, "t": 5}, b"\1\2" + b"\3\1\0" + b"\1\2\0\5"),
    Case("a long tag count", TAGGED, {"a": 1}, b"\1\x80\0"),
]

# (name, word, bytes, what the error says)
WRONG_BYTES = [
    ("int32 cut", Primitive("int32"), b"\0\0", "x: needs 4 bytes at 0x0, 2 left"),
    ("one byte", Primitive("bool"), b"", "x: needs 1 byte at 0x0, 0 left"),
    ("length cut", STRING, b"\0", "x: needs 2 bytes at 0x0, 1 left"),
    ("string cut", STRING, b"\0\5ab", "x: needs 5 bytes at 0x2, 2 left"),
    ("null refused", STRING, b"\xff\xff", "x: null at 0x0, where this version allows none"),
    ("compact null refused", COMPACT, b"\0", "x: null at 0x0, where this version allows none"),
    ("null array refused", Array(POINT, False, True), b"\0", "x: null at 0x0, where this version allows none"),
    ("varint cut", COMPACT, b"\x80", "x: needs 2 bytes at 0x0, 1 left"),
    ("varint long", COMPACT, b"\x80\x80\x80\x80\x10", "x: a varint at 0x0 goes on after 32 bits"),
    (
        "array cut",
        Array(POINT, False, True),
        b"\x05\1\2\3",
        "x[1].b: needs 1 byte at 0x4, 0 left (the array says 4 entries, 1 is here)",
    ),
    (
        "array of one cut",
        Array(POINT, False, True),
        b"\x02\1",
        "x[0].b: needs 1 byte at 0x2, 0 left (the array says 1 entry, 0 are here)",
    ),
    (
        "array of nothing",
        Array(Struct(), False, False),
        b"\x7f\xff\xff\xff",
        "x: an array at 0x0 says 2147483647 entries, 0 bytes are left",
    ),
    ("tag size short", TAGGED, b"\1\1\1\1\0", "x.t: needs 2 bytes at 0x4, 1 left"),
    ("tag size long", TAGGED, b"\1\1\1\3\0\0\0", "x.t: a tagged field at 0x4 says 3 bytes and takes 2"),
    ("tag behind the end", TAGGED, b"\1\1\1\x09\0", "x._tags: needs 9 bytes at 0x4, 1 left"),
]

# (name, word, value, what the error says)
WRONG_VALUES = [
    ("text for a number", Primitive("int32"), "1", "x: needs an int32, not '1'"),
    ("true for a number", Primitive("int8"), True, "x: needs an int8, not True"),
    ("too large", Primitive("int8"), 128, "x: needs an int8 (-128 to 127), not 128"),
    ("far too large", Primitive("int64"), 1 << 70, "not 1180591620717411303424"),
    ("number for a bool", Primitive("bool"), 1, "x: needs true or false, not 1"),
    ("float beyond all", Primitive("float64"), 10**400, "x: needs a float64, not a number beyond all of them"),
    ("text for a float", Primitive("float64"), "1", "x: needs a float64, not '1'"),
    ("no uuid", Primitive("uuid"), "A" * 21, "x: needs a uuid"),
    ("uuid with bits over", Primitive("uuid"), "A" * 21 + "B", "x: needs a uuid"),
    ("null", STRING, None, "x: null, where this version allows none"),
    ("number for a string", STRING, 5, "x: needs a string, not 5"),
    ("surrogate", STRING, "\ud800", "x: a string with surrogates has no UTF-8 form"),
    ("long string", STRING, "x" * 32768, "x: 32768 bytes, which is more than its length field can say"),
    ("no base64", BYTES, "***", "x: needs bytes as base64, not '***'"),
    ("no list", Array(POINT, False, False), {}, "x: needs a list, not {}"),
    ("no object", POINT, 5, "x: needs an object with fields, not 5"),
    ("unknown field", Array(POINT, False, False), [{}, {"c": 1}], "x[1]: has no field 'c' in this version"),
    ("deep", Array(POINT, False, False), [{"a": 1}, {"a": "?"}], "x[1].a: needs an int8, not '?'"),
    (
        "records by size",
        LengthPrefixed("records", True, False),
        {"sizeInBytes": 5},
        "x: only the size of the records is here",
    ),
    (
        "tag twice",
        TAGGED,
        {"t": 1, "_unknownTaggedFields": [{"tag": 1, "data": b""}]},
        "x._unknownTaggedFields: a tag is there twice",
    ),
    ("tags no list", TAGGED, {"_unknownTaggedFields": 5}, "x._unknownTaggedFields: needs a list of tags, not 5"),
]

"""Named fields and sections of tagged ones."""

import construct
import pytest

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words import primitives as kafka
from kcli.grammar.words.tagged import Field, TaggedFields

TAGS = TaggedFields({3: "name" / kafka.CompactString, 1: Field("n", kafka.Int16, 5)})


def test_fields_stand_by_their_tags() -> None:
    assert [(field.tag, field.name, field.default) for field in TAGS.fields] == [(1, "n", 5), (3, "name", "")]
    assert TAGS.build({"name": "a", "n": 2}) == b"\2\1\2\0\2\3\2\2a"
    assert TAGS.build({}) == b"\0"


def test_a_section_of_its_own_in_a_construct() -> None:
    around = construct.Struct("a" / kafka.Int8, "_tags" / TAGS)
    data = b"\7\2\1\2\0\2\5\1?"
    value = around.parse(data)
    assert value._tags == {"n": 2, "_unknownTaggedFields": [{"tag": 5, "data": b"?"}]}
    assert around.build(value) == data
    with pytest.raises(DecodeError, match=r"^n: a tagged field at 0x4 says 3 bytes and takes 2$"):
        around.parse(b"\7\1\1\3\0\2\0")
    with pytest.raises(EncodeError, match=r"^n: needs an int16"):
        around.build({"a": 1, "_tags": {"n": "?"}})


def test_any_tags_stay_bytes() -> None:
    around = construct.Struct("name" / kafka.CompactString, "_tags" / kafka.TaggedFields(...))
    data = b"\2a\1\5\1?"
    assert around.parse(data)._tags == {"_unknownTaggedFields": [{"tag": 5, "data": b"?"}]}
    assert around.build(around.parse(data)) == data


def test_a_section_needs_an_object() -> None:
    with pytest.raises(EncodeError, match="needs an object with fields, not None"):
        TaggedFields({}).build(None)


def test_a_field_needs_a_name() -> None:
    with pytest.raises(TypeError, match="needs a name"):
        Field.of(kafka.Int8)
    with pytest.raises(TypeError, match="needs a name"):
        kafka.Struct(kafka.Int8)

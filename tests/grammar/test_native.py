"""From construct words to nodes of the core."""

import pytest

pytest.importorskip("kcli.core.codec.messages", reason="the core is not built")

from kcli.core.codec import messages as codec
from kcli.errors import SchemaError
from kcli.grammar.native import DEEPEST, to_native
from kcli.grammar.words.primitives import Array, Field, Optional, Struct, TaggedFields
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.word import Word


def test_each_word_has_its_node() -> None:
    tagged = TaggedFields({4: "b" / LengthPrefixed("string", True, True)})
    point = Struct("a" / Primitive("int8"), tagged)
    assert isinstance(to_native(Primitive("int8")), codec.Scalar)
    array = to_native(Array(Optional(point), True, True))
    assert isinstance(array, codec.Array)
    assert isinstance(array.element, codec.Optional)
    message = array.element.inner
    assert isinstance(message, codec.Message)
    assert [name for name, _, _ in message.fields] == ["a"]
    assert [(name, tag) for name, tag, _ in message.tagged] == [("b", 4)]


def test_the_least_sizes_are_the_grammars() -> None:
    for word in (
        Primitive("uuid"),
        LengthPrefixed("bytes", False, False),
        LengthPrefixed("string", True, True),
        Array(Primitive("bool"), False, True),
    ):
        assert to_native(word).least == word.least


def test_a_word_without_a_node_is_a_bug() -> None:
    with pytest.raises(TypeError, match="no node for Word"):
        to_native(Word())


def test_structs_may_not_be_nested_without_end() -> None:
    struct = Struct()
    for _ in range(DEEPEST):
        struct = Struct(Field("x", struct, {}))
    with pytest.raises(SchemaError, match="deeper than 16 levels"):
        to_native(struct)

"""From construct words to nodes of the core."""

from __future__ import annotations

import pytest

pytest.importorskip("kcli.core.codec", reason="the core is not built")

from kcli.core.codec import Array, Message, Optional, Scalar
from kcli.errors import SchemaError
from kcli.grammar.primitives import Counted, Fixed, Nullable, Sized, Word
from kcli.grammar.structs import Field, Struct
from kcli.grammar.translate import DEEPEST, translate


def test_each_word_has_its_node() -> None:
    point = Struct(
        [Field("a", Fixed("int8"), 0)], [Field("b", Sized("string", True, True), None, tag=4)], flexible=True
    )
    assert isinstance(translate(Fixed("int8")), Scalar)
    array = translate(Counted(Nullable(point), True, True))
    assert isinstance(array, Array)
    assert isinstance(array.element, Optional)
    message = array.element.inner
    assert isinstance(message, Message)
    assert [name for name, _, _ in message.fields] == ["a"]
    assert [(name, tag) for name, tag, _ in message.tagged] == [("b", 4)]


def test_the_least_sizes_are_the_grammars() -> None:
    for word in (
        Fixed("uuid"),
        Sized("bytes", False, False),
        Sized("string", True, True),
        Counted(Fixed("bool"), False, True),
    ):
        assert translate(word).least == word.least


def test_a_word_without_a_node_is_a_bug() -> None:
    with pytest.raises(TypeError, match="no translation for Word"):
        translate(Word())


def test_structs_may_not_be_nested_without_end() -> None:
    struct = Struct([], [], flexible=False)
    for _ in range(DEEPEST):
        struct = Struct([Field("x", struct, {})], [], flexible=False)
    with pytest.raises(SchemaError, match="deeper than 16 levels"):
        translate(struct)

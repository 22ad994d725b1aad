"""From grammar to speed: a tree of construct words becomes a tree of the compiled core's nodes, word by word.

Imported only where the core is built.
"""

from __future__ import annotations

from kcli.core.codec import Array, Message, Node, Optional, Scalar
from kcli.errors import SchemaError
from kcli.grammar.primitives import Counted, Fixed, Nullable, Sized, Word
from kcli.grammar.structs import Struct

__all__ = ["DEEPEST", "translate"]

DEEPEST = 16  # levels of structs; Kafka's own messages have at most six


def translate(word: Word, depth: int = 0) -> Node:
    """The node of a word and all below it. SchemaError: nested deeper than the core goes."""
    match word:
        case Fixed():
            return Scalar(word.type)
        case Sized():
            return Scalar(word.kind, word.nullable, word.compact)
        case Counted():
            return Array(translate(word.subcon, depth), word.nullable, word.compact)
        case Nullable():
            return Optional(translate(word.subcon, depth))
        case Struct():
            return message(word, depth + 1)
        case _:
            raise TypeError(f"no translation for {type(word).__name__}")


def message(struct: Struct, depth: int) -> Message:
    if depth > DEEPEST:
        raise SchemaError(f"structs nested deeper than {DEEPEST} levels")
    fields = [(field.name, translate(field.subcon, depth), field.default) for field in struct.fields]
    tagged = [(field.name, field.tag or 0, translate(field.subcon, depth)) for field in struct.tagged]
    return Message(fields, tagged, struct.flexible)

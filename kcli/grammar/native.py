"""Grammar to compiled core: turns a tree of construct words into a tree of the core's nodes.

Imported only where the core is built.
"""

from __future__ import annotations

from kcli.core import codec
from kcli.errors import SchemaError
from kcli.grammar.arrays import Array, Optional
from kcli.grammar.scalars import LengthPrefixed, Primitive
from kcli.grammar.structs import Struct
from kcli.grammar.word import Word

__all__ = ["DEEPEST", "to_native"]

DEEPEST = 16  # levels of structs; Kafka's own messages have at most six


def to_native(word: Word, depth: int = 0) -> codec.Node:
    """The node of a word and all below it. SchemaError: nested deeper than the core goes."""
    match word:
        case Primitive():
            return codec.Scalar(word.type)
        case LengthPrefixed():
            return codec.Scalar(word.kind, word.nullable, word.compact)
        case Array():
            return codec.Array(to_native(word.subcon, depth), word.nullable, word.compact)
        case Optional():
            return codec.Optional(to_native(word.subcon, depth))
        case Struct():
            return message(word, depth + 1)
        case _:
            raise TypeError(f"the core has no node for {type(word).__name__}")


def message(struct: Struct, depth: int) -> codec.Message:
    if depth > DEEPEST:
        raise SchemaError(f"structs nested deeper than {DEEPEST} levels")
    fields = [(field.name, to_native(field.subcon, depth), field.default) for field in struct.fields]
    tagged = [(field.name, field.tag or 0, to_native(field.subcon, depth)) for field in struct.tagged]
    return codec.Message(fields, tagged, struct.flexible)

"""Grammar to compiled core: turns a tree of construct words into a tree of the core's nodes.

Imported only where the core is built.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcli.core import codec
from kcli.errors import SchemaError
from kcli.grammar.arrays import Array, Optional
from kcli.grammar.scalars import LengthPrefixed, Primitive
from kcli.grammar.structs import Struct
from kcli.grammar.tagged import Field
from kcli.grammar.word import Word
from kcli.schemas.secrets import BY_NAME, is_secret_config

__all__ = ["DEEPEST", "to_native"]

DEEPEST = 16  # levels of structs; Kafka's own messages have at most six


def to_native(
    word: Word, secrets: Mapping[str, str] | None = None, guarded: bool = False, path: str = "", depth: int = 0
) -> codec.Node:
    """The node of a word and all below it. SchemaError: nested deeper than the core goes.

    secrets, guarded: as MessageCodec has them: what JSON hides. path: of the word, without indices.
    """
    below = secrets, guarded, path, depth
    match word:
        case Primitive():
            return codec.Scalar(word.type)
        case LengthPrefixed():
            how = (secrets or {}).get(path)
            if how is None:
                return codec.Scalar(word.kind, word.nullable, word.compact)
            judge = is_secret_config if how == BY_NAME else None
            return codec.Secret(word.kind, word.nullable, word.compact, judge)
        case Array():
            return codec.Array(to_native(word.subcon, *below), word.nullable, word.compact)
        case Optional():
            return codec.Optional(to_native(word.subcon, *below))
        case Struct():
            return message(word, secrets, guarded, path, depth + 1)
        case _:
            raise TypeError(f"the core has no node for {type(word).__name__}")


def message(struct: Struct, secrets: Mapping[str, str] | None, guarded: bool, path: str, depth: int) -> codec.Message:
    if depth > DEEPEST:
        raise SchemaError(f"structs nested deeper than {DEEPEST} levels")

    def node(field: Field) -> codec.Node:
        return to_native(field.subcon, secrets, guarded, f"{path}.{field.name}" if path else field.name, depth)

    fields = [(field.name, node(field), field.default) for field in struct.fields]
    tagged = [(field.name, field.tag or 0, node(field)) for field in struct.tagged]
    return codec.Message(fields, tagged, struct.flexible, guarded)

"""Translates a grammar into the compiled core: a tree of construct words into a tree of the core's nodes.

Imported only if the core is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from kcli.core.codec import messages as codec
from kcli.errors import SchemaError
from kcli.grammar.batches import BATCH_HEADER
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import Field
from kcli.grammar.words.word import Word
from kcli.schemas.secrets import BY_NAME, is_secret_config

if TYPE_CHECKING:
    from kcli.grammar.selection.plan import Branch

# (API key, version) -> nodes of header and body, and the text between them; None if an envelope cannot hold the message
Inside = Callable[[int, int], tuple[codec.Node, codec.Node, bytes] | None]

DEEPEST = 16  # levels of structs; Kafka's own messages have at most six


def to_native(
    word: Word, hidden: Mapping[str, str | Inside] | None = None, guarded: bool = False, path: str = "", depth: int = 0
) -> codec.Node:
    """Return the node of a word, with the nodes of all words in it. Raises SchemaError if it is nested deeper than
    DEEPEST.

    hidden, guarded: `secrets` and `guarded` of MessageCodec; in place of an envelope's field, the function for the
    message inside. path: of the word, without indexes.
    """
    below = hidden, guarded, path, depth
    match word:
        case Primitive():
            return scalar(word.type, False, False)
        case LengthPrefixed():
            how = (hidden or {}).get(path)
            if how is None:
                return scalar(word.kind, word.nullable, word.compact)
            if callable(how):
                return codec.Envelope(word.kind, word.nullable, word.compact, how, path == "responseData")
            judge = is_secret_config if how == BY_NAME else None
            return codec.Secret(word.kind, word.nullable, word.compact, judge)
        case Array():
            return codec.Array(to_native(word.subcon, *below), word.nullable, word.compact)
        case Optional():
            return codec.Optional(to_native(word.subcon, *below), word.tagged)
        case Struct():
            return message(word, hidden, guarded, path, depth + 1)
        case _:
            raise TypeError(f"the core has no node for {type(word).__name__}")


@cache
def scalar(kind: str, nullable: bool, compact: bool) -> codec.Scalar:
    """Return the node of a type without fields, which all messages share."""
    return codec.Scalar(kind, nullable, compact)


def message(
    struct: Struct, hidden: Mapping[str, str | Inside] | None, guarded: bool, path: str, depth: int
) -> codec.Message:
    if depth > DEEPEST:
        raise SchemaError(f"structs nested deeper than {DEEPEST} levels")

    def node(field: Field) -> codec.Node:
        return to_native(field.subcon, hidden, guarded, f"{path}.{field.name}" if path else field.name, depth)

    fields = [(field.name, node(field), field.default) for field in struct.fields]
    tagged = [(field.name, field.tag or 0, node(field)) for field in struct.tagged]
    return codec.Message(fields, tagged, struct.flexible, guarded)


@cache
def batch_header() -> codec.Message:
    """Return the node of a record batch's header."""
    node = to_native(BATCH_HEADER)
    assert isinstance(node, codec.Message)
    return node


# Programs of the core's Selection


def program(branch: Branch, node: codec.Node) -> list[dict[str, Any]]:
    """Return the parts of a program that reads a selected word, in the order of its bytes. node: the word's."""
    parts: list[dict[str, Any]] = []
    emit(branch.word, node, branch, parts)
    return parts


def head(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a program up to the last part that fills a slot."""
    last = max((index for index, part in enumerate(parts) if fills(part)), default=-1)
    return parts[: last + 1]


def fills(part: dict[str, Any]) -> bool:
    """Return whether a part of a program fills a slot. A part for tags may have a slot for each tag, or a level of
    unknown tags.
    """
    slots = [part.get("slot", -1), part.get("level", -1), *(present for _, present, _ in part.get("tags", ()))]
    return bool(part.get("picks")) or max(slots) >= 0


def filled(parts: list[dict[str, Any]]) -> set[int]:
    """Return the slots that a program fills for any bytes; slots in tags or in a struct that may be null are not among
    them.
    """
    slots: set[int] = set()
    for part in parts:
        for type_, _, slot in part.get("picks", ()):
            slots |= {slot, slot + 1} if type_ == "uuid" else {slot}
        if part.get("slot", -1) >= 0:
            slots |= {part["slot"], part["slot"] + 1} if part["what"] == "sized" else {part["slot"]}
    return slots


def emit(word: Word, node: codec.Node, branch: Branch | None, parts: list[dict[str, Any]]) -> None:
    """Append the parts for a word to `parts`. branch: the selection in it; None to skip the word."""
    wanted = branch is not None and (branch.slot >= 0 or branch.below or branch.element is not None)
    match word:
        case Primitive():
            emit_run(word.least, [(word.type, branch.slot)] if branch and wanted else [], parts)
        case _ if word.size is not None and not wanted:
            emit_run(word.size, [], parts)
        case LengthPrefixed():
            parts.append({"what": "sized", "node": node, "slot": branch.slot if branch else -1})
        case Struct():
            assert isinstance(node, codec.Message)
            emit_struct(word, node, branch, parts)
        case Array() if branch and branch.element is not None:
            assert isinstance(node, codec.Array)
            below = program(branch.element, node.element)
            place = {"slot": branch.slot, "level": branch.element.level}
            parts.append({"what": "each", "node": node, "below": below, "filled": filled(below), **place})
        case Optional() if branch and branch.present >= 0:
            assert isinstance(node, codec.Optional)
            made: list[dict[str, Any]] = []
            emit(word.subcon, node.inner, branch, made)
            parts.append({"what": "maybe", "node": node, "slot": branch.present, "below": made})
        case _:
            parts.append({"what": "pass", "node": node})


def emit_run(width: int, picks: list[tuple[str, int]], parts: list[dict[str, Any]]) -> None:
    """Append bytes of fixed width to the last run, or begin one. picks: (type, slot) of the field that begins here."""
    if not parts or parts[-1]["what"] != "run":
        parts.append({"what": "run", "width": 0, "picks": []})
    run = parts[-1]
    run["picks"] += [(type_, run["width"], slot) for type_, slot in picks]
    run["width"] += width


def emit_struct(struct: Struct, node: codec.Message, branch: Branch | None, parts: list[dict[str, Any]]) -> None:
    below = branch.below if branch else {}
    for field, (_, child, _) in zip(struct.fields, node.fields, strict=True):
        emit(field.subcon, child, below.get(field.name), parts)
    if not struct.flexible:
        return
    tags, unknown, count = [], below.get("_unknownTaggedFields"), below.get("_tags")
    children = {name: child for name, _, child in node.tagged}
    for field in struct.tagged:
        found, made = below.get(field.name), list[dict[str, Any]]()
        emit(field.subcon, children[field.name], found, made)
        is_maybe = isinstance(field.subcon, Optional)
        tags.append((field.tag or 0, found.present if found and not is_maybe else -1, made))
    part = {"what": "tags", "tags": tags, "slot": count.slot if count else -1}
    if unknown and unknown.element is not None:
        part |= {"level": unknown.element.level, "unknown": unknown.slot}
    parts.append(part)

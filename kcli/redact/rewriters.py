"""Redacts frames in the core: the replacement of each field of an API version, compiled once.

There is no rewriter if a rule depends on more than the field (the name of a resource on its type, the contents of an
envelope on the request, a token on its mechanism), if a message has secrets, as bytes after it show that it was
misread, or if the core can't read a message by itself. Then `kcli.redact.messages` redacts field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Protocol

from kcli.errors import SchemaError
from kcli.grammar import messages
from kcli.grammar.codec import MessageCodec
from kcli.grammar.frames import UNSUPPORTED_VERSION
from kcli.grammar.selection.select import Selection
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.structs import Struct
from kcli.redact.batches import FILL, BatchRedactor
from kcli.redact.rules import NO_RULE, FieldRule, rules_of, stays
from kcli.schemas.apikeys import API_VERSIONS

if TYPE_CHECKING:
    from kcli.capture.kafka.bodies import Bodies
    from kcli.core.codec.rewriting import FrameRewriter, Rewriter
    from kcli.redact.pseudonyms import Pseudonyms

Replacement = int | Callable[[bytes], bytes]  # a byte to fill with, or a function that replaces a slice

CACHED = 256
FILLED = {"text": FILL[0], "nothing": 0}
LOOKS_AROUND = ("resource", "coordinator", "frame", "mechanism", "login")
UNKNOWN = "_unknownTaggedFields[].tag"


class Frames(Protocol):
    """The redactor of fields, which a rewriter asks for replacements (`kcli.redact.messages`)."""

    names: Pseudonyms
    keep: frozenset[str]
    bodies: Bodies
    batches: BatchRedactor

    def replaced(self, rule: FieldRule, data: bytes) -> bytes:
        """Return the replacement of a field's content, for rules that need only the content."""


def rewriter_of(frames: Frames, key: int, version: int, is_response: bool) -> FrameRewriter | None:
    """Return the core's redactor for requests, or responses, of a known version; None if it has none."""
    from kcli.core.codec.rewriting import FrameRewriter

    dialect = frames.bodies.dialect
    try:
        if is_response:
            codecs = messages.response_header(key, version, dialect), messages.response(key, version, dialect)
        else:
            codecs = messages.request_header(key, version, dialect), messages.request(key, version, dialect)
    except SchemaError:
        return None
    header, body = (rewriter_of_message(frames, codec) for codec in codecs)
    if header is None or body is None:
        return None
    return FrameRewriter(header, body, UNSUPPORTED_VERSION if is_response and key == API_VERSIONS and version else 0)


def rewriter_of_message(frames: Frames, codec: MessageCodec) -> Rewriter | None:
    """Return the redactor for one message of one version; None if the core can't redact it."""
    from kcli.core.codec.rewriting import Rewriter

    rules = rules_of(codec.name, frames.bodies.dialect)
    found = [(path, type_, rules.get(plain(path), NO_RULE)) for path, type_ in leaves(codec.grammar, "")]
    if codec.variants or codec.guarded or any(rule.method in LOOKS_AROUND for _, _, rule in found):
        return None
    paths = [path for path, _, _ in found] + [f"{path}{UNKNOWN}" for path in flexible(codec.grammar, "")]
    selection = Selection(codec, paths)
    if selection.compiled is None:
        return None
    columns: list[tuple[int, int, Replacement]] = []
    for path, type_, rule in found:
        replacement = replacement_of(frames, type_, rule)
        if replacement is not None:
            columns.append((*selection.place(path)[:2], replacement))
    return Rewriter(selection.compiled, columns, [selection.place(path).level for path in paths[len(found) :]])


def plain(path: str) -> str:
    """Return a path of the select verb in the form that the rules have."""
    return path.replace("[]", "")


def leaves(word: object, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and type of each field that is not a number."""
    match word:
        case Struct():
            for name, below in word.words.items():
                yield from leaves(below, f"{path}.{name}" if path else name)
        case Array():
            yield from leaves(word.subcon, f"{path}[]")
        case Optional():
            yield from leaves(word.subcon, path)
        case LengthPrefixed():
            yield path, word.kind
        case Primitive() if word.type == "uuid":
            yield path, word.type


def flexible(word: object, path: str) -> Iterator[str]:
    """Yield the path before the field names in each struct that may have unknown fields."""
    match word:
        case Struct():
            before = f"{path}." if path else ""
            if word.flexible:
                yield before
            for name, below in word.words.items():
                yield from flexible(below, f"{before}{name}")
        case Array():
            yield from flexible(word.subcon, f"{path}[]")
        case Optional():
            yield from flexible(word.subcon, path)


def replacement_of(frames: Frames, type_: str, rule: FieldRule) -> Replacement | None:
    """Return the replacement for contents of fields with this type and rule; None if they stay."""
    if stays(rule, frames.keep):
        return None
    if type_ == "uuid":
        return frames.names.uuid
    if rule.method == "records":
        return frames.batches.records
    if rule.method == "name" and not rule.words:
        return frames.names.name
    if rule.method in FILLED:
        return FILLED[rule.method]
    return lru_cache(CACHED)(partial(frames.replaced, rule))

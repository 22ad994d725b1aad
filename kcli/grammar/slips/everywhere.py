"""Finds a slip that a program makes in every entry of an array, by changing the grammar of one field instead of the
bytes.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from kcli.errors import EncodeError
from kcli.grammar.codec import MessageCodec
from kcli.grammar.slips.places import Layout
from kcli.grammar.slips.search import LARGEST, Hint, oddness_of
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import LengthPrefixed, Primitive
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import Field, TaggedFields
from kcli.grammar.words.trace import INDEX, DecodeTrace
from kcli.grammar.words.word import Word
from kcli.schemas.model import WIDTHS

WIDTH_TYPES = ("int8", "int16", "int32", "int64")
EXTRA = "_again"  # the name of the second of a field that is there twice; Kafka has no such name
SECTION = LengthPrefixed("bytes", nullable=True, compact=True)  # null is the byte of an empty tag section
MOST_WORDS = 200_000  # words of all grammars that are tried, each made again; Kafka's messages need up to 34,000
COST = 0.5  # as oddness: one slip explains less than many


class Changed(NamedTuple):
    """A grammar that differs at one field. slip, words, question: as in `Hint`. path: "topics[].name"."""

    slip: str
    path: str
    grammar: Word
    words: str
    question: str


def repeated_hints(layout: Layout, frame: bytes) -> Iterator[Hint]:
    """Yield a hint for each field in an array that is written wrongly in all entries."""
    if len(frame) > LARGEST:
        return
    for change in islice(changed_grammars(layout.body.grammar, ""), MOST_WORDS // words_in(layout.body.grammar)):
        assert isinstance(change.grammar, Struct)
        codec = MessageCodec(layout.body.name, layout.body.version, change.grammar)
        written = Layout(layout.header, codec)
        if written.reads(frame):
            yield from repeated(layout, written, frame, change)


def words_in(word: Word) -> int:
    """Return the number of words in a grammar, including itself."""
    match word:
        case Array() | Optional():
            return 1 + words_in(word.subcon)
        case Struct():
            return 1 + sum(words_in(field.subcon) for field in (*word.fields, *word.tagged))
    return 1


def repeated(layout: Layout, written: Layout, frame: bytes, change: Changed) -> Iterator[Hint]:
    """Yield the hint, if the field is in more than one entry."""
    start = layout.header.skip(frame)
    value = written.body.grammar.parse_word(ByteSource(frame, start), DecodeTrace(), "")
    places = written.places(written.walk(frame, len(frame)))[::-1]
    found = [place for place in places if INDEX.sub("[]", place.path) == change.path]
    if len(found) < 2:
        return
    out = bytearray(frame[:start])
    try:
        layout.body.grammar.build_word(value, out, DecodeTrace(), "")
    except EncodeError:
        return
    mended = bytes(out)
    at = found[0].end if change.slip == "no tags" else found[0].start
    yield Hint(change.slip, at, change.words, change.question, mended, oddness_of(layout, mended) + COST)


def changed_grammars(word: Word, path: str) -> Iterator[Changed]:
    """Yield the grammar with one change in an array's entries, for each field and each change."""
    match word:
        case Array():
            for change in entry_changes(word.subcon, f"{path}[]"):
                yield change._replace(grammar=Array(change.grammar, word.nullable, word.compact))
        case Optional():
            for change in changed_grammars(word.subcon, path):
                yield change._replace(grammar=Optional(change.grammar))
        case Struct():
            for index, field in enumerate(word.fields):
                for change in changed_grammars(field.subcon, f"{path}.{field.name}" if path else field.name):
                    yield change._replace(grammar=with_word(word, index, change.grammar))


def entry_changes(word: Word, path: str) -> Iterator[Changed]:
    """Yield the grammar of an array's entries with one change."""
    if not isinstance(word, Struct):
        yield from word_changes(word, path)
        return
    if word.flexible:
        yield Changed(
            "no tags",
            last_path(word, path),
            Struct(*word.fields),
            f"with a tag section in every {path}",
            "was it left out?",
        )
    more = [*word.fields, Field(EXTRA, SECTION, None)] if word.flexible else word.fields
    grammar = Struct(*more, word.tags or TaggedFields())
    tags = f"{path}.{EXTRA if word.flexible else '_tags'}"
    yield Changed("tags", tags, grammar, f"without a tag section more in every {path}", "was one written?")
    for index, field in enumerate(word.fields):
        place = f"{path}.{field.name}"
        for change in (*word_changes(field.subcon, place), *changed_grammars(field.subcon, place)):
            yield change._replace(grammar=with_word(word, index, change.grammar))
        again = Field(EXTRA, field.subcon, field.subcon.zero)
        both = [*word.fields[: index + 1], again, *word.fields[index + 1 :]]
        yield Changed("twice", place, rebuilt(word, both), f"with every {place} once", "was it written twice?")


def last_path(struct: Struct, path: str) -> str:
    return f"{path}.{struct.fields[-1].name}" if struct.fields else path


def word_changes(word: Word, path: str) -> Iterator[Changed]:
    """Yield the other forms of a field's word."""
    match word:
        case LengthPrefixed():
            other: Word = LengthPrefixed(word.kind, word.nullable, not word.compact)
            yield compactness(word.compact, "length", path, other, 2 if word.kind == "string" else 4)
        case Array():
            yield compactness(word.compact, "count", path, Array(word.subcon, word.nullable, not word.compact), 4)
        case Primitive():
            for type_ in WIDTH_TYPES:
                if word.type in (*WIDTH_TYPES, "bool") and type_ != word.type and WIDTHS[type_] != WIDTHS[word.type]:
                    slip = "narrower" if WIDTHS[type_] < WIDTHS[word.type] else "wider"
                    words = f"with every {path} as {word.type}"
                    yield Changed(slip, path, Primitive(type_), words, f"was it written as {type_}?")


def compactness(compact: bool, subject: str, path: str, other: Word, width: int) -> Changed:
    name = "int16" if width == 2 else "int32"
    if compact:
        return Changed(
            "non-compact", path, other, f"with a compact {subject} of every {path}", f"was it written as {name}?"
        )
    return Changed("compact", path, other, f"with an {name} {subject} of every {path}", "was it written compact?")


def with_word(struct: Struct, index: int, word: Word) -> Struct:
    """Return the struct with another word for one field."""
    fields = list(struct.fields)
    fields[index] = Field(fields[index].name, word, word.zero)
    return rebuilt(struct, fields)


def rebuilt(struct: Struct, fields: list[Field]) -> Struct:
    return Struct(*fields, *([struct.tags] if struct.tags is not None else ()))

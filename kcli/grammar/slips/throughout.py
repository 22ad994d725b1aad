"""Finds one slip in all lengths or counts of a message, as from a program with a wrong helper function. The message is
read in this form and written correctly.
"""

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from kcli.errors import DecodeError, EncodeError
from kcli.grammar.slips.places import Layout
from kcli.grammar.slips.search import Hint, oddness_of
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.scalars import LengthPrefixed
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.tagged import Field, TaggedFields
from kcli.grammar.words.trace import DecodeTrace, Span
from kcli.grammar.words.varints import read_length, read_varint
from kcli.grammar.words.word import Word

LARGEST = 1 << 15  # bytes of a message to try
COST = 0.5  # as oddness: less than that of many slips, more than that of one
ODD_LENGTH = "odd length"  # the type of a span

Sized = LengthPrefixed | Array
Read = Callable[[ByteSource, str], int]  # returns a length or count, -1 for null; raises DecodeError


class OddLength(LengthPrefixed):
    """Bytes whose length has another form than the word's."""

    def __init__(self, word: LengthPrefixed, read: Read) -> None:
        super().__init__(word.kind, word.nullable, word.compact)
        self.read, self.least = read, 1

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        length = self.read(source, path)
        trace.note(path, start, source.tell(), ODD_LENGTH, length)
        if length < 0:
            return None if self.nullable else self.value_of(b"")[0]
        return self.value_of(source.take(length, path))[0]


class OddCount(Array):
    """Entries whose count has another form than the word's."""

    def __init__(self, word: Array, read: Read) -> None:
        super().__init__(word.subcon, word.nullable, word.compact)
        self.read, self.least = read, 1

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        start = source.tell()
        count = self.read(source, path)
        trace.note(path, start, source.tell(), ODD_LENGTH, count)
        if count > source.left():
            raise DecodeError(path, start, "more entries than bytes")
        if count < 0:
            return None if self.nullable else []
        return [self.parse_element(source, trace, path, i, count) for i in range(count)]


class Form(NamedTuple):
    """slip: its kind. right: the correct form. question: in words. widths: of the lengths that may have this form."""

    slip: str
    right: str
    question: str
    widths: tuple[int, ...]
    read: Callable[[Sized, ByteSource, str], int]


def without_plus_one(word: Sized, source: ByteSource, path: str) -> int:
    return read_varint(source, path)[0] or -1


def zigzag(word: Sized, source: ByteSource, path: str) -> int:
    return (read_varint(source, path)[0] >> 1) - 1


def plain(word: Sized, source: ByteSource, path: str) -> int:
    is_text = isinstance(word, LengthPrefixed) and word.kind == "string"
    return read_length(source, 2 if is_text else 4, path)[0]


def compact(word: Sized, source: ByteSource, path: str) -> int:
    return read_length(source, 0, path)[0]


def other_width(word: Sized, source: ByteSource, path: str) -> int:
    return read_length(source, 6 - word.width, path)[0]


def little_endian(word: Sized, source: ByteSource, path: str) -> int:
    return int.from_bytes(source.take(word.width, path), "little", signed=True)


FORMS = (
    Form("no + 1", "one higher", "was the + 1 left out?", (0,), without_plus_one),
    Form("non-compact", "compact", "was it written as in versions without tag sections?", (0,), plain),
    Form("zigzag", "unsigned", "was it written as zigzag?", (0,), zigzag),
    Form("compact", "as int16 or int32", "was it written compact?", (2, 4), compact),
    Form("length width", "as int32", "was it written as int16?", (4,), other_width),
    Form("length width", "as int16", "was it written as int32?", (2,), other_width),
    Form("little endian", "big-endian", "was it written little endian?", (2, 4), little_endian),
)
GROUPS: dict[str, Callable[[Sized], bool]] = {
    "string length": lambda word: word.type.endswith("string"),
    "length": lambda word: isinstance(word, LengthPrefixed),
    "count": lambda word: isinstance(word, Array),
    "length and count": lambda word: True,
}


def throughout_hints(layout: Layout, frame: bytes) -> Iterator[Hint]:
    """Yield a hint for each form that, in every length or count of a group, explains the message."""
    if len(frame) > LARGEST:
        return
    for form, group, (header, body) in changed_grammars(layout):
        words = f"with every {group} {form.right}"
        yield from read_so(layout, header, body, frame, Hint(form.slip, 0, words, form.question, b"", COST))


def changed_grammars(layout: Layout) -> Iterator[tuple[Form, str, tuple[Word, Word]]]:
    """Yield (form, name of a group of lengths, (header, body) with that form), each change once."""
    for form in FORMS:
        seen = set[tuple[int, ...]]()
        for group, belongs in GROUPS.items():
            for heads in (False, True):
                ids = list[int]()
                changed = partial(in_form, form, belongs, ids)
                body = mapped(layout.body.grammar, changed)
                header = mapped(layout.header.grammar, changed) if heads else layout.header.grammar
                if ids and tuple(ids) not in seen:
                    seen.add(tuple(ids))
                    yield form, group, (header, body)


def in_form(form: Form, belongs: Callable[[Sized], bool], ids: list[int], word: Word) -> Word:
    """Return the word in the form, if it belongs to the group; then add its id() to `ids`."""
    if not isinstance(word, LengthPrefixed | Array) or word.width not in form.widths or not belongs(word):
        return word
    ids.append(id(word))
    read = partial(form.read, word)
    return OddCount(word, read) if isinstance(word, Array) else OddLength(word, read)


def mapped(word: Word, changed: Callable[[Word], Word]) -> Word:
    """Return the grammar with `changed` applied to each word."""
    match word:
        case Array():
            array = changed(word)
            assert isinstance(array, Array)
            array = copy(array)
            array.subcon = mapped(word.subcon, changed)
            return array
        case Optional():
            return Optional(mapped(word.subcon, changed), word.tagged)
        case Struct():
            fields = [with_word(field, mapped(field.subcon, changed)) for field in word.fields]
            tagged = {field.tag: with_word(field, mapped(field.subcon, changed)) for field in word.tagged}
            return Struct(*fields, *([TaggedFields(tagged)] if word.flexible else ()))  # type: ignore[arg-type]
    return changed(word)


def with_word(field: Field, word: Word) -> Field:
    return Field(field.name, word, field.default, field.tag)


def read_so(layout: Layout, header: Word, body: Word, frame: bytes, hint: Hint) -> Iterator[Hint]:
    """Yield the hint with its offset and the correct message, if the frame reads to its end, and at least two numbers
    are odd.
    """
    source, trace = ByteSource(frame), DecodeTrace(list[Span]())
    try:
        values = [word.parse_word(source, trace, "") for word in (header, body)]
        starts = [span.start for span in trace.spans or () if span.type == ODD_LENGTH]
        if source.left() or len(starts) < 2:
            return
        out = bytearray()
        for codec, value in zip((layout.header, layout.body), values, strict=True):
            codec.grammar.build_word(value, out, DecodeTrace(), "")
    except (DecodeError, EncodeError):
        return
    mended = bytes(out)
    if layout.reads(mended):
        yield hint._replace(at=starts[0], frame=mended, oddness=oddness_of(layout, mended) + hint.oddness)

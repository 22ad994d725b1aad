"""The fields of a message that does not decode, up to the one at which reading stops."""

import re
from collections import deque
from typing import NamedTuple

from kcli.core.codec.varints import Buffer
from kcli.errors import DecodeError
from kcli.grammar.codec import Interpreted, MessageCodec
from kcli.grammar.words.arrays import Array, Optional
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.structs import Struct
from kcli.grammar.words.trace import DecodeTrace, Span
from kcli.grammar.words.word import Word

END = "end"  # the type of the place after the last field
NAME_OR_INDEX = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class Place(NamedTuple):
    """A field: its type and bytes. end: for an array, the end of all its entries; for a field that was not read,
    `start`.

    closes: a struct ends directly before it.
    """

    path: str
    start: int
    end: int
    type: str
    closes: bool


class Recent(DecodeTrace):
    """A trace that keeps only the last spans, and whether any bytes were odd."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.recent = deque[Span](maxlen=most)

    def note(self, path: str, start: int, end: int, type_: str, value: object) -> None:
        self.recent.append(Span(path, start, end, type_, value))


class Walk(NamedTuple):
    """spans: the last fields that were read. noncanonical: the number of fields that a canonical writer would write
    differently. error: why reading stopped, None at the message's end; end: where it stopped.
    """

    spans: list[Span]
    noncanonical: int
    error: DecodeError | None
    end: int


class Layout:
    """The layout of a frame: the codecs of header and body for one version."""

    def __init__(self, header: MessageCodec, body: MessageCodec) -> None:
        self.header, self.body = header, body
        self.verbs = [verbs_of(header), verbs_of(body)]

    def reads(self, data: Buffer) -> bool:
        """Return whether data is exactly one such message."""
        at = 0
        try:
            for verbs in self.verbs:
                at = verbs.skip(data, at)
        except DecodeError:
            return False
        return at == len(data)

    def walk(self, data: Buffer, most: int) -> Walk:
        """Read data; return its last fields, at most `most`, and where reading stopped."""
        trace, source = Recent(most), ByteSource(data)
        try:
            for codec in (self.header, self.body):
                codec.grammar.parse_word(source, trace, "")
        except DecodeError as error:
            return Walk([*trace.recent], len(trace.encodings), error, error.offset)
        return Walk([*trace.recent], len(trace.encodings), None, source.tell())

    def places(self, walk: Walk) -> list[Place]:
        """Return the places where the slip may be, the last first."""
        spans = [*walk.spans, self.stop(walk)]
        found = [
            Place(span.path, span.start, end, span.type, before is not None and closes(before, span))
            for before, span, end in zip([None, *spans], spans, extents(spans), strict=False)
            if span.type not in ("tag and size", "unknown tagged field")
        ]
        return found[::-1]

    def stop(self, walk: Walk) -> Span:
        """Return the field that could not be read, or the end of the message."""
        if walk.error is None:
            return Span("", walk.end, walk.end, END, None)
        path = walk.error.path
        start = walk.spans[-1].end if walk.spans else 0
        in_header = len(walk.spans) < len(self.header.grammar.subcons)
        type_ = type_at((self.header if in_header else self.body).grammar, path)
        return Span(path, start, start, type_ or END, None)


def verbs_of(codec: MessageCodec) -> Interpreted:
    """Return the reader of a codec: the core's node, or the interpreter if the grammar has construct's own words."""
    if codec.grammar.embeds:
        return codec.interpreted
    from kcli.grammar.native import to_native

    return to_native(codec.grammar)  # type: ignore[return-value]


def extents(spans: list[Span]) -> list[int]:
    """Return the end of each span; for an array's count, the end of its last entry."""
    made = list[int]()
    ends: dict[str, int] = {}  # path of an array, or of a field in it -> end of its last entry
    for span in reversed(spans):
        if span.type.endswith("array count"):
            made.append(max(ends.get(span.path, 0), span.end))
        else:
            made.append(span.end)
        at = len(span.path)
        while (at := span.path.rfind("[", 0, at)) > 0:
            if ends.setdefault(span.path[:at], span.end) != span.end:
                break
    return made[::-1]


def closes(before: Span, span: Span) -> bool:
    """Return whether a struct or an entry ends between two adjacent spans."""
    return before.type == "tag count" or span.type == END or group(before.path) != group(span.path)


def group(path: str) -> str:
    return path if path.endswith("]") else path.rpartition(".")[0]


def type_at(struct: Struct, path: str) -> str:
    """Return the type of the field at a path, as in its span; "" if there is none."""
    word: Word = struct
    for name, _index in NAME_OR_INDEX.findall(path):
        word = inner(word)
        if name == "_tags":
            return "tag count" if isinstance(word, Struct) and word.flexible else ""
        if isinstance(word, Array):
            word = word.subcon
        elif isinstance(word, Struct) and name in word.words:
            word = word.words[name]
        else:
            return ""
    return f"{word.type} count" if isinstance(word, Array) else word.type


def inner(word: Word) -> Word:
    return word.subcon if isinstance(word, Optional) else word

"""Named fields, and the section of tagged fields at the end of a struct (KIP-482)."""

from __future__ import annotations

import base64
from types import EllipsisType
from typing import Any

from construct import Renamed

from kcli.core.codec.values import bytes_of
from kcli.core.codec.varints import write_unsigned
from kcli.errors import DecodeError, EncodeError
from kcli.grammar.words.embedded import Embedded, as_word
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.trace import DecodeTrace, child
from kcli.grammar.words.varints import read_varint
from kcli.grammar.words.word import JsonForm, Word

UNKNOWN_TAGS = "_unknownTaggedFields"


class Field(Renamed):  # type: ignore[type-arg]
    """A named word. default: the value written if none is given. tag: None for a plain field."""

    name: str
    subcon: Word

    def __init__(self, name: str, subcon: Any, default: Any, tag: int | None = None) -> None:
        super().__init__(as_word(subcon), name)
        self.name, self.default, self.tag = name, default, tag  # construct turns an empty name into None

    @classmethod
    def of(cls, construct: Any, tag: int | None = None) -> Field:
        """Return `"name" / word` as a field."""
        if isinstance(construct, cls):
            if tag in (None, construct.tag):
                return construct
            return cls(construct.name, construct.subcon, construct.default, tag)
        if not isinstance(construct, Renamed) or not construct.name:
            word = None if isinstance(construct, Renamed) else as_word(construct)
            if isinstance(word, Embedded) and tag is None:
                return cls("", word, None)  # unnamed, as Const and Padding in construct's own structs
            raise TypeError(f"a field of a struct needs a name ('name' / word): {construct!r}")
        word = as_word(construct.subcon) if construct.parsed is None else Embedded(construct.subcon * construct.parsed)
        return cls(construct.name, word, word.zero, tag)


class TaggedFields(Word):
    """The section of tagged fields: {tag: "name" / word}, or `...` to keep all as bytes.

    If it is unnamed at the end of a `Struct`, its values are among the struct's. Only fields that were sent are in the
    value; unknown ones are bytes.
    """

    least = 1
    type = "tagged fields"

    def __init__(self, fields: dict[int, Any] | EllipsisType | None = None) -> None:
        super().__init__()
        known = fields if isinstance(fields, dict) else {}
        self.fields = [Field.of(known[tag], tag) for tag in sorted(known)]
        self.by_tag = {field.tag: field for field in self.fields}
        self.words = {field.name: field.subcon for field in self.fields}
        self.embeds = any(field.subcon.embeds for field in self.fields)

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return super()._parse(stream, context, path.rpartition(" -> ")[0])

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return super()._build(obj, stream, context, path.rpartition(" -> ")[0])

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> dict[str, Any]:
        start, value, before = source.tell(), dict[str, Any](), -1
        place = child(path, "_tags")
        count, canonical = read_varint(source, place)
        trace.note(place, start, source.tell(), "tag count", count)
        for _ in range(count):
            tag, clean = self.parse_tag(source, trace, path, value)
            canonical = canonical and clean and tag > before
            before = tag
        if not canonical:
            end = source.tell()
            source.seek(start)
            trace.encodings[f"{path}#tags"] = source.read(end - start)
        return value

    def parse_tag(self, source: ByteSource, trace: DecodeTrace, path: str, value: dict[str, Any]) -> tuple[int, bool]:
        """Parse a tagged field into `value`; return (tag, canonical)."""
        place, start = child(path, "_tags"), source.tell()
        tag, clean = read_varint(source, place)
        size, clean_size = read_varint(source, place)
        if source.left() < size:
            raise source.short(size, place)
        trace.note(place, start, source.tell(), "tag and size", f"tag {tag}, {size} bytes")
        field = self.by_tag.get(tag)
        if field is None:
            at, data = source.tell(), source.read(size)
            trace.note(child(path, f"tag {tag}"), at, source.tell(), "unknown tagged field", data)
            value.setdefault(UNKNOWN_TAGS, []).append({"tag": tag, "data": data})
        else:
            value[field.name] = self.parse_sized(field, size, source, trace, path)
        return tag, clean and clean_size

    def parse_sized(self, field: Field, size: int, source: ByteSource, trace: DecodeTrace, path: str) -> Any:
        """Return the value of a known tag. Raises DecodeError if it does not have exactly `size` bytes."""
        start, limit, place = source.tell(), source.limit, child(path, field.name)
        source.limit = start + size
        value = field.subcon.parse_word(source, trace, place)
        took = source.tell() - start
        if took != size:
            raise DecodeError(place, start, f"a tagged field at {start:#x} says {size} bytes and takes {took}")
        source.limit = limit
        return value

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if not isinstance(value, dict):
            raise EncodeError(path, f"needs an object with fields, not {value!r}")
        out += self.kept_tags(value, trace, path) or self.tag_bytes(value, trace, path)

    def kept_tags(self, value: dict[str, Any], trace: DecodeTrace, path: str) -> bytes | None:
        """Return an odd section of tags that was read, if it still means the value; else None."""
        raw = trace.encodings.get(f"{path}#tags")
        if raw is None:
            return None
        try:
            value_read = self.parse_word(ByteSource(raw), DecodeTrace(), "")
            tagged = {field.name: value[field.name] for field in self.fields if field.name in value}
            unknown = [{"tag": tag, "data": data} for tag, data in unknown_of(value, path)]
        except DecodeError:
            return None
        if unknown:
            tagged[UNKNOWN_TAGS] = unknown
        try:
            same = self.json_value(value_read, JsonForm("raw")) == self.json_value(tagged, JsonForm("raw"))
        except (AttributeError, TypeError, ValueError):
            return None  # the value has another shape, which its builder reports
        return raw if same else None

    def tag_bytes(self, value: dict[str, Any], trace: DecodeTrace, path: str) -> bytes:
        """Return the canonical bytes of all tags. Raises EncodeError."""
        sent = unknown_of(value, path)
        for field in self.fields:
            if field.name in value:
                written = bytearray()
                field.subcon.build_word(value[field.name], written, trace, child(path, field.name))
                sent.append((field.tag or 0, bytes(written)))
        if len({tag for tag, _ in sent}) != len(sent):
            raise EncodeError(child(path, UNKNOWN_TAGS), "a tag is there twice")
        made = write_unsigned(len(sent))
        for tag, data in sorted(sent):
            made += write_unsigned(tag) + write_unsigned(len(data)) + data
        return made

    def json_value(self, value: dict[str, Any], form: JsonForm) -> dict[str, Any]:
        made = {name: self.words[name].json_value(item, form) for name, item in value.items() if name in self.words}
        return made | unknown_json(value)


def unknown_json(value: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a value's unknown tagged fields, {} without any."""
    tags = [
        {"tag": tag["tag"], "data": base64.b64encode(bytes_of(tag["data"])).decode()}
        for tag in value.get(UNKNOWN_TAGS, ())
    ]
    return {UNKNOWN_TAGS: tags} if tags else {}


def unknown_of(value: dict[str, Any], path: str) -> list[tuple[int, bytes]]:
    """Return (tag, bytes) of each unknown tagged field in a value. Raises EncodeError."""
    place, tags = child(path, UNKNOWN_TAGS), value.get(UNKNOWN_TAGS, [])
    if not isinstance(tags, list):
        raise EncodeError(place, f"needs a list of tags, not {tags!r}")
    made = []
    for item in tags:
        tag = item.get("tag") if isinstance(item, dict) else None
        if not isinstance(tag, int) or not 0 <= tag < 2**32:
            raise EncodeError(place, f'needs {{"tag": number, "data": base64}}, not {item!r}')
        try:
            made.append((tag, bytes(bytes_of(item.get("data")))))
        except ValueError as error:
            raise EncodeError(place, str(error)) from None
    return made

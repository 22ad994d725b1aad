"""Messages and structs: fields in order, then tagged ones (KIP-482) where the version is flexible."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from kcli.core.values import bytes_of
from kcli.errors import DecodeError, EncodeError
from kcli.grammar.primitives import JsonForm, Word, read_varint, write_varint
from kcli.grammar.source import DecodeTrace, Source, child

__all__ = ["UNKNOWN_TAGS", "Field", "Struct"]

UNKNOWN_TAGS = "_unknownTaggedFields"


class Field(NamedTuple):
    """A named word of a Struct, with the value that a writer takes when none is given. tag: None in the plain order."""

    name: str
    subcon: Word
    default: Any
    tag: int | None = None


class Struct(Word):
    """Fields in their order; tagged fields stand in the value only when they were sent, unknown ones as bytes."""

    type = "struct"

    def __init__(self, fields: list[Field], tagged: list[Field], flexible: bool) -> None:
        super().__init__()
        self.fields, self.flexible = fields, flexible
        self.tagged = sorted(tagged, key=lambda field: field.tag or 0)
        self.by_tag = {field.tag: field for field in tagged}
        self.least = sum(field.subcon.least for field in fields) + flexible

    def parse_word(self, source: Source, trace: DecodeTrace, path: str) -> dict[str, Any]:
        value = {}
        for field in self.fields:
            value[field.name] = field.subcon.parse_word(source, trace, child(path, field.name))
        if self.flexible:
            value |= self.parse_tags(source, trace, path)
        return value

    def parse_tags(self, source: Source, trace: DecodeTrace, path: str) -> dict[str, Any]:
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

    def parse_tag(self, source: Source, trace: DecodeTrace, path: str, value: dict[str, Any]) -> tuple[int, bool]:
        """(tag, canonical); the field is put into `value`."""
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

    def parse_sized(self, field: Field, size: int, source: Source, trace: DecodeTrace, path: str) -> Any:
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
        self.check_names(value, path)
        for field in self.fields:
            field.subcon.build_word(value.get(field.name, field.default), out, trace, child(path, field.name))
        if self.flexible:
            out += self.kept_tags(value, trace, path) or self.tag_bytes(value, trace, path)

    def check_names(self, value: dict[str, Any], path: str) -> None:
        known = {field.name for field in (*self.fields, *self.tagged)}
        for name in value:
            if name not in known and not (isinstance(name, str) and name.startswith("_")):
                there = ", ".join(sorted(known)) or "none"
                raise EncodeError(path, f"has no field {name!r} in this version (it has: {there})")

    def kept_tags(self, value: dict[str, Any], trace: DecodeTrace, path: str) -> bytes | None:
        """An odd section of tags, if it still says what the value has."""
        raw = trace.encodings.get(f"{path}#tags")
        if raw is None:
            return None
        try:
            said = self.parse_tags(Source(raw), DecodeTrace(), "")
            tagged = {field.name: value[field.name] for field in self.tagged if field.name in value}
            unknown = [{"tag": tag, "data": data} for tag, data in self.unknown_of(value, path)]
        except DecodeError:
            return None
        if unknown:
            tagged[UNKNOWN_TAGS] = unknown
        try:
            same = self.json_value(said, JsonForm("raw")) == self.json_value(tagged, JsonForm("raw"))
        except (AttributeError, TypeError, ValueError):
            return None  # not a value of this shape: whoever builds it says so
        return raw if same else None

    def tag_bytes(self, value: dict[str, Any], trace: DecodeTrace, path: str) -> bytes:
        sent = self.unknown_of(value, path)
        for field in self.tagged:
            if field.name in value:
                written = bytearray()
                field.subcon.build_word(value[field.name], written, trace, child(path, field.name))
                sent.append((field.tag or 0, bytes(written)))
        if len({tag for tag, _ in sent}) != len(sent):
            raise EncodeError(child(path, UNKNOWN_TAGS), "a tag is there twice")
        made = write_varint(len(sent))
        for tag, data in sorted(sent):
            made += write_varint(tag) + write_varint(len(data)) + data
        return made

    def unknown_of(self, value: dict[str, Any], path: str) -> list[tuple[int, bytes]]:
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

    def json_value(self, value: dict[str, Any], form: JsonForm) -> dict[str, Any]:
        made = {}
        words = {field.name: field.subcon for field in (*self.fields, *self.tagged)}
        for name, item in value.items():
            if name in words:
                made[name] = words[name].json_value(item, form)
        for tag in value.get(UNKNOWN_TAGS, ()):
            data = base64.b64encode(bytes_of(tag["data"])).decode()
            made.setdefault(UNKNOWN_TAGS, []).append({"tag": tag["tag"], "data": data})
        return made

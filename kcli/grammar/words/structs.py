"""Messages and structs: fields in order, followed by tagged fields (KIP-482) in flexible versions."""

from contextlib import suppress
from typing import Any

from construct import StopFieldError

from kcli.errors import EncodeError, UnknownFieldError
from kcli.grammar.words.embedded import Embedded, context_below
from kcli.grammar.words.source import ByteSource
from kcli.grammar.words.tagged import Field, TaggedFields, unknown_json
from kcli.grammar.words.trace import DecodeTrace, child
from kcli.grammar.words.word import JsonForm, Word, containers


class Struct(Word):
    """Fields in order, each `"name" / word`; in flexible versions followed by an unnamed `TaggedFields`.

    Construct's own words need no name (`Const`, `Padding`); they are parsed and built, but the value does not have
    them.
    """

    type = "struct"
    zero: Any = {}  # noqa: RUF012 - built from, never changed

    def __init__(self, *subcons: Any, **named: Any) -> None:
        super().__init__()
        listed = [*subcons, *(name / word for name, word in named.items())]
        self.tags = listed.pop() if listed and isinstance(listed[-1], TaggedFields) else None
        self.fields = [Field.of(field) for field in listed]
        self.tagged: list[Field] = self.tags.fields if self.tags else []
        self.subcons = [*self.fields, *([self.tags] if self.tags else ())]
        self.flexible = self.tags is not None  # whether tagged fields follow the plain ones
        words = [field.subcon for field in self.fields]
        self.least = sum(word.least for word in words) + self.flexible
        sizes = [word.size for word in words if word.size is not None]
        self.size = None if self.flexible or len(sizes) < len(words) else sum(sizes)
        self.embeds = any(word.embeds for word in words) or (self.tags is not None and self.tags.embeds)
        self.words = {field.name: field.subcon for field in (*self.fields, *self.tagged) if field.name}

    def _sizeof(self, context: Any, path: str) -> int:
        if self.size is None and self.embeds and not self.flexible:
            below = context_below(DecodeTrace(context=context), parsing=False)
            return sum(field._sizeof(below, path) for field in self.fields)
        return super()._sizeof(context, path)

    def parse_word(self, source: ByteSource, trace: DecodeTrace, path: str) -> dict[str, Any]:
        value: dict[str, Any] = {}
        if self.embeds:
            self.parse_in_context(value, source, trace, path)
        else:
            for field in self.fields:
                value[field.name] = field.subcon.parse_word(source, trace, child(path, field.name))
            self.parse_tags(value, source, trace, path)
        return value

    def parse_tags(self, value: dict[str, Any], source: ByteSource, trace: DecodeTrace, path: str) -> None:
        """Parse the tagged fields, and add them to the plain ones."""
        if self.tags is not None:
            value |= self.tags.parse_word(source, trace, path)

    def parse_in_context(self, value: dict[str, Any], source: ByteSource, trace: DecodeTrace, path: str) -> None:
        """Parse all fields. Construct's words can refer to earlier plain fields (`this.name`)."""
        outer, context = trace.context, context_below(trace, parsing=True)
        trace.context = context
        try:
            with suppress(StopFieldError):
                for field in self.fields:
                    item = field.subcon.parse_word(source, trace, child(path, field.name))
                    if field.name:
                        value[field.name], context[field.name] = item, containers(item)
            self.parse_tags(value, source, trace, path)
        finally:
            trace.context = outer

    def build_word(self, value: Any, out: bytearray, trace: DecodeTrace, path: str) -> None:
        if not isinstance(value, dict):
            raise EncodeError(path, f"needs an object with fields, not {value!r}")
        self.check_names(value, path)
        if self.embeds:
            self.build_in_context(value, out, trace, path)
        else:
            for field in self.fields:
                field.subcon.build_word(value.get(field.name, field.default), out, trace, child(path, field.name))
            self.build_tags(value, out, trace, path)

    def build_tags(self, value: dict[str, Any], out: bytearray, trace: DecodeTrace, path: str) -> None:
        """Append the section of tagged fields."""
        if self.tags is not None:
            self.tags.build_word(value, out, trace, path)

    def build_in_context(self, value: dict[str, Any], out: bytearray, trace: DecodeTrace, path: str) -> None:
        """Append all fields. Construct's words can refer to any of them (`this.name`)."""
        outer, context = trace.context, context_below(trace, parsing=False)
        context.update(value)
        trace.context = context
        try:
            with suppress(StopFieldError):
                for field in self.fields:
                    context[field.name] = item = value.get(field.name, field.default)
                    place = child(path, field.name)
                    if isinstance(field.subcon, Embedded):
                        context[field.name] = field.subcon.build_word(item, out, trace, place)
                    else:
                        field.subcon.build_word(item, out, trace, place)
            self.build_tags(value, out, trace, path)
        finally:
            trace.context = outer

    def check_names(self, value: dict[str, Any], path: str) -> None:
        """Raise EncodeError if the value has a field that this struct lacks."""
        for name in value:
            if name not in self.words and not (isinstance(name, str) and name.startswith("_")):
                raise UnknownFieldError(path, name, self.words)

    def json_value(self, value: dict[str, Any], form: JsonForm) -> dict[str, Any]:
        made = {name: self.words[name].json_value(item, form) for name, item in value.items() if name in self.words}
        return made | unknown_json(value)

"""Avro, by fastavro: values of a writer's schema, also as a reader's schema has them; and back from JSON.

JSON of a value: a union is the value alone; bytes and fixed are base64 text; a decimal is text ("12.50"), a date, time
or timestamp ISO 8601, a UUID its text; NaN and the infinities are texts.
"""

from __future__ import annotations

import base64
import io
import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import fastavro
from fastavro.schema import SchemaParseException

from kcli.payloads.avro_bounds import Bounds
from kcli.payloads.avro_json import turner
from kcli.payloads.json_values import json_of
from kcli.payloads.schema import FAILURES, PayloadError, Schema

WIDEST_DECIMAL = 1 << 16  # bytes of a payload with decimals in bytes: their time grows with the square
OF_FASTAVRO = ("__fastavro_parsed__", "__named_schemas")  # in a schema: it would not be looked at any more
WRONG = (*FAILURES, SchemaParseException)


class Parsed:
    """A schema as fastavro has it, with the named types that it refers to."""

    def __init__(self, schema: Schema) -> None:
        """Raises PayloadError if it is no schema of Avro."""
        self.names: dict[str, Any] = {}
        try:
            for text in (*(text for _, text in schema.references), schema.text):
                self.raw = schema_json(text)
                self.schema = fastavro.parse_schema(self.raw, named_schemas=self.names)
        except PayloadError:
            raise
        except WRONG as error:
            raise PayloadError(f"not a schema of Avro: {reason_of(error)}") from None
        # A type that was defined elsewhere stands here as its name alone.
        while isinstance(self.schema, str) and self.schema in self.names:
            self.schema = self.names[self.schema]


class AvroCodec:
    """Reads and writes values of one schema."""

    def __init__(self, schema: Schema, reader: Schema | None = None) -> None:
        """Compile a schema. reader: the schema whose fields the values shall have."""
        parsed = Parsed(schema)
        self.writer, self.names = parsed.schema, parsed.names
        self.bounds = Bounds(self.writer, self.names)
        if reader is None:
            self.reader, self.turn = None, turner(self.writer, self.names)
        else:
            read = Parsed(reader)
            self.reader, self.turn = read.schema, turner(read.schema, read.names)
        self.bare: AvroCodec | None = None
        self.schemas = schema, reader

    def decode(self, data: bytes, start: int) -> Any:
        """See Codec."""
        if self.bounds.risky:
            self.bounds.check(data, start)
        if self.bounds.decimals and len(data) > WIDEST_DECIMAL:
            return self.without_logical_types().decode(data, start)
        # A number that is cut takes the byte behind it: fastavro does not look.
        source = io.BytesIO(data[start:] + b"\0")
        try:
            value = fastavro.schemaless_reader(source, self.writer, self.reader)
        except (OverflowError, ArithmeticError):
            if not self.bounds.logical:
                raise PayloadError("a number that is too large") from None
            return self.without_logical_types().decode(data, start)
        except WRONG as error:
            raise PayloadError(f"not of this schema: {reason_of(error)}") from None
        left = len(data) - start - source.tell()
        if left < 0:
            raise PayloadError("not of this schema: it ends too early")
        if left:
            raise PayloadError(f"not of this schema: {left} of {len(data) - start} bytes are left behind it")
        return value if self.turn is None else self.turn(value)

    def without_logical_types(self) -> AvroCodec:
        """Return a codec of the same schemas that shows dates and decimals as the numbers and bytes that they are."""
        if self.bare is None:
            writer, reader = (each and bare_schema(each) for each in self.schemas)
            self.bare = AvroCodec(cast("Schema", writer), reader)
        return self.bare

    def encode(self, value: Any) -> bytes:
        """See Codec."""
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self.writer, avro_form(self.writer, value, self.names), strict=True)
        except WRONG as error:
            raise PayloadError(f"no value of this schema: {reason_of(error)}") from None
        return out.getvalue()


def schema_json(text: str) -> Any:
    """Return a schema's JSON; a name alone stands for a primitive type."""
    if any(word in text for word in OF_FASTAVRO):
        raise PayloadError("not a schema of Avro: it says that it was read")
    stripped = text.strip()
    return json_of(text.encode()) if stripped[:1] in ("{", "[", '"') else stripped


def bare_schema(schema: Schema) -> Schema:
    """Return a schema without its logical types."""

    def without(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without(each) for key, each in value.items() if key != "logicalType"}
        return [*map(without, value)] if isinstance(value, list) else value

    def bare(text: str) -> str:
        return json.dumps(without(schema_json(text)))

    return Schema(schema.type, bare(schema.text), tuple((name, bare(text)) for name, text in schema.references))


def reason_of(error: BaseException) -> str:
    """Return why fastavro gave up, in a line."""
    text = " ".join(str(error).split())
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, RecursionError):
        return "nested too deep"
    if isinstance(error, IndexError):
        return "a union or enum has no such member"
    return text[:200] if text else type(error).__name__


def avro_form(schema: Any, value: Any, names: dict[str, Any]) -> Any:
    """Return a value of JSON as fastavro takes it for a schema. ValueError, TypeError: it is none of it."""
    if isinstance(schema, list):
        return union_form(schema, value, names)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(kind, (dict, list)):
        return avro_form(kind, value, names)
    if kind in names and not isinstance(schema, dict):
        return avro_form(names[kind], value, names)
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if logical in PARSED and isinstance(value, str):
        return PARSED[logical](value)
    if kind in ("record", "error"):
        if not isinstance(value, dict):
            raise TypeError(f"an object expected for {schema['name']}")
        fields = {each["name"]: each for each in schema["fields"]}
        return {
            name: avro_form(fields[name]["type"], each, names) if name in fields else each
            for name, each in value.items()
        }
    if kind == "array" and isinstance(value, list):
        return [avro_form(schema["items"], each, names) for each in value]
    if kind == "map" and isinstance(value, dict):
        return {name: avro_form(schema["values"], each, names) for name, each in value.items()}
    if kind in ("bytes", "fixed") and isinstance(value, str):
        return base64.b64decode(value, validate=True)
    return float(value) if kind in ("float", "double") and isinstance(value, str) else value


def union_form(branches: list[Any], value: Any, names: dict[str, Any]) -> Any:
    """Return the value as the first branch has it that takes it."""
    for branch in branches:
        if value is None:
            if branch == "null":
                return None
            continue
        try:
            made = avro_form(branch, value, names)
            if fastavro.validate(made, named(branch, names), raise_errors=False, strict=True):
                return made
        except FAILURES:
            continue
    raise ValueError("no branch of a union takes it")


def named(branch: Any, names: dict[str, Any]) -> Any:
    return names.get(branch, branch) if isinstance(branch, str) else branch


PARSED: dict[str, Any] = {
    "decimal": Decimal,
    "date": date.fromisoformat,
    "time-millis": time.fromisoformat,
    "time-micros": time.fromisoformat,
    "timestamp-millis": datetime.fromisoformat,
    "timestamp-micros": datetime.fromisoformat,
    "local-timestamp-millis": datetime.fromisoformat,
    "local-timestamp-micros": datetime.fromisoformat,
    "uuid": UUID,
}

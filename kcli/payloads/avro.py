"""Avro: reads values by the writer's schema, also resolved into a reader's schema, and writes them from JSON.

fastavro parses schemas, resolves a writer's into a reader's, and writes. The core reads values, because it takes
bounded time and memory, which fastavro does not.

JSON of a value: a union is the value alone; bytes and fixed are base64 text; a decimal is text ("12.50"), a date, time
or timestamp ISO 8601, a UUID its text; NaN and the infinities are texts.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import fastavro
from fastavro.io.json_decoder import AvroJSONDecoder
from fastavro.io.json_encoder import AvroJSONEncoder
from fastavro.read import LOGICAL_READERS
from fastavro.schema import SchemaParseException

from kcli.core.payloads.avro_values import Type, ValueDamageError, read
from kcli.jsontext import dumps
from kcli.payloads.framing import Frame
from kcli.payloads.json_values import json_of
from kcli.payloads.plain import json_form
from kcli.payloads.schema import FAILURES, PayloadError, Schema

WIDEST_DECIMAL = 1 << 16  # bytes of a payload with decimals in bytes, whose time is quadratic
OF_FASTAVRO = ("__fastavro_parsed", "__named_schemas")  # marks in a schema for which fastavro does not parse it
ENDLESS = ("NaN", "Infinity", "-Infinity")
WRONG = (*FAILURES, SchemaParseException)
RECORDS = ("record", "error")


class JsonDecoder(AvroJSONDecoder):
    """Reads the texts that Java's encoder writes for numbers outside of JSON (NaN, Infinity)."""

    def read_float(self) -> Any:
        return endless(super().read_float())  # type: ignore[no-untyped-call]

    def read_double(self) -> Any:
        return endless(super().read_double())  # type: ignore[no-untyped-call]


class JsonEncoder(AvroJSONEncoder):
    """Writes the texts that Java's encoder writes for numbers outside of JSON."""

    def write_float(self, value: float) -> None:
        super().write_float(json_form(value))  # type: ignore[no-untyped-call]

    def write_double(self, value: float) -> None:
        super().write_double(json_form(value))  # type: ignore[no-untyped-call]


def endless(value: Any) -> Any:
    """Return the number that "NaN" or "Infinity" stands for, any other value unchanged."""
    return float(value) if value in ENDLESS else value


class Parsed:
    """A schema as fastavro parses it, with the named types that it refers to."""

    def __init__(self, schema: Schema) -> None:
        """Parse the schema. Raises PayloadError if it is no schema of Avro."""
        self.names: dict[str, Any] = {}
        try:
            for text in (*(text for _, text in schema.references), schema.text):
                self.raw = schema_json(text)
                self.schema = fastavro.parse_schema(self.raw, named_schemas=self.names)
        except PayloadError:
            raise
        except WRONG as error:
            raise PayloadError(f"not a schema of Avro: {reason_of(error)}") from None
        # A type that was defined elsewhere is only a name here.
        while isinstance(self.schema, str) and self.schema in self.names:
            self.schema = self.names[self.schema]


class AvroCodec:
    """Reads and writes values of one schema."""

    def __init__(self, schema: Schema, reader: Schema | None = None) -> None:
        """Compile a schema. reader: the schema into which values are resolved. Raises PayloadError."""
        parsed = Parsed(schema)
        self.writer, self.names = parsed.schema, parsed.names
        self.types = Types(self.writer, self.names)
        self.root, self.decimals = self.types.root, self.types.decimals
        self.reader = None if reader is None else Parsed(reader).schema
        self.bare: AvroCodec | None = None
        self.schemas = schema, reader

    def decode(self, data: bytes, start: int) -> Any:
        """Return the value of a payload as in JSON. Raises PayloadError."""
        if self.decimals and len(data) > WIDEST_DECIMAL:
            return self.without_logical_types().decode(data, start)
        try:
            value = read(self.root, data, start)
            return value if self.reader is None else self.resolved(data, start)
        except ValueDamageError as error:
            raise PayloadError(str(error)) from None
        except ArithmeticError:  # a time outside of the calendar
            if not self.types.logical:
                raise PayloadError("a number that is too large") from None
            return self.without_logical_types().decode(data, start)
        except WRONG as error:
            raise PayloadError(f"not of this schema: {reason_of(error)}") from None

    def decode_framed(self, frame: Frame, data: bytes) -> Any:
        """Return the value of a payload after its frame, binary or in Avro's JSON encoding. Raises PayloadError."""
        return (self.decode_json if frame.json else self.decode)(data, frame.start)

    def encode_like(self, value: Any, frame: Frame, _data: bytes) -> bytes:
        """Return the bytes of a value after a frame, binary or in Avro's JSON encoding. Raises PayloadError."""
        return self.encode_json(value) if frame.json else self.encode(value)

    def decode_json(self, data: bytes, start: int) -> Any:
        """Return a value of Avro's JSON encoding, in which a union names its type and bytes are Latin-1. Raises
        PayloadError.
        """
        text = dumps(json_of(data[start:]))
        try:
            schema = with_names(self.writer, self.names)
            [value] = fastavro.json_reader(io.StringIO(text), schema, self.reader, decoder=JsonDecoder)
            if not is_valid(value, self.writer if self.reader is None else self.reader, self.names):
                raise PayloadError("not of this schema in Avro's JSON")
            return json_form(value)
        except PayloadError:
            raise
        except ArithmeticError:
            if not self.types.logical:
                raise PayloadError("a number that is too large") from None
            return self.without_logical_types().decode_json(data, start)
        except WRONG as error:
            raise PayloadError(f"not of this schema in Avro's JSON: {reason_of(error)}") from None

    def encode_json(self, value: Any) -> bytes:
        """Return the bytes of a value in Avro's JSON encoding. Raises PayloadError."""
        out = io.StringIO()
        try:
            made = avro_form(self.writer, value, self.names)
            fastavro.json_writer(out, with_names(self.writer, self.names), [made], encoder=JsonEncoder)
        except WRONG as error:
            raise PayloadError(f"no value of this schema: {reason_of(error)}") from None
        return out.getvalue().encode()

    def resolved(self, data: bytes, start: int) -> Any:
        """Return a value that can be read, resolved into the reader's schema."""
        return json_form(fastavro.schemaless_reader(io.BytesIO(data[start:]), self.writer, self.reader))

    def without_logical_types(self) -> AvroCodec:
        """Return a codec of the same schemas in which dates and decimals are plain numbers and bytes."""
        if self.bare is None:
            writer, reader = (each and bare_schema(each) for each in self.schemas)
            self.bare = AvroCodec(cast("Schema", writer), reader)
        return self.bare

    def encode(self, value: Any) -> bytes:
        """Return the payload of a value. Raises PayloadError."""
        out = io.BytesIO()
        try:
            fastavro.schemaless_writer(out, self.writer, avro_form(self.writer, value, self.names), strict=True)
        except WRONG as error:
            raise PayloadError(f"no value of this schema: {reason_of(error)}") from None
        return out.getvalue()


def schema_json(text: str) -> Any:
    """Return a schema's JSON, or its text if that is the name of a primitive type. Raises PayloadError."""
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
    """Return why fastavro failed, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, EOFError):
        return "it ends too early"
    if isinstance(error, RecursionError):
        return "nested too deep"
    if isinstance(error, IndexError):
        return "a union or enum has no such member"
    return text[:200] if text else type(error).__name__


def avro_form(schema: Any, value: Any, names: dict[str, Any]) -> Any:
    """Return a JSON value in the form that fastavro expects for a schema. Raises ValueError, TypeError if it does not
    fit.
    """
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
    """Return the value in the form of the first branch that accepts it. Raises ValueError."""
    for branch in branches:
        if value is None:
            if branch == "null":
                return None
            continue
        try:
            made = avro_form(branch, value, names)
            schema = named(branch, names)
            if is_valid(made, schema, names):
                # A record is named, because fastavro would also accept the value as a map.
                is_record = isinstance(schema, dict) and schema["type"] in ("record", "error")
                return (schema["name"], made) if is_record else made
        except FAILURES:
            continue
    raise ValueError("no branch of a union takes it")


def is_valid(value: Any, schema: Any, names: dict[str, Any]) -> bool:
    """Return whether fastavro accepts a value for a schema, which may name types that are defined elsewhere."""
    return bool(fastavro.validate(value, with_names(schema, names), raise_errors=False, strict=True))


def with_names(schema: Any, names: dict[str, Any]) -> Any:
    """Return a schema with the types that are defined elsewhere, in fastavro's form."""
    return schema | dict(zip(OF_FASTAVRO, (True, names), strict=True)) if isinstance(schema, dict) else schema


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


class Types:
    """Makes the core's types from a schema that fastavro has parsed. names: the named types that it refers to.

    logical: some types are logical; decimals: some of these are decimals in bytes
    """

    def __init__(self, schema: Any, names: dict[str, Any]) -> None:
        """Build the types of the schema. Raises PayloadError if it is nested too deep."""
        self.names = names
        self.made: dict[str, Type] = {}
        self.logical = self.decimals = False
        try:
            self.root = self.of(schema)
        except RecursionError:
            raise PayloadError("a schema that is nested too deep") from None

    def of(self, schema: Any) -> Type:
        """Return the type of a schema, with its inner types."""
        if isinstance(schema, list):
            return self.holding(Type("union"), schema)
        if isinstance(schema, str):
            return self.named(schema)
        kind = schema["type"]
        if kind in RECORDS:
            return self.record(schema)
        turn = self.turn(kind, schema)
        if kind == "array" or kind == "map":
            return self.holding(Type(kind), [schema["items" if kind == "array" else "values"]])
        if kind == "fixed":
            return self.kept(schema, Type("fixed", size=schema["size"], turn=turn))
        if kind == "enum":
            return self.kept(schema, Type("enum", schema["symbols"]))
        return self.of(kind) if turn is None else Type(kind, turn=turn)

    def named(self, name: str) -> Type:
        """Return a named type, or a primitive one."""
        if name in self.made:
            return self.made[name]
        return self.of(self.names[name]) if name in self.names else Type(name)

    def kept(self, schema: dict[str, Any], made: Type) -> Type:
        """Keep a named type for later references, and return it."""
        self.made[schema["name"]] = made
        return made

    def record(self, schema: dict[str, Any]) -> Type:
        """Return the type of a record, which is made once, because it may contain itself."""
        if schema["name"] in self.made:
            return self.made[schema["name"]]
        fields = schema["fields"]
        made = self.kept(schema, Type("record", [field["name"] for field in fields]))
        return self.holding(made, [field["type"] for field in fields])

    def holding(self, made: Type, inner: list[Any]) -> Type:
        """Set the inner types of a type, and return it."""
        made.hold([self.of(each) for each in inner])
        return made

    def turn(self, kind: Any, schema: dict[str, Any]) -> Callable[[Any], Any] | None:
        """Return the function that makes JSON of a logical type's values; None if the type is not logical or not
        known.
        """
        if "logicalType" not in schema:
            return None
        read = LOGICAL_READERS.get(f"{kind}-{schema['logicalType']}")
        if read is None:
            return None
        self.logical = True
        self.decimals = self.decimals or (schema["logicalType"] == "decimal" and kind == "bytes")
        return lambda value: json_form(read(value, schema, None))

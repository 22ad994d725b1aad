"""Schemas of Avro in the form by which the core reads values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastavro.read import LOGICAL_READERS

from kcli.core.payloads.avro_values import Type
from kcli.payloads.plain import json_form
from kcli.payloads.schema import PayloadError

RECORDS = ("record", "error")


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

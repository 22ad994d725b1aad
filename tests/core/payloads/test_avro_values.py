"""Values of Avro as the core reads them, beside fastavro."""

import io
import random
from collections.abc import Callable
from typing import Any

import fastavro
import pytest

from kcli.core.payloads.avro_values import Type, ValueDamageError, read
from kcli.payloads.avro import Types
from kcli.payloads.plain import json_form
from tests.payloads.values import avro

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


class Made:
    """Schemas and values of them, by chance."""

    def __init__(self, seed: int) -> None:
        self.chance, self.count = random.Random(seed), 0

    def schema(self, depth: int = 0) -> Any:
        kind = self.chance.choice((*PRIMITIVES, "enum", "fixed", *(("array", "map", "union", "record") * 2)))
        if depth > 3 or kind in PRIMITIVES:
            return kind if kind in PRIMITIVES else "long"
        self.count += 1
        name = f"N{self.count}"
        if kind == "union":
            return ["null", self.schema(4), {"type": "record", "name": name, "fields": self.fields(depth)}]
        return {
            "enum": {"type": "enum", "name": name, "symbols": ["A", "B", "C"]},
            "fixed": {"type": "fixed", "name": name, "size": self.chance.randrange(5)},
            "array": {"type": "array", "items": self.schema(depth + 1)},
            "map": {"type": "map", "values": self.schema(depth + 1)},
            "record": {"type": "record", "name": name, "fields": self.fields(depth)},
        }[kind]

    def fields(self, depth: int) -> list[dict[str, Any]]:
        return [{"name": f"f{n}", "type": self.schema(depth + 1)} for n in range(self.chance.randrange(4))]

    def value(self, schema: Any) -> Any:
        chance = self.chance
        if isinstance(schema, list):
            return self.value(chance.choice(schema))
        kind = schema["type"] if isinstance(schema, dict) else schema
        makers: dict[str, Callable[[], Any]] = {
            "null": lambda: None,
            "boolean": lambda: chance.random() < 0.5,
            "int": lambda: chance.randrange(-(1 << 31), 1 << 31),
            "long": lambda: chance.randrange(-(1 << 63), 1 << 63) >> chance.randrange(64),
            "float": lambda: chance.choice((0.5, -1.0, float("inf"))),
            "double": lambda: chance.choice((chance.random(), float("nan"), float("-inf"))),
            "bytes": lambda: chance.randbytes(chance.randrange(4)),
            "string": lambda: chance.choice(("", "a", "ä€𝄞", "x" * 100)),
            "enum": lambda: chance.choice(schema["symbols"]),
            "fixed": lambda: chance.randbytes(schema["size"]),
            "array": lambda: [self.value(schema["items"]) for _ in range(chance.randrange(4))],
            "map": lambda: {f"k{n}": self.value(schema["values"]) for n in range(chance.randrange(4))},
            "record": lambda: {each["name"]: self.value(each["type"]) for each in schema["fields"]},
        }
        return makers[kind]()


def theirs(schema: Any, data: bytes) -> tuple[Any, int]:
    """A value as fastavro reads it, as JSON, and how many bytes it took."""
    source = io.BytesIO(data)
    return json_form(fastavro.schemaless_reader(source, fastavro.parse_schema(schema), None)), source.tell()


@pytest.mark.parametrize("seed", range(60))
def test_values_are_those_of_fastavro(seed: int) -> None:
    made = Made(seed)
    schema = made.schema()
    root = Types(*parsed(schema)).root
    for _ in range(10):
        data = avro(schema, made.value(schema))
        expected = theirs(schema, data)
        assert (read(root, b"xyz" + data, 3), len(data)) == expected
        for damaged in damages(made.chance, data):
            try:
                found = read(root, damaged, 0)
            except ValueDamageError:
                continue
            assert (found, len(damaged)) == theirs(schema, damaged)


def parsed(schema: Any) -> tuple[Any, dict[str, Any]]:
    names: dict[str, Any] = {}
    return fastavro.parse_schema(schema, named_schemas=names), names


def damages(chance: random.Random, data: bytes) -> list[bytes]:
    """Cut, longer, and with another byte."""
    if not data:
        return [b"\0"]
    at = chance.randrange(len(data))
    return [data[:at], data + b"\0", data[:at] + chance.randbytes(1) + data[at + 1 :]]


def test_what_no_schema_says() -> None:
    for kind, inner in (("array", []), ("record", [Type("int")]), ("int", [Type("int")])):
        with pytest.raises(ValueError, match="types expected"):
            Type(kind).hold(inner)
    with pytest.raises(TypeError):
        Type("union").hold([1])  # type: ignore[list-item]
    with pytest.raises(ValueDamageError, match="too large"):
        read(Type("long"), b"\xff" * 11, 0)
    with pytest.raises(ValueDamageError, match="too early"):
        read(Type("int"), b"a", 2)

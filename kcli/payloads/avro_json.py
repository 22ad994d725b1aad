"""Values of Avro as JSON has them: what turns those of a schema, and leaves alone what JSON has anyway."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.payloads.plain import float_text, json_form

Turn = Callable[[Any], Any]
DEEPEST = 100  # types in types, beyond which values are turned one by one


def turner(schema: Any, names: dict[str, Any]) -> Turn | None:
    """Return what makes JSON of a schema's values, in place where it can; None: they are JSON."""
    try:
        return Turners(names).of(schema, 0)
    except KeyError:
        return json_form


class Turners:
    """Makes functions for types. A type within itself, and a union of several, is turned by looking at its values."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.made: dict[str, Turn | None] = {}
        self.begun = set[str]()

    def of(self, schema: Any, depth: int) -> Turn | None:
        """Return the function of a type."""
        if depth > DEEPEST:
            return json_form
        if isinstance(schema, list):
            return self.of_union(schema, depth)
        if not isinstance(schema, dict):
            return self.of(self.names[schema], depth + 1) if schema in self.names else PRIMITIVES.get(schema)
        kind = schema["type"]
        if "logicalType" in schema or kind == "fixed":
            return json_form
        if kind in ("record", "error"):
            return self.of_record(schema, depth)
        if kind == "array":
            return of_array(self.of(schema["items"], depth + 1))
        if kind == "map":
            return of_map(self.of(schema["values"], depth + 1))
        return None if kind == "enum" else self.of(kind, depth + 1)

    def of_union(self, schema: list[Any], depth: int) -> Turn | None:
        """Return the function of a union: that of its one branch beside null, where it has no more."""
        turns = [self.of(each, depth + 1) for each in schema if each != "null"]
        if not any(turns):
            return None
        turn = turns[0] if len(turns) == 1 else json_form
        assert turn is not None
        return lambda value: None if value is None else turn(value)

    def of_record(self, schema: dict[str, Any], depth: int) -> Turn | None:
        """Return the function of a record: that of the fields that need one."""
        name = schema["name"]
        if name in self.made:
            return self.made[name]
        if name in self.begun:
            return json_form
        self.begun.add(name)
        fields = [(field["name"], self.of(field["type"], depth + 1)) for field in schema["fields"]]
        turned = [(field, turn) for field, turn in fields if turn is not None]

        def turn_record(value: Any) -> Any:
            for field, turn in turned:
                value[field] = turn(value[field])
            return value

        made = self.made[name] = turn_record if turned else None
        return made


def of_array(turn: Turn | None) -> Turn | None:
    """Return the function of an array."""
    if turn is None:
        return None
    return lambda value: [turn(each) for each in value]


def of_map(turn: Turn | None) -> Turn | None:
    """Return the function of a map."""
    if turn is None:
        return None
    return lambda value: {key: turn(each) for key, each in value.items()}


def of_float(value: float) -> float | str:
    """Return a number, or the name of one that JSON does not have."""
    return value if value - value == 0 else float_text(value)


PRIMITIVES: dict[str, Turn] = {"float": of_float, "double": of_float, "bytes": json_form}

"""Bounds for Avro's values: fastavro recurses on C's stack, and items of an array may take no bytes at all.

A schema whose values are bounded by their bytes is known by looking at it once. The values of any other are walked
through first, by a walker that counts.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from kcli.payloads.schema import PayloadError

DEEPEST = 100  # levels of a value
MOST_AT_ONCE = 10_000  # values that need no array, map or union
MOST_A_BYTE = 16  # values that a byte of an array, map or union may bring
ALLOWED = 10_000  # values of a walked payload, whatever its size
FIXED = {"null": 0, "boolean": 1, "float": 4, "double": 8}
VARINTS = ("int", "long", "enum")
BYTES = ("bytes", "string")


class Measure(NamedTuple):
    """A type, up to its arrays, maps and unions: the bytes it takes at least, its values, and its depth with them."""

    least: int
    values: float
    depth: int


ENDLESS = Measure(0, math.inf, DEEPEST + 1)


class Bounds:
    """The bounds of a schema's values.

    risky: they need to be walked. plain: JSON has all of them as they are. logical, decimals: some are dates and the
    like, or decimals in bytes.
    """

    def __init__(self, schema: Any, names: dict[str, Any]) -> None:
        self.schema, self.names = schema, names
        self.known: dict[str, Measure | None] = {}
        self.risky = self.logical = self.decimals = False
        try:
            root = self.measure(schema)
        except RecursionError:
            raise PayloadError("a schema that is nested too deep") from None
        self.risky = self.risky or root.depth > DEEPEST or root.values > MOST_AT_ONCE

    def measure(self, schema: Any) -> Measure:
        """Measure a type, and those in it; what is told of all of them is noted."""
        if isinstance(schema, list):
            return Measure(1, 1, 1 + max((self.inside(each, 1) for each in schema), default=0))
        if not isinstance(schema, dict):
            return self.named(schema) if schema in self.names else self.primitive(schema)
        kind = schema["type"]
        if "logicalType" in schema:
            self.logical = True
            self.decimals = self.decimals or (schema["logicalType"] == "decimal" and kind == "bytes")
        if kind in ("record", "error"):
            return self.record(schema)
        if kind == "array":
            return Measure(1, 1, 1 + self.inside(schema["items"], 0))
        if kind == "map":
            return Measure(1, 1, 1 + self.inside(schema["values"], 1))
        if kind == "fixed":
            return Measure(schema["size"], 1, 1)
        return self.primitive(kind) if isinstance(kind, str) and kind not in self.names else self.measure(kind)

    def inside(self, schema: Any, before: int) -> int:
        """Measure what an array, a map or a union has, behind `before` bytes of each. Returns its depth."""
        found = self.measure(schema)
        least = found.least + before
        if not least or found.values > MOST_A_BYTE * least:
            self.risky = True
        return found.depth

    def record(self, schema: dict[str, Any]) -> Measure:
        """Measure a record once; one that is met within itself is endless."""
        name = schema["name"]
        if name in self.known:
            return self.named(name)
        self.known[name] = None
        parts = [self.measure(field["type"]) for field in schema["fields"]]
        made = Measure(
            sum(part.least for part in parts),
            1 + sum(part.values for part in parts),
            1 + max((part.depth for part in parts), default=0),
        )
        self.known[name] = made
        return made

    def named(self, name: str) -> Measure:
        """Return the measure of a named type, which is endless where it is being measured."""
        if name not in self.known:
            return self.measure(self.names[name])
        found = self.known[name]
        if found is None:
            self.risky = True
            return ENDLESS
        return found

    def primitive(self, name: str) -> Measure:
        """Measure a primitive type."""
        return Measure(FIXED.get(name, 1), 1, 1)

    def check(self, data: bytes, start: int) -> None:
        """Walk through a payload. PayloadError: it is deeper, or has more values, than is read."""
        Walker(self.names, data, start).walk(self.schema, 1)


class Walker:
    """Passes over one payload, and counts."""

    def __init__(self, names: dict[str, Any], data: bytes, start: int) -> None:
        self.names, self.data, self.at = names, data, start
        self.left = ALLOWED + MOST_A_BYTE * (len(data) - start)

    def walk(self, schema: Any, depth: int) -> None:
        """Pass over a value."""
        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            raise PayloadError(
                f"deeper than {DEEPEST} levels" if depth > DEEPEST else "more values than its bytes allow"
            )
        if isinstance(schema, str) and schema in self.names:
            schema = self.names[schema]
        if isinstance(schema, list):
            branch = self.varint()
            if not 0 <= branch < len(schema):
                raise PayloadError("not of this schema: a union has no such member")
            self.walk(schema[branch], depth + 1)
            return
        kind = schema["type"] if isinstance(schema, dict) else schema
        if isinstance(kind, (dict, list)) or kind in self.names:
            self.walk(kind, depth)
        elif kind in ("record", "error"):
            for field in schema["fields"]:
                self.walk(field["type"], depth + 1)
        elif kind in ("array", "map"):
            self.blocks(schema, kind == "map", depth + 1)
        elif kind in VARINTS:
            self.varint()
        else:
            self.skip(schema["size"] if kind == "fixed" else self.varint() if kind in BYTES else FIXED[kind])

    def blocks(self, schema: dict[str, Any], keys: bool, depth: int) -> None:
        """Pass over the blocks of an array or a map."""
        while count := self.varint():
            if count < 0:
                count = -count
                self.varint()
            for _ in range(count):
                if keys:
                    self.skip(self.varint())
                self.walk(schema["values" if keys else "items"], depth)

    def skip(self, size: int) -> None:
        """Pass over bytes."""
        if not 0 <= size <= len(self.data) - self.at:
            raise PayloadError("not of this schema: it ends too early")
        self.at += size

    def varint(self) -> int:
        """Read a zigzag number."""
        value = shift = 0
        while True:
            if self.at >= len(self.data) or shift > 63:
                raise PayloadError("not of this schema: it ends too early")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7

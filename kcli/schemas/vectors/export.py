"""Writes definitions from the tables as Kafka's own generator accepts them.

A struct that is used in several places becomes a common struct; different structs with the same name get numbers. Facts
that only the tables have (components, releases, older layouts, names in old releases) are left out.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.model import SCALARS, Field, Message
from kcli.schemas.ranges import HIGHEST, Range
from kcli.schemas.vectors.notes import Notes

Shape = tuple[Field, ...]
Raw = dict[str, Any]
NULLABLE = ("string", "bytes")


def to_definition(message: Message, notes: Notes | None = None) -> Raw:
    """Return a message as JSON in Kafka's form, with keys in Kafka's order. notes: on its fields, by path."""
    notes = notes or {}
    raw: Raw = {"apiKey": message.api_key} if message.api_key is not None else {}
    raw["type"] = message.kind
    newest = message.releases[-1] if message.releases else None
    if message.kind == "request" and newest is not None and newest.listeners:
        raw["listeners"] = list(newest.listeners)
    raw |= {
        "name": message.name,
        "validVersions": str(message.versions),
        "flexibleVersions": open_ended(message.flexible),
    }
    if message.kind == "request" and newest is not None and newest.unstable:
        raw["latestVersionUnstable"] = True
    structs = Structs(message.fields)
    raw["fields"] = [field_to_raw(field, structs, notes, field.name) for field in message.fields]
    if structs.common:
        raw["commonStructs"] = [
            {
                "name": name,
                "versions": str(spanned(shape) & message.versions),
                "fields": [field_to_raw(field, structs, notes, f"{path}.{field.name}") for field in shape],
            }
            for name, (shape, path) in structs.common.items()
        ]
    return raw


def spanned(fields: Shape) -> Range:
    """Return the range from the first version of any field to the last."""
    ranges = [field.versions for field in fields if field.versions] or [Range(0, HIGHEST)]
    return Range(min(each.lo for each in ranges), max(each.hi for each in ranges))


def open_ended(versions: Range) -> str:
    return f"{versions.lo}+" if versions else "none"


class Structs:
    """The names of a message's structs, and the structs that are used in more than one place."""

    def __init__(self, fields: Shape) -> None:
        self.shapes: dict[str, list[Shape]] = {}
        self.common: dict[str, tuple[Shape, str]] = {}  # by name, with the path of one use
        for element, shape, path in each_struct(fields, ""):
            known = self.shapes.setdefault(element, [])
            if shape not in known:
                known.append(shape)
            else:
                self.common[self.name(element, shape)] = shape, path

    def name(self, element: str, shape: Shape) -> str:
        """Return the name of a struct, with a number behind it if other structs have the same name."""
        place = self.shapes[element].index(shape)
        return f"{element}{place + 1}" if place else element


def each_struct(fields: Iterable[Field], path: str) -> Iterator[tuple[str, Shape, str]]:
    for field in fields:
        if field.is_struct:
            yield field.element, field.fields, f"{path}{field.name}"
            yield from each_struct(field.fields, f"{path}{field.name}.")


def field_to_raw(field: Field, structs: Structs, notes: Notes, path: str) -> Raw:
    """Return a field in Kafka's JSON form. Versions of a tagged field are open-ended, as Kafka requires. path: the
    field's path in `notes`.
    """
    element = structs.name(field.element, field.fields) if field.is_struct else field.element
    kind = f"[]{element}" if field.is_array else element
    raw: Raw = {"name": field.name[:1].upper() + field.name[1:], "type": kind, "versions": str(field.versions)}
    if field.nullable:
        raw["nullableVersions"] = str(field.nullable)
    if field.tagged:
        raw["taggedVersions"], raw["tag"] = open_ended(field.tagged), field.tag
        raw["versions"] = str(Range(field.versions.lo, HIGHEST))
        if field.nullable:
            raw["nullableVersions"] = str(Range(field.nullable.lo, HIGHEST))
    if field.flexible is not None:
        raw["flexibleVersions"] = open_ended(field.flexible)
    if (default := default_text(field)) is not None:
        raw["default"] = default
    raw |= notes.get(path, {})
    if field.is_struct and element not in structs.common:
        raw["fields"] = [field_to_raw(each, structs, notes, f"{path}.{each.name}") for each in field.fields]
    return raw


def default_text(field: Field) -> str | None:
    """Return the default as Kafka writes it; None if it need not be stated."""
    able = field.is_array or field.element not in SCALARS or field.type in NULLABLE
    if field.default is None:
        return "null" if able and field.nullable.holds(field.versions) else None
    if field.default in (0, "", b"", False, ZERO_UUID, (), {}):
        return None
    if isinstance(field.default, bool):
        return "true"
    return field.default.decode() if isinstance(field.default, bytes) else str(field.default)

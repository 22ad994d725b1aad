"""The keys of message definitions and what may stand under them, as Kafka's generator takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kcli.schemas.defaults import default_value

Raw = dict[str, Any]

MESSAGE_KEYS: dict[str, type] = {
    "apiKey": int,
    "type": str,
    "listeners": tuple,
    "name": str,
    "validVersions": str,
    "deprecatedVersions": str,
    "flexibleVersions": str,
    "latestVersionUnstable": bool,
    "fields": list,
    "commonStructs": list,
}
STRUCT_KEYS: dict[str, type] = {"name": str, "versions": str, "deprecatedVersions": str, "fields": list}
FIELD_KEYS: dict[str, type] = {
    "name": str,
    "type": str,
    "versions": str,
    "about": str,
    "nullableVersions": str,
    "taggedVersions": str,
    "flexibleVersions": str,
    "tag": int,
    "default": str,
    "ignorable": bool,
    "mapKey": bool,
    "zeroCopy": bool,
    "entityType": str,
    "fields": list,
}
ENTITIES: dict[str, str | None] = {
    "unknown": None,
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}
WORDS: dict[type, str] = {
    int: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list of objects",
    tuple: "a list of texts",
}


def fits(value: Any, kind: type) -> bool:
    """Return whether Jackson would coerce the value to this type: null to any; numbers, booleans to text and back."""
    if value is None:
        return True
    if kind is list:
        items = [value] if isinstance(value, dict) else value
        return isinstance(items, list) and all(isinstance(each, dict) for each in items)
    if kind is tuple:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind is str:
        return isinstance(value, (str, int, float))
    if isinstance(value, str):
        return value in ("true", "false") if kind is bool else value.lstrip("-").isdigit()
    return isinstance(value, int) and isinstance(value, bool) == (kind is bool)


def backward(text: str) -> bool:
    """Return whether a range runs from high to low: an empty one to the generator."""
    lo, _, hi = text.partition("-")
    return lo.isdigit() and hi.isdigit()


def wrong_default(kind: str, text: str) -> str:
    """Return why the generator refuses a text as the default of a scalar type; "" where it takes it."""
    if kind == "bytes":
        return "no other default than empty and null"
    try:
        default_value(kind, text)
    except ValueError as error:
        return str(error)
    return ""


def objects(value: Any) -> list[Raw]:
    """Return the JSON objects of a list; one alone counts as a list of one, as it does to Jackson."""
    found = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [each for each in found if isinstance(each, dict)]


def inner_fields(raw: Raw) -> Iterator[Raw]:
    """Yield the fields of a struct and of the structs in it."""
    for field in objects(raw.get("fields")):
        yield field
        yield from inner_fields(field)


def wrong_entity(entity: str, kind: str) -> str:
    """Return the fault of a field's entityType, or ""."""
    if entity not in ENTITIES:
        return f"entityType {entity!r} is none of {', '.join(ENTITIES)}"
    base = ENTITIES[entity]
    return f"entityType {entity} is a {base}, and this is {kind}" if base not in (None, kind.removeprefix("[]")) else ""

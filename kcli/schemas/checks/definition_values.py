"""The valid values of message definitions, as Kafka's generator accepts them."""

from __future__ import annotations

from collections.abc import Iterator

from kcli.schemas.defaults import default_value
from kcli.schemas.definition_keys import Raw, objects

ENTITIES: dict[str, str | None] = {
    "unknown": None,
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}


def backward(text: str) -> bool:
    """Return whether a range runs from high to low, which is an empty range for the generator."""
    lo, _, hi = text.partition("-")
    return lo.isdigit() and hi.isdigit()


def wrong_default(kind: str, text: str) -> str:
    """Return why the generator rejects a text as the default of a scalar type; "" if it accepts it."""
    if kind == "bytes":
        return "no other default than empty and null"
    try:
        default_value(kind, text)
    except ValueError as error:
        return str(error)
    return ""


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

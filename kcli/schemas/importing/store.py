"""Stores tables as text: one message on each line, in the JSON form of Kafka's own definitions, and an index beside
them.

A line adds to that form: `component`, `aliases` (names in old releases), `releases` ({"2.8-3.9": [versions, listeners,
"unstable"?]}) and `variants`. Comments, `about` and other text that does not affect bytes are left out. The same
releases always give the same text, so that a diff shows changes of the tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.jsontext import dumps
from kcli.schemas.definition import KINDS, ZERO_UUID
from kcli.schemas.model import Field, Message, Releases

RANK = {kind: rank for rank, kind in enumerate(KINDS)}


def ordered(messages: Iterable[Message]) -> list[Message]:
    """Sort messages by kind, component, number and name."""
    return sorted(messages, key=place)


def place(message: Message) -> tuple[int, str, int, str]:
    number = -1 if message.api_key is None else message.api_key
    return RANK[message.kind], message.component, number, message.name


def to_line(message: Message) -> str:
    """Return a message as a line of the tables: compact JSON in Kafka's form."""
    return dumps(to_raw(message))


def to_raw(message: Message) -> dict[str, Any]:
    """Return the definition of a message in Kafka's form, from which `build` makes the same message."""
    raw: dict[str, Any] = {"name": message.name, "type": message.kind}
    if message.api_key is not None:
        raw["apiKey"] = message.api_key
    raw["validVersions"] = str(message.versions)
    raw["flexibleVersions"] = str(message.flexible)
    raw["fields"] = fields_to_raw(message.fields, {})
    if message.component:
        raw["component"] = message.component
    if message.aliases:
        raw["aliases"] = list(message.aliases)
    if message.releases:
        raw["releases"] = {str(each): releases_to_raw(each) for each in message.releases}
    if message.variants:
        raw["variants"] = [variant_to_raw(each.before, each.message) for each in message.variants]
    return raw


def releases_to_raw(releases: Releases) -> list[str]:
    entry = [str(releases.versions), " ".join(releases.listeners)]
    return [*entry, "unstable"] if releases.unstable else entry


def variant_to_raw(before: str, message: Message) -> dict[str, Any]:
    form = to_raw(message)
    kept = ("validVersions", "flexibleVersions", "fields", "releases")
    return {
        "before": before,
        "versions": str(message.versions),
        "message": {key: form[key] for key in kept if key in form},
    }


def fields_to_raw(fields: tuple[Field, ...], structs: dict[str, tuple[Field, ...]]) -> list[dict[str, Any]]:
    return [field_to_raw(field, structs) for field in fields]


def field_to_raw(field: Field, structs: dict[str, tuple[Field, ...]]) -> dict[str, Any]:
    """Return a field's JSON; a struct that occurred in the message before is referred to by name."""
    raw: dict[str, Any] = {"name": field.name, "type": field.type, "versions": str(field.versions)}
    if field.nullable:
        raw["nullableVersions"] = str(field.nullable)
    if field.tagged:
        raw["taggedVersions"], raw["tag"] = str(field.tagged), field.tag
    if field.flexible is not None:
        raw["flexibleVersions"] = str(field.flexible)
    if field.default not in (0, "", b"", False, ZERO_UUID, (), {}):
        raw["default"] = field.default.decode() if isinstance(field.default, bytes) else field.default
    if field.is_struct and structs.get(field.element) != field.fields:
        structs.setdefault(field.element, field.fields)
        raw["fields"] = fields_to_raw(field.fields, structs)
    return raw

"""Schemas in the form of a registry's responses: `{"id", "subject", "version", "schemaType", "schema", "references"}`.

The topic in which Confluent's registry keeps its schemas (`_schemas`) has the same form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kcli.payloads.framing import IdType, SchemaId
from kcli.payloads.schema import AVRO, TYPES, PayloadError, Schema

MOST_REFERENCES = 100
NEWEST = -1  # the newest version of a subject

Row = dict[str, Any]
Find = Callable[[str, int], Row | None]  # takes (subject, version or NEWEST)


def is_entry(value: Any) -> bool:
    """Return whether a JSON value is a schema in this form."""
    return isinstance(value, dict) and isinstance(value.get("schema"), str)


def schema_of(entry: Row, find: Find) -> Schema:
    """Return an entry's schema, with its references. find: looks these up. Raises PayloadError."""
    kind = type_of(entry)
    return Schema(kind, entry["schema"], tuple(references_of(entry, find).items()))


def type_of(entry: Row) -> str:
    kind = str(entry.get("schemaType") or AVRO).upper()
    if kind not in TYPES:
        raise PayloadError(f"a schema of type {kind[:20]}, which is not supported")
    return kind


def references_of(entry: Row, find: Find) -> dict[str, str]:
    """Return {name: text} of the schemas that an entry refers to, each after those that it refers to itself. Raises
    PayloadError.
    """
    found: dict[str, str] = {}
    begun = set[str]()

    def add(row: Row) -> None:
        for each in row.get("references") or ():
            name, subject, version = str(each.get("name")), str(each.get("subject")), each.get("version")
            if name in begun:
                continue
            begun.add(name)
            if len(begun) > MOST_REFERENCES:
                raise PayloadError(f"a schema with more than {MOST_REFERENCES} references")
            other = find(subject, version if isinstance(version, int) else NEWEST)
            if other is None or not is_entry(other):
                raise PayloadError(f"it refers to version {version} of {subject}, which is not there")
            add(other)
            found[name] = other["schema"]

    try:
        add(entry)
    except (AttributeError, TypeError, RecursionError):
        raise PayloadError("a schema with references that can't be read") from None
    return found


def native_references(response: Any) -> list[Row]:
    """Return the references in a response of Apicurio's own API in the form of an entry; their paths there are the
    subjects.
    """
    return [
        {"name": each.get("name"), "subject": native_path(each)}
        for each in (response if isinstance(response, list) else ())
        if isinstance(each, dict)
    ]


def native_path(version: Row) -> str:
    """Return the path of an artifact's version in Apicurio's own API."""
    names = ("groupId", "artifactId", "version")
    return "/groups/{}/artifacts/{}/versions/{}".format(
        *(quote(str(version.get(name) or "default"), safe="") for name in names)
    )


@dataclass
class Entries:
    """Entries by id, and by subject and version."""

    def __post_init__(self) -> None:
        self.by_id: dict[SchemaId, Row] = {}
        self.by_version: dict[tuple[str, int], Row] = {}
        self.kinds: tuple[IdType, ...] = ("schemaId", "globalId", "contentId")  # tried for an id without a kind

    def add(self, entry: Row, number: int | None = None) -> None:
        """Add an entry. number: its id, if the entry does not have it."""
        named: tuple[tuple[Any, Any], ...] = (
            ("schemaId", entry.get("id", number)), ("guid", entry.get("guid")),
            ("globalId", entry.get("globalId")), ("contentId", entry.get("contentId")),
        )  # fmt: skip
        for kind, value in named:
            if isinstance(value, (int, str)):
                self.by_id[SchemaId(kind, value)] = entry
        subject, version = entry.get("subject"), entry.get("version")
        if isinstance(subject, str) and isinstance(version, int):
            self.by_version[subject, version] = entry

    def find(self, schema: SchemaId) -> Schema | None:
        """Return the schema with this id; an id of Apicurio is searched among all kinds of ids. None if there is none.
        Raises PayloadError.
        """
        kinds = (schema.type, *self.kinds)
        entry = next(
            (self.by_id[name] for name in (SchemaId(kind, schema.value) for kind in kinds) if name in self.by_id), None
        )
        return None if entry is None else schema_of(entry, self.version)

    def version(self, subject: str, version: int) -> Row | None:
        """Return a version of a subject; None if there is none."""
        return self.by_version.get((subject, version))

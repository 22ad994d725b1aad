"""The files of a set of tables.

messages.jsonl  one definition on each line
index.json      facts from all definitions, derived from them: releases, APIs, types of records
errors.json     [code, name, retriable?, names in earlier releases], one on each line
notes.jsonl     notes of definitions on fields, which do not affect bytes; one message on each line
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcli.errors import SchemaError
from kcli.jsontext import dumps, loads
from kcli.schemas.definition import KINDS, ZERO_UUID, build
from kcli.schemas.errors import Row, read_table
from kcli.schemas.importing.classfile import ErrorCode
from kcli.schemas.importing.jars import Definitions
from kcli.schemas.importing.merge import Tables, add_release, identity
from kcli.schemas.model import Field, Message, Releases, release_order
from kcli.schemas.vectors.notes import NOTES, Notes, notes_text, read_notes

ERRORS = "errors.json"
INDEX = "index.json"
MESSAGES = "messages.jsonl"
RANK = {kind: rank for rank, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Imported:
    """Merged tables, their releases from the oldest on, and the error codes and notes of all releases."""

    releases: tuple[str, ...] = ()
    tables: Tables = field(default_factory=dict)
    errors: dict[int, Row] = field(default_factory=dict)
    notes: dict[str, Notes] = field(default_factory=dict)


def import_releases(known: Imported, arriving: dict[str, Definitions]) -> Imported:
    """Return the known tables with more releases. Raises SchemaError if one is older than a known release."""
    releases = list(known.releases)
    tables, errors, notes = dict(known.tables), dict(known.errors), dict(known.notes)
    for release in sorted(arriving, key=release_order):
        if releases and release_order(release) < release_order(releases[-1]):
            newest = releases[-1]
            raise SchemaError(
                f"release {release} is older than {newest}, the newest in the tables: import all of them anew"
            )
        if release in releases:
            releases.remove(release)
        tables = add_release(tables, arriving[release].messages.values(), releases[-1] if releases else None)
        errors = with_errors(errors, arriving[release].errors)
        notes = with_notes(notes, arriving[release].notes, tables)
        releases.append(release)
    return Imported(tuple(releases), tables, errors, notes)


def with_notes(known: dict[str, Notes], arriving: dict[str, Notes], tables: Tables) -> dict[str, Notes]:
    """Merge the known notes with those of a newer release, which take precedence. Messages have their newest names."""
    merged = dict(known)
    for message in tables.values():
        older = [merged.pop(alias) for alias in message.aliases if alias in merged]
        for notes in (*older, arriving.get(message.name, {})):
            if notes:
                merged[message.name] = merged.get(message.name, {}) | notes
    return merged


def with_errors(known: dict[int, Row], arriving: Iterable[ErrorCode]) -> dict[int, Row]:
    """Return the known codes with those of a newer release, whose names take precedence; other names are kept as old
    ones.
    """
    merged = dict(known)
    for error in arriving:
        _, name, _, old = known.get(error.code, (0, error.name, False, []))
        names = {name, *old} - {error.name}
        merged[error.code] = (error.code, error.name, error.retriable, sorted(names))
    return merged


def to_files(imported: Imported) -> dict[str, str]:
    """Return {file name: text}."""
    messages = ordered(imported.tables.values())
    return {
        MESSAGES: "".join(f"{to_line(message)}\n" for message in messages),
        INDEX: index_text(imported.releases, messages),
        ERRORS: rows_text(imported.errors[code] for code in sorted(imported.errors)) + "\n",
        NOTES: notes_text(messages, imported.notes),
    }


def load_tables(folder: Path) -> Imported:
    """Load tables that `to_files` wrote, so that more can be imported."""
    index = loads((folder / INDEX).read_bytes(), what=str(folder / INDEX))
    lines = (folder / MESSAGES).read_text("utf-8").splitlines()
    messages = [build(loads(line)) for line in lines]
    errors = {row[0]: row for row in read_table(folder)}
    tables = {identity(message): message for message in messages}
    return Imported(tuple(index["releases"]), tables, errors, read_notes(folder))


def index_text(releases: tuple[str, ...], messages: list[Message]) -> str:
    """Return the text of the index: releases, APIs, and records by kind."""
    records = ",\n".join(f"{dumps(kind)}:{dumps(found)}" for kind, found in record_names(messages).items())
    apis = rows_text(api_rows(messages))
    return f'{{"releases":{dumps(list(releases))},\n"apis":{apis},\n"records":{{\n{records}\n}}}}\n'


def rows_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return a JSON array with one row on each line."""
    body = ",\n".join(dumps(list(row)) for row in rows)
    return f"[\n{body}\n]"


def api_rows(messages: Iterable[Message]) -> list[list[Any]]:
    found = {(message.kind, message.api_key): message for message in messages}
    keys = sorted(key for kind, key in found if kind == "request" and key is not None and ("response", key) in found)
    return [api_row(found["request", key], found["response", key]) for key in keys]


def api_row(request: Message, response: Message) -> list[Any]:
    """Return [key, name, log name, request, response, versions, flexible versions, other names]."""
    name = request.name.removesuffix("Request")
    others = [alias.removesuffix("Request") for alias in request.aliases]
    pair = [request.name, response.name, str(request.versions), str(request.flexible)]
    return [request.api_key, name, log_name(name), *pair, others]


def record_names(messages: Iterable[Message]) -> dict[str, dict[str, str]]:
    """Return {kind of record ("metadata", "group-key", ...): {type number: message name}}."""
    found: dict[str, dict[str, str]] = {}
    for message in messages:
        if message.kind.startswith("coordinator-") or message.kind == "metadata":
            _, _, part = message.kind.partition("-")
            kind = f"{message.component}-{part}" if part else message.kind
            found.setdefault(kind, {})[str(message.api_key)] = message.name
    return found


def log_name(name: str) -> str:
    """Return an API's name in Kafka's logs: "OFFSET_FOR_LEADER_EPOCH" for "OffsetForLeaderEpoch"."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper()


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

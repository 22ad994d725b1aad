"""Views of messages for `kcli schema`: rows for people, objects for scripts."""

from collections.abc import Iterable, Iterator
from typing import Any

from kcli.schemas.diff import said_by, traits
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Api, Field, Message
from kcli.schemas.ranges import NONE, Range
from kcli.schemas.vectors.export import to_definition

LIST_HEADINGS = ("kind", "key", "name", "versions", "flexible", "releases")
FIELD_HEADINGS = ("field", "type", "versions", "notes")
PAIR = ("request", "response")


def listed(catalog: Catalog, release: str | None) -> Iterator[dict[str, Any]]:
    """Yield one object for each API, then one for each other message. release: only what that one has,
    in its versions.
    """
    for api in catalog.apis.values():
        row = row_of("api", api.key, api.name, catalog.message(api.request), release)
        if row:
            yield row
    paired = {name for api in catalog.apis.values() for name in (api.request, api.response)}
    for name in catalog.names:
        message = catalog.message(name)
        if name not in paired:
            row = row_of(kind_of(message), message.api_key, name, message, release)
            if row:
                yield row


def kind_of(message: Message) -> str:
    return message.kind.replace("coordinator", message.component or "coordinator")


def row_of(kind: str, key: int | None, name: str, message: Message, release: str | None) -> dict[str, Any] | None:
    versions = str(message.versions) if release is None else said_by(message, release)
    if not versions:
        return None
    releases = f"{message.releases[0].since}-{message.releases[-1].until}" if message.releases else ""
    return {
        "kind": kind,
        "key": key,
        "name": name,
        "versions": versions,
        "flexible": str(message.flexible),
        "releases": releases,
    }


def headline(message: Message, version: int | None, api: Api | None, label: str = "") -> str:
    """Return the first line about a message."""
    key = "" if message.api_key is None else f" {message.api_key}"
    if version is None:
        return (
            f"{message.name}{label}: {kind_of(message)}{key}, versions {message.versions}, flexible {message.flexible}"
        )
    line = f"{message.name} v{version}{label}: {kind_of(message)}{key}"
    if message.is_flexible(version):
        line += ", flexible"
    if api is not None and message.kind in PAIR:
        is_request = message.kind == "request"
        header = api.request_header_version(version) if is_request else api.response_header_version(version)
        line += f", after a {message.kind} header v{header}"
    return line


def provenance(message: Message) -> list[str]:
    """Return which releases have which versions or another layout, and older names."""
    lines = [f"{each}: {each.versions}{' (the newest unstable)' if each.unstable else ''}" for each in message.releases]
    found = [f"releases: {'; '.join(lines)}"] if lines else []
    if message.aliases:
        found.append(f"once named {', '.join(message.aliases)}")
    found += [
        f"{each.name}: version {each.versions} had another layout (--variants shows it)" for each in message.variants
    ]
    return found


def field_rows(fields: Iterable[Field], version: int | None, depth: int = 0) -> Iterator[list[str]]:
    """Yield rows for a table of fields, those of structs below them."""
    for field in fields:
        if version is None or version in field.versions:
            notes = range_notes(field) if version is None else traits(field, version)
            yield [f"{'  ' * depth}{field.name}", field.type, str(field.versions), ", ".join(notes)]
            yield from field_rows(field.fields, version, depth + 1)


def range_notes(field: Field) -> list[str]:
    """Return the notes on a field over all versions."""
    found = []
    if field.nullable:
        found.append(f"nullable{within(field.nullable, field.versions)}")
    if field.tagged:
        found.append(f"tag {field.tag}{within(field.tagged, field.versions)}")
    if field.flexible is not None:
        found.append(f"flexible {field.flexible}")
    at = field.nullable.lo if field.default is None else field.versions.lo
    return [*(each.strip() for each in found), *(note for note in traits(field, at) if note.startswith("default"))]


def within(versions: Range, all_: Range) -> str:
    """Return the versions, unless they are all of the field's."""
    return "" if versions.holds(all_) else f" {versions}"


def definition(tables: Catalog, message: Message, version: int | None) -> dict[str, Any]:
    """Return a message in the JSON form that Kafka's generator takes; of one version only, if given.

    Its versions are those of the newest release that has it, so that a draft made from it has none that Kafka dropped.
    """
    if version is None:
        valid = message.versions if not message.releases else message.releases[-1].versions & message.versions
        return to_definition(message._replace(versions=valid), tables.notes(message))
    flexible = Range.parse(f"{version}+") if message.is_flexible(version) else NONE
    fields = tuple(only(message.fields, version))
    alone = Message(message.name, message.kind, message.api_key, Range(version, version), flexible, fields)
    return to_definition(alone._replace(releases=message.releases), tables.notes(message))


def only(fields: Iterable[Field], version: int) -> Iterator[Field]:
    for field in fields:
        if version in field.versions:
            yield field._replace(fields=tuple(only(field.fields, version)))

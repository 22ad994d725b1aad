"""Compares two versions of a message, or two releases. `sides` compares other sets of messages."""

from collections.abc import Iterator
from typing import NamedTuple

from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.lookup import Catalog
from kcli.schemas.model import Field, Message


class SchemaChange(NamedTuple):
    """message  "FetchRequest"
    path     the field, or "" for the message itself
    change   "added", "removed", "changed"
    before, after  the old and the new value; "" if there is none
    versions  of the message, if only some of several have the change
    """

    message: str
    path: str
    change: str
    before: str
    after: str
    versions: str = ""


def between_versions(message: Message, one: int, other: int) -> list[SchemaChange]:
    """Return the fields that differ between two versions of a message."""
    return between_forms(message, one, message, other)


def between_forms(one: Message, one_version: int, other: Message, other_version: int) -> list[SchemaChange]:
    """Return the fields that differ between a version of one definition and a version of another."""
    found = []
    if one.is_flexible(one_version) != other.is_flexible(other_version):
        before, after = form(one, one_version), form(other, other_version)
        found.append(SchemaChange(other.name, "", "changed", before, after))
    before_fields, after_fields = fields_of(one, one_version), fields_of(other, other_version)
    for path in merged(list(before_fields), list(after_fields)):
        before, after = before_fields.get(path, ""), after_fields.get(path, "")
        if before != after:
            change = "changed" if before and after else "added" if after else "removed"
            found.append(SchemaChange(other.name, path, change, before, after))
    return found


def form(message: Message, version: int) -> str:
    return "flexible (compact lengths, tagged fields)" if message.is_flexible(version) else "not flexible"


def merged(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the paths of both lists in one order, each beside its neighbours."""
    known = set(after)
    at = 0
    for path in before:
        if path in known:
            place = after.index(path, at) + 1 if path in after[at:] else at
            yield from after[at:place]
            at = max(at, place)
        else:
            yield path
    yield from after[at:]


def fields_of(message: Message, version: int) -> dict[str, str]:
    """Return {path: description of the field} for one version."""
    return dict(walk(message.fields, version, ""))


def walk(fields: tuple[Field, ...], version: int, path: str) -> Iterator[tuple[str, str]]:
    for field in fields:
        if version in field.versions:
            yield f"{path}{field.name}", " ".join((field.type, *traits(field, version)))
            yield from walk(field.fields, version, f"{path}{field.name}.")


def traits(field: Field, version: int) -> list[str]:
    """Return the properties of a field in one version other than its type: nullable, its tag, its default."""
    found = ["nullable"] if version in field.nullable else []
    if version in field.tagged:
        found.append(f"tag {field.tag}")
    if field.flexible is not None and version not in field.flexible:
        found.append("classic length")
    if field.default is None and version in field.nullable:
        found.append("default null")
    elif isinstance(field.default, int | float | str) and field.default not in (0, "", ZERO_UUID):
        found.append(f"default {str(field.default).lower() if isinstance(field.default, bool) else field.default}")
    return found


def between_releases(catalog: Catalog, one: str, other: str) -> list[SchemaChange]:
    """Return the APIs and other messages whose versions differ between two releases."""
    found = []
    apis = {catalog.message(api.request).name: api.name for api in catalog.apis.values()}
    for name in catalog.names:
        message = catalog.message(name)
        before, after = said_by(message, one), said_by(message, other)
        # A response has the versions of its request, so it is only listed for a layout of its own.
        differs_alone = message.kind == "response" and bare(before) != bare(after)
        if before != after and not differs_alone:
            change = "changed" if before and after else "added" if after else "removed"
            found.append(SchemaChange(apis.get(name, name), "", change, before, after))
    return found


def bare(text: str) -> str:
    return text.partition(",")[0]


def said_by(message: Message, release: str) -> str:
    """Return a release's versions of a message as text: "0-17", "0-1, 1 unstable"; "" if it has none."""
    for each in message.releases:
        if release in each:
            unstable = f", {each.versions.hi} unstable" if each.unstable else ""
            layout = next((variant.name for variant in message.variants if is_spoken(variant.message, release)), "")
            return f"{each.versions}{unstable}" + (f", layout {layout}" if layout else "")
    return ""


def is_spoken(form: Message, release: str) -> bool:
    return any(release in each for each in form.releases)

"""Merges releases, oldest first, so that the tables hold every version of every message in any release.

A release drops versions, adds new ones, renames fields, and sometimes changes a version that was not released as
stable. So each message is merged by these rules:

- The newer release's definition is the base: its names and types hold for all versions.
- If the newer release dropped a version, and its fields no longer describe it, the older fields are grafted in.
- A tag that the newer release dropped stays known.
- If both have a version in layouts that do not read each other, the newer one holds, and the older becomes a Variant.
- Coordinator records had no type number before 4.1, when the version of a key was the type. They are turned into the
  form of 4.1 when the first definition in that form is merged.
"""

from collections.abc import Iterable, Mapping

from kcli.errors import SchemaError
from kcli.schemas.layout import holds, layout, reads
from kcli.schemas.model import Field, Message, Releases, Variant, release_order
from kcli.schemas.ranges import ALL, Range, covering

Identity = tuple[str, str]
Tables = dict[Identity, Message]

NUMBERED = ("request", "response", "metadata")


def identity(message: Message) -> Identity:
    """Return the identity of a message across releases: its kind and number if it has one, as names change (AlterIsr,
    AlterPartition); else its name.
    """
    if message.kind in NUMBERED:
        return message.kind, str(message.api_key)
    return "name", message.name


def add_release(tables: Mapping[Identity, Message], messages: Iterable[Message], before: str | None) -> Tables:
    """Return the tables with the messages of one more release.

    before: the newest release in the tables. Raises SchemaError if the definitions cannot be merged.
    """
    merged: Tables = dict(tables)
    arriving = {identity(message): message for message in messages}
    for message in rekeyed(tables, arriving):
        merged[identity(message)] = message
    for known, message in arriving.items():
        if message.versions:
            merged[known] = combine(merged[known], message, before) if known in merged else message
    return merged


def rekeyed(tables: Mapping[Identity, Message], arriving: Mapping[Identity, Message]) -> list[Message]:
    """Return old record keys in the form of 4.1: one message for each type number, with the new name."""
    found = []
    for new in arriving.values():
        if new.kind != "coordinator-key":
            continue
        for old in tables.values():
            if same_family(old, new) and new.api_key in old.versions:
                found.append(as_type(old, new))
    return found


def same_family(old: Message, new: Message) -> bool:
    keys = old.kind == "data" and old.name.endswith("Key")
    return keys and old.component == new.component and old.name in new.name


def as_type(old: Message, new: Message) -> Message:
    """Return version 0 of a key for a type, from the old key whose version was the type number."""
    number = new.api_key or 0
    zero = Range(0, 0)
    return old._replace(
        name=new.name,
        kind=new.kind,
        api_key=number,
        versions=zero,
        fields=tuple(field._replace(versions=ALL) for field in old.fields if number in field.versions),
        releases=tuple(each._replace(versions=zero) for each in old.releases if number in each.versions),
    )


def combine(old: Message, new: Message, before: str | None) -> Message:
    """Merge a known message with a newer release's definition of it."""
    parting = [v for v in old.versions if v in new.versions and not reads(layout(new, v), layout(old, v))]
    fields = graft_versions(old, new, [v for v in old.versions if v not in parting])
    merged = new._replace(
        versions=covering({*old.versions, *new.versions}),
        fields=fields,
        releases=follow(old.releases, new.releases[-1], before),
        variants=(*old.variants, *variants(old, new, parting)),
        aliases=aliases(old, new),
    )
    check(merged, old, new, parting)
    return merged


def follow(known: tuple[Releases, ...], new: Releases, before: str | None) -> tuple[Releases, ...]:
    """Add a release to the known ones, in one run with the release before it if both have the same versions."""
    # A release that is known already is replaced.
    known = tuple(
        each._replace(until=before or each.until) if new.since in each else each
        for each in known
        if each.since != new.since
    )
    if known and known[-1].until == before and known[-1].says_same(new):
        return (*known[:-1], known[-1]._replace(until=new.until))
    return (*known, new)


def aliases(old: Message, new: Message) -> tuple[str, ...]:
    names = {*old.aliases, old.name, *new.aliases} - {new.name}
    return tuple(sorted(names))


def variants(old: Message, new: Message, versions: list[int]) -> list[Variant]:
    if not versions:
        return []
    spoken = covering(versions)
    # Releases before an earlier change of these versions had still another layout.
    since = max((each.before for each in old.variants if each.versions & spoken), key=release_order, default="0")
    others = tuple(late for each in old.releases if each.versions & spoken and (late := each.starting(since)))
    form = old._replace(versions=spoken, releases=others, variants=(), aliases=())
    return [Variant(new.releases[-1].since, spoken, form)]


def check(merged: Message, old: Message, new: Message, parting: list[int]) -> None:
    """Check that each version has the layout of the newest release with it. Raises SchemaError."""
    for version in merged.versions:
        known = layout(merged, version)
        if version in new.versions and not holds(known, layout(new, version)):
            raise SchemaError(f"{new.name} v{version}: the merge has lost what release {new.releases[-1].since} says")
        if version in old.versions and version not in parting and not holds(known, layout(old, version)):
            raise SchemaError(f"{new.name} v{version}: the merge has lost what earlier releases say")


def graft_versions(old: Message, new: Message, versions: list[int]) -> tuple[Field, ...]:
    """Return the new fields, and those of the old fields that these versions need."""
    fields = new.fields
    for version in reversed(versions):
        wanted = layout(old, version)
        if holds(layout(new._replace(fields=fields), version), wanted):
            continue
        dropped = version not in new.versions
        fields = graft(fields, old.fields, version, cut=dropped, path=f"{new.name} v{version}")
    return fields


def graft(base: tuple[Field, ...], old: tuple[Field, ...], version: int, *, cut: bool, path: str) -> tuple[Field, ...]:
    """Return `base` with the fields of `old` in this version. cut: fields that `old` lacks lose this
    version.
    """
    result = list(base)
    present = [field for field in old if version in field.versions]
    place = 0
    for field in present:
        at = next((n for n, known in enumerate(result) if known.name == field.name), None)
        if at is None:
            result.insert(place, only(field, version))
            place += 1
        else:
            result[at] = widen(result[at], field, version, cut=cut, path=f"{path}: {field.name}")
            place = at + 1
    if cut:
        names = {field.name for field in present}
        result = [field if field.name in names else without(field, version, path) for field in result]
    return tuple(result)


def only(field: Field, version: int) -> Field:
    """Return the field with this version only."""
    members = tuple(only(member, version) for member in field.fields if version in member.versions)
    return field.within(Range(version, version))._replace(fields=members)


def widen(base: Field, old: Field, version: int, *, cut: bool, path: str) -> Field:
    """Return the base field extended by this version, with the old field's properties there."""
    return base._replace(
        versions=extend(base.versions, version, path),
        nullable=extend(base.nullable, version, path) if version in old.nullable else base.nullable,
        tagged=extend(base.tagged, version, path) if version in old.tagged else base.tagged,
        fields=graft(base.fields, old.fields, version, cut=cut, path=path),
    )


def extend(versions: Range, version: int, path: str) -> Range:
    if version in versions:
        return versions
    if not versions:
        return Range(version, version)
    if version == versions.lo - 1:
        return Range(version, versions.hi)
    if version == versions.hi + 1:
        return Range(versions.lo, version)
    raise SchemaError(f"{path}: version {version} does not adjoin {versions}")


def without(field: Field, version: int, path: str) -> Field:
    if version not in field.versions:
        return field
    rest = Range(version + 1, field.versions.hi)
    if not rest and field.versions.lo < version:
        raise SchemaError(f"{path}: {field.name} can't be cut out of {field.versions}")
    return field.within(rest)

"""Rules for changes of a message: a newer definition must not change the versions of a release.

Names may change, a new tagged field may be added to a flexible version, and old versions may be removed (KIP-482,
KIP-896). Types, nullability, tags and their defaults, order and flexibility of a released version must stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from kcli.schemas.model import Field, Message
from kcli.schemas.ranges import NONE, Range, covering

Finding = tuple[str, str, str]  # path, rule, text


def released_versions(message: Message, release: str) -> Range:
    """Return the versions of a message in a release, without an unstable one."""
    return next((each.enabled for each in message.releases if release in each), NONE)


def broken_promises(old: Message, new: Message, release: str) -> Iterator[Finding]:
    """Yield the changes that a definition makes to versions of a release. old: the message of the tables."""
    spoken = released_versions(old, release)
    if not spoken:
        return
    if (old.kind, old.api_key) != (new.kind, new.api_key):
        yield "", "released-key", f"{new.kind} {new.api_key}, but {old.kind} {old.api_key} in {release}"
    if new.versions.hi < spoken.hi:
        yield "", "released-gone", f"versions {new.versions}, but {release} has {spoken}: its newest may not go"
    both = spoken & new.versions
    wrong = [version for version in both if (version in old.flexible) != (version in new.flexible)]
    if wrong:
        word = "flexible" if wrong[0] in old.flexible else "not flexible"
        yield "", "released-flexible", f"versions {covering(wrong)} are {word} in {release}"
    found: dict[tuple[str, str, str], list[int]] = {}
    for version in both:
        for finding in differences(old.fields, new.fields, version, ""):
            found.setdefault(finding, []).append(version)
    for (path, rule, text), versions in found.items():
        yield path, rule, f"{text} in v{covering(versions)}, which {release} speaks"


def differences(old: tuple[Field, ...], new: tuple[Field, ...], version: int, path: str) -> Iterator[Finding]:
    """Yield the differences between the fields of one version."""
    before = [field for field in old if version in field.versions]
    after = [field for field in new if version in field.versions]
    pairs, removed, added = matched(before, after, version)
    for field in removed:
        yield f"{path}{field.name}", "released-field", f"{field.name} is missing"
    for field in added:
        if version not in field.tagged:
            yield f"{path}{field.name}", "released-field", f"{field.name} is there, and not tagged"
    for was, now in pairs:
        field_path = f"{path}{now.name}"
        for rule, text in changes(was, now, version):
            yield field_path, rule, text
        if was.is_struct and now.is_struct:
            yield from differences(was.fields, now.fields, version, f"{field_path}.")
    plain = [was for was, _ in pairs if version not in was.tagged]
    order = [now for _, now in sorted(pairs, key=lambda pair: after.index(pair[1])) if version not in now.tagged]
    if [now for _, now in pairs if version not in now.tagged] != order and plain:
        yield (
            path.rstrip("."),
            "released-order",
            f"the fields come in the order {', '.join(each.name for each in order)}",
        )


def matched(
    before: list[Field], after: list[Field], version: int
) -> tuple[list[tuple[Field, Field]], list[Field], list[Field]]:
    """Return (pairs of the same field, removed fields, new fields). Fields are paired by name, else by tag, or by place
    and type.
    """
    named = {field.name: field for field in after}
    pairs = [(field, named[field.name]) for field in before if field.name in named]
    known = {field.name for field, _ in pairs}
    removed, added = [f for f in before if f.name not in known], [f for f in after if f.name not in known]
    for field in list(removed):
        twin = next((f for f in added if alike(field, f, version) and before.index(field) == after.index(f)), None)
        twin = twin or next((f for f in added if version in field.tagged & f.tagged and field.tag == f.tag), None)
        if twin is not None:
            pairs.append((field, twin))
            removed.remove(field)
            added.remove(twin)
    return sorted(pairs, key=lambda pair: before.index(pair[0])), removed, added


def alike(one: Field, other: Field, version: int) -> bool:
    same = one.is_array == other.is_array and ((one.is_struct and other.is_struct) or one.element == other.element)
    return same and version not in one.tagged and version not in other.tagged


def changes(was: Field, now: Field, version: int) -> Iterator[tuple[str, str]]:
    """Yield (rule, text) for each change to a field in one version."""
    if was.is_array != now.is_array or (was.element != now.element and not (was.is_struct and now.is_struct)):
        yield "released-type", f"{now.type}, but it was {was.type}"
    if (version in was.nullable) != (version in now.nullable):
        yield "released-null", f"{'may' if version in now.nullable else 'may not'} be null"
    tags = [field.tag if version in field.tagged else None for field in (was, now)]
    if tags[0] != tags[1]:
        yield "released-tag", "not tagged" if tags[1] is None else f"tagged {tags[1]}"
    elif tags[0] is not None and was.default != now.default:
        yield "released-default", f"{now.default!r} by default, but it was {was.default!r}"
    if [field.flexible is None or version in field.flexible for field in (was, now)] not in (
        [True, True],
        [False, False],
    ):
        yield "released-flexible", "its length is written in another way"

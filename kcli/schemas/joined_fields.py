"""Joins the fields of a message whose versions are defined in several places: a dialect's, and those of the tables."""

from __future__ import annotations

from difflib import SequenceMatcher

from kcli.schemas.model import Field
from kcli.schemas.ranges import Range, covering


def limited(fields: tuple[Field, ...], versions: Range) -> tuple[Field, ...]:
    """Return the fields, and those of their structs, that have some of these versions, limited to these."""
    parts = (each.within(versions)._replace(fields=limited(each.fields, versions)) for each in fields)
    return tuple(each for each in parts if each.versions)


def joined(earlier: tuple[Field, ...], later: tuple[Field, ...]) -> tuple[Field, ...]:
    """Return the fields of both in an order that keeps the order of each. A field that both define alike is one field
    with the versions of both; a field that they define differently stays two. later: of the versions that follow.
    """
    found, at, then = list[Field](), 0, 0
    matcher = SequenceMatcher(None, [each.name for each in earlier], [each.name for each in later], autojunk=False)
    for begin, start, length in matcher.get_matching_blocks():
        found += [*earlier[at:begin], *later[then:start]]
        at, then = begin + length, start + length
        for one, other in zip(earlier[begin:at], later[start:then], strict=True):
            found += [union(one, other)] if are_alike(one, other) else [one, other]
    return tuple(found)


def are_alike(one: Field, other: Field) -> bool:
    """Return whether one field can say what both say: the versions adjoin, and all else is equal or a range, too."""
    if one.versions.hi + 1 != other.versions.lo or (one.tagged and other.tagged and one.tag != other.tag):
        return False
    ranges = (
        (covering([*one.nullable, *other.nullable]), one.nullable, other.nullable),
        (covering([*one.tagged, *other.tagged]), one.tagged, other.tagged),
    )
    return all(
        (both & one.versions, both & other.versions) == (of_one, of_other) for both, of_one, of_other in ranges
    ) and (one.type, one.default, one.flexible) == (other.type, other.default, other.flexible)


def union(one: Field, other: Field) -> Field:
    """Return one field for two that are alike."""
    return one._replace(
        versions=Range(one.versions.lo, other.versions.hi),
        nullable=covering([*one.nullable, *other.nullable]),
        tagged=covering([*one.tagged, *other.tagged]),
        tag=one.tag if one.tagged else other.tag,
        fields=joined(one.fields, other.fields),
    )

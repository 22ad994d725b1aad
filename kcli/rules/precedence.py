"""Causes before consequences: a finding that another one explains is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kcli.finding import Finding
from kcli.rules.rule import Rule

Explains = Mapping[str, Mapping[str, Sequence[str]]]  # finding -> what it explains -> kinds of subject to share


def without_consequences(found: Sequence[Finding], rules: Iterable[Rule]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that stand, and those that others explain.

    A finding explains others as its rule says, also where it is explained itself: a chain has one beginning. Two that
    explain each other both stand.
    """
    explains = {rule.finding: rule.explains for rule in rules}
    explained: list[Finding] = []
    for each in found:
        cause = next(
            (other for other in found if is_cause(other, each, explains) and not is_cause(each, other, explains)), None
        )
        if cause is not None:
            each.explained_by = cause.finding
            explained.append(each)
    return [each for each in found if each.explained_by is None], explained


def is_cause(cause: Finding, each: Finding, explains: Explains) -> bool:
    """Return whether a finding is a consequence of another."""
    kinds = explains[cause.finding].get(each.finding)
    if kinds is None or cause is each or each.finding in cause.spares:
        return False
    return all(kind not in each.subject or kind not in cause.subject or shares(cause, each, kind) for kind in kinds)


def shares(one: Finding, other: Finding, kind: str) -> bool:
    """Return whether two subjects have a name of that kind in common."""
    return not names(one.subject[kind]).isdisjoint(names(other.subject[kind]))


def names(value: object) -> set[str]:
    return {str(each) for each in (value if isinstance(value, list) else [value])}

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
    return all(may_share(names_of(cause, kind), names_of(each, kind)) for kind in kinds)


def may_share(some: set[str], others: set[str]) -> bool:
    """Return whether two have a name in common, or one of them has none."""
    return not some or not others or not some.isdisjoint(others)


def names_of(finding: Finding, kind: str) -> set[str]:
    """Return the names of a kind: those of the subject, or else those that the evidence lists ("topics")."""
    if kind in finding.subject:
        return set(finding.names(kind))
    listed = finding.evidence.get(f"{kind}s")
    return {*map(str, listed)} if isinstance(listed, list) else set()

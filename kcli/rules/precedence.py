"""Causes before consequences: a finding that another one explains is left out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import merge
from itertools import product
from typing import TypeAlias

from kcli.finding import Finding
from kcli.rules.rule import Rule

Kinds: TypeAlias = tuple[str, ...]
Names: TypeAlias = tuple[str | None, ...]
Apart: TypeAlias = Callable[[Finding, Finding], bool]
Explains = Mapping[str, Mapping[str, Sequence[str]]]  # finding -> what it explains -> kinds of subject to share


def without_consequences(
    found: Sequence[Finding], rules: Iterable[Rule], apart: Apart = lambda *_: False
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that no other explains, and the explained ones.

    A finding explains others as its rule says, even if it is itself explained: a chain of causes has one start. If two
    findings explain each other, both are kept. apart: returns whether two findings are unrelated in any case.
    """
    causes = Causes(found, {rule.finding: rule.explains for rule in rules}, apart)
    explained: list[Finding] = []
    for each in found:
        each.cause = causes.first(each)
        if each.cause is not None:
            explained.append(each)
    return [each for each in found if each.cause is None], explained


class Causes:
    """An index of findings by the findings that they explain and the names to share: a hostile capture has many
    findings.
    """

    def __init__(self, found: Sequence[Finding], explains: Explains, apart: Apart) -> None:
        self.found, self.explains, self.apart = found, explains, apart
        self.places: dict[str, list[int]] = {}  # of each finding, in order
        for place, each in enumerate(found):
            self.places.setdefault(each.finding, []).append(place)
        self.named: dict[tuple[str, Kinds], dict[Names, list[int]]] = {}

    def first(self, each: Finding) -> Finding | None:
        """Return the first of the findings that explain this one."""
        causes = (name for name in self.places if each.finding in self.explains[name] and name not in each.stands)
        firsts = (self.first_of(name, each) for name in causes)
        place = min((place for place in firsts if place is not None), default=None)
        return None if place is None else self.found[place]

    def first_of(self, name: str, each: Finding) -> int | None:
        """Return the index of the first finding of this name that explains another."""
        shared = self.explains[name][each.finding]
        back = None if name in each.spares else self.explains[each.finding].get(name)
        if back is not None and {*back} <= {*shared}:
            return None  # they explain each other
        names = {kind: names_of(each, kind) for kind in shared}
        kinds = tuple(kind for kind in shared if names[kind])  # a finding without a name of a kind matches all names
        alike = self.by_names(name, kinds)
        keys = product(*([*names[kind], None] for kind in kinds))
        for place in merge(*(alike.get(key, ()) for key in keys)):
            cause = self.found[place]
            if cause is each or each.finding in cause.spares or self.apart(cause, each):
                continue
            if back is None or not all(may_share(names_of(cause, kind), names_of(each, kind)) for kind in back):
                return place
        return None

    def by_names(self, name: str, kinds: Kinds) -> dict[Names, list[int]]:
        """Return the indexes of findings by the names of these kinds in their subjects; None stands for no name."""
        made = self.named.get((name, kinds))
        if made is None:
            made = self.named[name, kinds] = {}
            for place in self.places[name]:
                for key in product(*(names_of(self.found[place], kind) or [None] for kind in kinds)):
                    made.setdefault(key, []).append(place)
        return made


def may_share(some: set[str], others: set[str]) -> bool:
    """Return whether two sets of names overlap, or one of them is empty."""
    return not some or not others or not some.isdisjoint(others)


def names_of(finding: Finding, kind: str) -> set[str]:
    """Return the names of a kind: those of the subject, or else those that the evidence lists ("topics")."""
    if kind in finding.subject:
        return set(finding.names(kind))
    listed = finding.evidence.get(f"{kind}s")
    return {*map(str, listed)} if isinstance(listed, list) else set()

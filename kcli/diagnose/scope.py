"""The choice of findings: of a group, a client or a topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kcli.diagnose.store import FactStore
from kcli.finding import Finding


@dataclass(frozen=True, slots=True)
class Scope:
    """The choice of findings; None: all. Facts of others still count, to compare with."""

    group: str | None = None
    client: str | None = None
    topic: str | None = None

    def named(self) -> list[tuple[str, str]]:
        """Return the names that are asked for, each behind its kind."""
        kinds = (("group", self.group), ("client", self.client), ("topic", self.topic))
        return [(kind, name) for kind, name in kinds if name is not None]

    def wants(self, finding: Finding, groups: dict[str, list[str]], topics: set[str]) -> bool:
        """Return whether the finding may concern them. groups: of each client; topics: names of an id."""
        return all(
            wanted is None or kinds_match(finding.subject, kinds, {wanted, *more})
            for wanted, kinds, more in (
                (self.group, ("group", "client"), {each for each, found in groups.items() if self.group in found}),
                (self.client, ("client", "group"), set(groups.get(self.client or "", ()))),
                (self.topic, ("topic",), topics),
            )
        )


ALL = Scope()


def kinds_match(subject: dict[str, Any], kinds: Sequence[str], names: set[str]) -> bool:
    """Return whether a subject has none of these kinds, or one of the names."""
    there = [subject[kind] for kind in kinds if kind in subject]
    found = {str(each) for value in there for each in (value if isinstance(value, list) else [value])}
    return not there or not found.isdisjoint(names)


def in_scope(store: FactStore, found: list[Finding], scope: Scope) -> list[Finding]:
    """Return the findings that a scope wants."""
    if scope == ALL:
        return found
    groups = {row["client_id"]: row["groups"] for row in store.ask("SELECT client_id, groups FROM client_groups")}
    named = {
        row["topic"] for row in store.ask("SELECT topic, topic_id FROM topic_names") if row["topic_id"] == scope.topic
    }
    return [each for each in found if scope.wants(each, groups, named)]

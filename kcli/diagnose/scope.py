"""The choice of findings: of a group, a client, a topic, or a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from kcli.capture.kafka.clock import instant
from kcli.diagnose.store import FactStore
from kcli.finding import Finding


@dataclass(frozen=True, slots=True)
class Scope:
    """The choice of findings; None: all. Rules still compare with facts about other names and times.

    since, until: ns since 1970, compared with the time of a finding's evidence; a finding without times passes.
    """

    group: str | None = None
    client: str | None = None
    topic: str | None = None
    since: int | None = None
    until: int | None = None

    def named(self) -> list[tuple[str, str]]:
        """Return the chosen names as (kind, name)."""
        kinds = (("group", self.group), ("client", self.client), ("topic", self.topic))
        return [(kind, name) for kind, name in kinds if name is not None]

    @property
    def times(self) -> str:
        """Return the chosen time in words: "since 2026-11-21T09:14:02Z"; "": any."""
        bounds = (("since", self.since), ("until", self.until))
        return " ".join(f"{word} {instant(ns)}" for word, ns in bounds if ns is not None)

    def includes(self, finding: Finding, groups: dict[str, list[str]], topics: set[str]) -> bool:
        """Return whether a finding is about the chosen names. groups: group ids by client; topics: the names of the
        chosen topic, if that is an id.
        """
        return self.is_in_time(finding) and all(
            wanted is None or kinds_match(finding, kinds, {wanted, *more})
            for wanted, kinds, more in (
                (self.group, ("group", "client"), {each for each, found in groups.items() if self.group in found}),
                (self.client, ("client", "group"), set(groups.get(self.client or "", ()))),
                (self.topic, ("topic",), topics),
            )
        )

    def is_in_time(self, finding: Finding) -> bool:
        """Return whether a finding's evidence may overlap the chosen time."""
        first, last = finding.evidence.get("from"), finding.evidence.get("to")
        if first is None or last is None:
            return True
        return (self.since is None or last >= instant(self.since)) and (
            self.until is None or first <= instant(self.until)
        )


ALL = Scope()


def kinds_match(finding: Finding, kinds: Sequence[str], names: set[str]) -> bool:
    """Return whether a finding's subject has none of these kinds, or one of the chosen names."""
    subject_names = [finding.names(kind) for kind in kinds if kind in finding.subject]
    return not subject_names or not names.isdisjoint(chain.from_iterable(subject_names))


def in_scope(store: FactStore, found: list[Finding], scope: Scope) -> list[Finding]:
    """Return the findings in a scope."""
    if scope == ALL:
        return found
    groups = {row["client_id"]: row["groups"] for row in store.ask("SELECT client_id, groups FROM client_groups")}
    named = {
        row["topic"] for row in store.ask("SELECT topic, topic_id FROM topic_names") if row["topic_id"] == scope.topic
    }
    return [each for each in found if scope.includes(each, groups, named)]

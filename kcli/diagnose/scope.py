"""The choice of findings: of a group, a client, a topic, or a time."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kcli.capture.kafka.clock import instant
from kcli.capture.name_choice import matches
from kcli.diagnose.store import FactStore
from kcli.finding import Finding


@dataclass(frozen=True, slots=True)
class Scope:
    """The choice of findings; None: all. Rules still compare with facts about other names and times.

    group, client, topic: a name, list or pattern (see `kcli.capture.name_choice`).
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

    def includes(self, finding: Finding, groups: Mapping[str, Sequence[str]], ids: Mapping[str, str]) -> bool:
        """Return whether a finding may concern the chosen names. groups: group ids by client; ids: topic ids by
        name.
        """

        def members(group: str) -> list[str]:
            return [client for client, joined in groups.items() if group in joined]

        def name_and_id(topic: str) -> list[str]:
            return [topic, *([ids[topic]] if topic in ids else [])]

        return (
            self.is_in_time(finding)
            and may_concern(finding, "group", self.group, {"client": lambda name: groups.get(name, ())})
            and may_concern(finding, "client", self.client, {"group": members})
            and may_concern(finding, "topic", self.topic, {"topic": name_and_id})
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


def may_concern(
    finding: Finding, kind: str, wanted: str | None, more: Mapping[str, Callable[[str], Iterable[str]]]
) -> bool:
    """Return whether a finding's subject has no name of this kind or those of `more`, or has a name that is wanted or
    stands for one. more: by kind, returns the names for which a name stands. They don't bring back what "!" leaves out.
    """
    if wanted is None:
        return True
    named = finding.names(kind)
    others = [] if named and wanted.startswith("!") else [(each, name) for each in more for name in finding.names(each)]
    stands_for = (name for each, other in others for name in more[each](other))
    return not (named or others) or any(matches(each, wanted) for each in (*named, *stands_for))


def in_scope(store: FactStore, found: list[Finding], scope: Scope) -> list[Finding]:
    """Return the findings in a scope."""
    if scope == ALL:
        return found
    groups = {row["client_id"]: row["groups"] for row in store.ask("SELECT client_id, groups FROM client_groups")}
    ids = {row["topic"]: row["topic_id"] for row in store.ask("SELECT topic, topic_id FROM topic_names")}
    return [each for each in found if scope.includes(each, groups, ids)]

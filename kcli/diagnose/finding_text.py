"""The texts of a finding for screens and pages: subject, times, advice, ruled-out causes, and a command to look
further.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcli.capture.kafka.clock import day_time, instant
from kcli.counting import counted, few_of, here_text, span_text
from kcli.finding import INFO, Finding, Unjudged

if TYPE_CHECKING:
    from kcli.diagnose.diagnosis import Diagnosis
    from kcli.diagnose.known import Unknown

DAY = 86400  # seconds
LAST_S, LAST_PART = 1.0, 0.05  # evidence in the last second, or this last part of a capture, may continue after it
NAMED = 3  # most names of one kind of subject


Detail = tuple[str, str]  # a name, such as "do", and its text


@dataclass(frozen=True)
class Period:
    """The time of a diagnosis. dated: it is longer than a day, so times need a date. ending: evidence at or after this
    time (ISO 8601) counts as lasting to the end; None: unknown.
    """

    dated: bool = False
    ending: str | None = None


ANY_TIME = Period()


@dataclass(frozen=True, slots=True)
class FindingText:
    """A finding in words. text: with its subject and times. details: pairs such as ("do", advice), in order. see: a
    command; "": none.
    """

    finding: str
    severity: str
    text: str
    details: tuple[Detail, ...]
    see: str


def finding_text(each: Finding, period: Period = ANY_TIME) -> FindingText:
    """Return a finding in words."""
    details = [("do", each.advice)]
    if each.ruled_out and each.severity != INFO:
        details.append(("ruled out", each.ruled_out))
    if each.explains:
        details.append(("explains", f"{', '.join(each.explains)}, reported before"))
    text = f"{each.text}{missing_subject(each)}{time_text(each, period)}"
    return FindingText(each.finding, each.severity, text, tuple(details), each.see)


def by_kind(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Group findings of one kind and severity, in the order of each group's first."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.finding, each.severity), []).append(each)
    return [*groups.values()]


def others_text(group: Sequence[Finding]) -> str:
    """Name the subjects of all findings of a kind but the first: "clients a, b, c and 4 more"; "" without others."""
    if len(group) == 1:
        return ""
    others = {kind: len({name for each in group for name in each.names(kind)}) for kind in group[0].subject}
    kind = max(others, key=lambda kind: others[kind], default="")  # the kind of which they have most names
    names = [*dict.fromkeys(name for each in group[1:] for name in each.names(kind))]
    return names_text(kind, names) if names else f"{len(group) - 1} more"


def period_of(found: Diagnosis) -> Period:
    """Return the captured period of a diagnosis."""
    time = found.overview.time
    if time.first_ns is None:
        return ANY_TIME
    ending = time.last_ns - int(max(LAST_S, time.seconds() * LAST_PART) * 1e9)
    return Period(time.last_ns - time.first_ns > DAY * 1e9, instant(ending))


def time_text(each: Finding, period: Period) -> str:
    """Return the start and end of a finding's evidence as text, to the second; "" without times."""
    if "from" not in each.evidence:
        return ""
    first, last = (day_time(each.evidence[name], dated=period.dated) for name in ("from", "to"))
    if first == last:
        return f"; {first}Z"
    if period.ending is not None and each.evidence["to"] >= period.ending:
        return f"; {first}Z to the end"
    return f"; {first} to {last}Z"


def missing_subject(each: Finding) -> str:
    """Return the names of a subject that the text lacks: "; groups a, b". A kind is left out if the text has its first
    names.
    """
    every = {kind: each.names(kind) for kind in each.subject}
    missing = {kind: names for kind, names in every.items() if any(name not in each.text for name in names[:NAMED])}
    return "".join(f"; {names_text(kind, names)}" for kind, names in missing.items())


def names_text(kind: str, names: Sequence[str]) -> str:
    """List the first names of a kind: "client a", "clients a, b, c and 4 more"."""
    return f"{kind}{'s' * (len(names) > 1)} {few_of(names, NAMED)}"


def checked_text(found: Diagnosis) -> str:
    """Return the number of checks, the exchanges and the captured time, the findings by severity and the scope; or the
    names of the scope that no capture has.
    """
    seconds = span_text(found.overview.time.seconds())
    if not found.judged:
        return f"Nothing could be judged: no exchange of Kafka's in {seconds}"
    exchanges = f"{counted(found.overview.exchanges, 'exchange')} in {seconds}"
    if found.unknown:
        return f"{unknown_text(found.unknown)}; looked at {exchanges}"
    counts = counted_by_severity(found.findings) or "nothing found"
    names = ", ".join(f"{kind} {name}" for kind, name in found.scope.named())
    scope = " ".join(each for each in (names and f"of {names}", found.scope.times) if each)
    return f"{found.checked} checks over {exchanges}: {counts}{scope and f' {scope}'}"


def unknown_text(unknown: Sequence[Unknown]) -> str:
    """Describe the names of a scope that no capture has."""
    return f"nothing matches: {lacking_text(unknown)}"


def lacking_text(unknown: Sequence[Unknown]) -> str:
    """List the missing names of a scope, with the known names of each kind."""
    return "; ".join(f"no {each.kind} {each.name}; {here_text(each.kind, each.known_names)}" for each in unknown)


def counted_by_severity(findings: Sequence[Finding]) -> str:
    """Format the number of findings by severity: "1 critical, 2 warnings"."""
    words = []
    for severity, plural in (("critical", "critical"), ("warning", "warnings"), ("info", "infos")):
        count = sum(each.severity == severity for each in findings)
        if count:
            words.append(f"{count} {plural if count > 1 else severity}")
    return ", ".join(words)


def unjudged_text(part: Unjudged) -> str:
    """Return the description of a part that could not be judged, with its remedy."""
    return f"{part.what}; remedy: {part.remedy}"

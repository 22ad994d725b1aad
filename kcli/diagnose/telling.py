"""The texts of a finding, on every screen and page: who, what, when, what to do, what it is not, where to look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcli.capture.kafka.clock import instant
from kcli.counting import counted, few_of, here_text, span_text
from kcli.finding import INFO, Finding

if TYPE_CHECKING:
    from kcli.diagnose.diagnosis import Diagnosis
    from kcli.diagnose.known import Unknown
    from kcli.diagnose.unjudged import Unjudged

DAY = 86400  # seconds
LAST_S, LAST_PART = 1.0, 0.05  # what is seen in the last second, or in this part of a capture, may well go on
NAMED = 3  # of a kind of subject


@dataclass(frozen=True)
class Period:
    """The time of a diagnosis. dated: a time of day does not tell the day. ending: what is seen from then on (ISO 8601)
    lasts to its end; None: that is not known.
    """

    dated: bool = False
    ending: str | None = None


ANY_TIME = Period()


@dataclass(frozen=True, slots=True)
class ToldFinding:
    """A finding in words. text: with its subject and times. details: ("do", what to do) and so on, in order. see: a
    command; "": none.
    """

    finding: str
    severity: str
    text: str
    details: tuple[tuple[str, str], ...]
    see: str


def told(each: Finding, period: Period = ANY_TIME) -> ToldFinding:
    """Put a finding into words."""
    details = [("do", each.advice)]
    if each.ruled_out and each.severity != INFO:
        details.append(("ruled out", each.ruled_out))
    text = f"{each.text}{unsaid_subject(each)}{time_text(each, period)}"
    return ToldFinding(each.finding, each.severity, text, tuple(details), each.see)


def period_of(found: Diagnosis) -> Period:
    """Return the time that captures are of."""
    time = found.overview.time
    if time.first_ns is None:
        return ANY_TIME
    ending = time.last_ns - int(max(LAST_S, time.seconds() * LAST_PART) * 1e9)
    return Period(time.last_ns - time.first_ns > DAY * 1e9, instant(ending))


def time_text(each: Finding, period: Period) -> str:
    """Return when what a finding counts began and ended, by the second."""
    if "from" not in each.evidence:
        return ""
    first, last = (day_time(each.evidence[name], dated=period.dated) for name in ("from", "to"))
    if first == last:
        return f"; {first}Z"
    if period.ending is not None and each.evidence["to"] >= period.ending:
        return f"; {first}Z to the end"
    return f"; {first} to {last}Z"


def day_time(instant: str, *, dated: bool) -> str:
    """Shorten an ISO 8601 time to the second of the day. dated: with the date."""
    day, _, clock = instant.partition("T")
    return f"{day} {clock[:8]}" if dated else clock[:8]


def unsaid_subject(each: Finding) -> str:
    """Return the names of a finding's subject of which its text lacks one of the first: "; groups a, b"."""
    every = {kind: each.names(kind) for kind in each.subject}
    unsaid = {kind: names for kind, names in every.items() if any(name not in each.text for name in names[:NAMED])}
    return "".join(f"; {kind}{'s' * (len(names) > 1)} {few_of(names, NAMED)}" for kind, names in unsaid.items())


def checked_text(found: Diagnosis) -> str:
    """Return what was checked, how much there was to check, and how much was found of whom, or else which names are
    not there."""
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
    """Return which names are not there, and which are."""
    return "; ".join(f"no {each.kind} {each.name}; {here_text(each.kind, each.here)}" for each in unknown)


def counted_by_severity(findings: Sequence[Finding]) -> str:
    """Count findings in words: "1 critical, 2 warnings"."""
    words = []
    for severity, plural in (("critical", "critical"), ("warning", "warnings"), ("info", "infos")):
        count = sum(each.severity == severity for each in findings)
        if count:
            words.append(f"{count} {plural if count > 1 else severity}")
    return ", ".join(words)


def unjudged_text(part: Unjudged) -> str:
    """Return what could not be judged, and what to do about it."""
    return f"{part.what}; remedy: {part.remedy}"

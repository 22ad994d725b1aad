"""Findings as text: three lines or so each, and at the end what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kcli.capture.kafka.clock import instant
from kcli.cli.terminal.cells import wrap
from kcli.cli.terminal.lines import joined, paint

if TYPE_CHECKING:
    from kcli.diagnose import Diagnosis, Finding

COLOURS = {"critical": "red", "warning": "yellow", "info": "cyan"}
SHOWN = 8  # findings in full; of the rest the first line
DAY = 86400  # seconds
WIDTH = len("CRITICAL")
LAST_S, LAST_PART = 1.0, 0.05  # what is seen in the last second, or in this part of a capture, may well go on


@dataclass(frozen=True)
class Period:
    """The time of a diagnosis. dated: a time of day does not tell the day. ending: what is seen from then on (ISO 8601)
    lasts to its end; None: that is not known.
    """

    dated: bool = False
    ending: str | None = None


def text_lines(found: Diagnosis, room: int | None, *, colour: bool) -> Iterator[str]:
    """Yield the lines of a diagnosis. room: cells of a line; None: as long as it is."""
    period = period_of(found)
    for number, each in enumerate(found.findings):
        yield from finding_lines(each, room, colour=colour, whole=number < SHOWN, period=period)
    yield from broken(checked_text(found), room, "")
    for part in found.unjudged:
        yield from broken(f"not judged: {part.what}; remedy: {part.remedy}", room, "  ")
    if found.findings and len(found.findings) > SHOWN:
        yield f"The last {len(found.findings) - SHOWN} in full: --format jsonl"


def period_of(found: Diagnosis) -> Period:
    """Return the time that captures are of."""
    first, seconds = found.overview.first_ns, found.overview.seconds
    before_end = seconds - max(LAST_S, seconds * LAST_PART)
    return Period(seconds > DAY, None if first is None else instant(first + int(before_end * 1e9)))


def finding_lines(
    each: Finding, room: int | None, *, colour: bool, whole: bool, period: Period = Period()
) -> Iterator[str]:
    """Yield the lines of one finding: what and when, what to do, what it is not, and where to look."""
    word = each.severity.upper() if each.severity == "critical" else each.severity
    indent = " " * (WIDTH + 2)
    head = f"{word:{WIDTH}}  "
    first, *rest = broken(
        f"{each.finding}  {each.text}{time_text(each, period)}", None if room is None else room - len(head), ""
    )
    style = {"fg": COLOURS[each.severity], "bold": each.severity == "critical"}
    yield joined(paint(head, colour, **style), first)
    yield from (indent + line for line in rest)
    if not whole:
        return
    yield from broken(f"do: {each.advice}", room, indent)
    if each.ruled_out and each.severity != "info":
        yield from broken(f"ruled out: {each.ruled_out}", room, indent)
    if each.see:
        yield f"{indent}see: {each.see}"


def time_text(each: Finding, period: Period) -> str:
    """Say when what a finding counts began and ended, by the second."""
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


def checked_text(found: Diagnosis) -> str:
    """Say what was checked, and how much there was to check."""
    size = f"{found.overview.exchanges:,} exchanges in {found.overview.seconds:,.1f} s"
    if not found.judged:
        return f"Nothing could be judged: {size} of Kafka."
    counts = counted_by_severity(found.findings)
    return f"{found.checked} checks over {size}: {counts or 'nothing found'}."


def counted_by_severity(findings: Sequence[Finding]) -> str:
    """Count findings in words: "1 critical, 2 warnings"."""
    words = []
    for severity, plural in (("critical", "critical"), ("warning", "warnings"), ("info", "infos")):
        count = sum(each.severity == severity for each in findings)
        if count:
            words.append(f"{count} {plural if count > 1 else severity}")
    return ", ".join(words)


def broken(text: str, room: int | None, indent: str) -> Iterator[str]:
    """Break a text between words where it is too long for the terminal."""
    if room is None:
        yield indent + text
        return
    for line in wrap(text, max(room - len(indent), 20)):
        yield indent + line

"""The verdict on top of the page: what to look at, the worst first, each with the section that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcli import diagnose
from kcli.counting import counted
from kcli.diagnose import Diagnosis
from kcli.diagnose.telling import NAMED, ToldFinding, checked_text, period_of, told, unjudged_text
from kcli.report.asking import Answers, Asked
from kcli.rules.prepared import ROUTINE_ERRORS

BAD, WARNING, NOTE, GOOD = "bad", "warning", "note", "good"
LEVELS = {diagnose.CRITICAL: BAD, diagnose.WARNING: WARNING, diagnose.INFO: NOTE}
ORDER = (BAD, WARNING, NOTE, GOOD)
MANY = 0.05  # of the exchanges
FEW_REBALANCES = 2


@dataclass(frozen=True, slots=True)
class Finding:
    """level: bad, warning, note or good. section: the answer that shows more, if one does. told: what `kcli diagnose`
    says, of its findings.
    """

    level: str
    text: str
    section: str
    told: ToldFinding | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """level: of the worst finding."""

    level: str
    headline: str
    findings: list[Finding]


def judge_captures(answers: Answers, diagnosis: Diagnosis) -> Verdict:
    """Return the verdict on captures: what `kcli diagnose` finds, what it can't judge, and who would be refused."""
    period = period_of(diagnosis)
    every = [told(each, period) for each in diagnosis.findings]
    found = [Finding(LEVELS[each.severity], each.text, "", each) for each in every]
    found += [
        Finding(NOTE, f"Not judged: {unjudged_text(part)}.", "lost" if part.see else "") for part in diagnosis.unjudged
    ]
    found += [Finding(NOTE, each.text, each.section) for rule in (refused, unread) for each in rule(answers)]
    verdict = verdict_of(found)
    if not diagnosis.judged:
        said = [] if diagnosis.unjudged else [*nothing(answers)]
        return Verdict(NOTE, unread_headline(diagnosis), [*said, *verdict.findings])
    return Verdict(verdict.level, checked_text(diagnosis), verdict.findings)


def unread_headline(diagnosis: Diagnosis) -> str:
    """Return what was seen in captures of which nothing can be judged."""
    parts = [part.what for part in diagnosis.unjudged if " of TLS" in part.what or " without Kafka" in part.what]
    return f"Nothing to judge: {parts[0]}" if parts else "No Kafka in here"


def judge(answers: Answers) -> Verdict:
    """Return what the answers of a fleet's tables say."""
    found = [each for rule in RULES for each in rule(answers)]
    if answers.first_ns is None:
        return Verdict(NOTE, "No Kafka in here", [*nothing(answers), *in_order(found)])
    return verdict_of(found)


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """Return the findings, the worst first, under a headline that counts the serious ones."""
    found = in_order(findings)
    serious = sum(each.level in (BAD, WARNING) for each in found)
    level = found[0].level if serious else GOOD
    things = f"{serious} thing{'s' * (serious != 1)}"
    headline = {BAD: f"{things} to mend", WARNING: f"{things} to look at"}.get(level, "Nothing to mend")
    return Verdict(level, headline, found)


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: ORDER.index(each.level))


def nothing(answers: Answers) -> Iterator[Finding]:
    yield Finding(
        NOTE,
        "No exchange was seen: no request of Kafka's protocol in these files. Traffic inside TLS needs its keys, and "
        "a port that kcli does not take for a broker's is named with --port.",
        "lost",
    )


def errors(answers: Answers) -> Iterator[Finding]:
    counts: Counter[str] = Counter()
    for row in answers.by_name["errors"].dicts():
        counts[row["error"]] += row["answers"]
    serious = {name: count for name, count in counts.items() if name not in ROUTINE_ERRORS}
    if not counts:
        if answers.first_ns is not None:
            yield Finding(GOOD, "No answer had an error.", "errors")
        return
    [totals] = answers.by_name["totals"].dicts()
    share = totals["with_errors"] / totals["exchanges"]
    named = ", ".join(f"{name} {count:,}" for name, count in counts.most_common(NAMED))
    more = f" and {len(counts) - NAMED} more" if len(counts) > NAMED else ""
    level = NOTE if not serious else BAD if share >= MANY else WARNING
    yield Finding(level, f"{share:.1%} of the exchanges had an error: {named}{more}.", "errors")


def leaders(answers: Answers) -> Iterator[Finding]:
    rows = [row for row in answers.by_name["leaders"].dicts() if row["role"] == "client"]
    stuck = sum(row["not_recovered"] for row in rows)
    if stuck:
        yield Finding(
            BAD, f"{counted(stuck, 'partition')} of clients lost the leader and did not get an answer again.", "leaders"
        )
    times = [row["lost_max_ms"] for row in rows if row["lost_max_ms"] is not None]
    if times:
        changes = sum(row["changes"] for row in rows) - stuck
        yield Finding(
            WARNING, f"{counted(changes, 'leader change')} cost clients up to {max(times):,.0f} ms each.", "leaders"
        )


def refused(answers: Answers) -> Iterator[Finding]:
    rows = [row for row in answers.by_name["refused"].dicts() if row["verdict"] == "refused"]
    for role, level in ("client", WARNING), ("broker", NOTE):
        theirs = [row for row in rows if row["role"] == role]
        if theirs:
            asking = f"{counted(len(theirs), role)}{named(theirs)}"
            yield Finding(level, f"Kafka {rows[0]['release']} would refuse requests of {asking}.", "refused")


def throttling(answers: Answers) -> Iterator[Finding]:
    asked = answers.by_name["throttling"]
    if asked.rows:
        clients = len({row["client_id"] for row in asked.dicts()})
        longest = max(row["longest_wait_ms"] for row in asked.dicts())
        yield Finding(WARNING, f"{counted(clients, 'client')} throttled, for up to {longest:,} ms.", "throttling")


def sessions(answers: Answers) -> Iterator[Finding]:
    asked = answers.by_name["sessions"]
    lost, refusals = asked.total("lost"), asked.total("not_granted")
    if lost:
        yield Finding(
            WARNING, f"{counted(lost, 'fetch', 'fetches')} named a session that the broker had lost.", "sessions"
        )
    if refusals:
        text = f"{counted(refusals, 'fetch', 'fetches')} asked for a session and got none: the cache may be too small."
        yield Finding(WARNING, text, "sessions")


def groups(answers: Answers) -> Iterator[Finding]:
    busy = [row for row in answers.by_name["groups"].dicts() if row["rebalances"] > FEW_REBALANCES]
    if busy:
        most, times = busy[0]["group_id"], busy[0]["rebalances"]
        yield Finding(
            WARNING,
            f"{counted(len(busy), 'group')} rebalanced again and again; {most}: {times:,} times.",
            "groups",
        )


def conversions(answers: Answers) -> Iterator[Finding]:
    asked = answers.by_name["conversions"]
    if asked.rows:
        clients = len({row["client_id"] for row in asked.dicts()})
        text = f"Brokers convert records to an older format for {counted(clients, 'client')}."
        yield Finding(WARNING, text, "conversions")


def unread(answers: Answers) -> Iterator[Finding]:
    asked = answers.by_name["lost"]
    if asked.rows:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in kinds_of(asked).most_common())
        yield Finding(NOTE, f"Not everything could be read: {kinds}.", "lost")


def named(rows: Sequence[dict[str, Any]]) -> str:
    """Name the clients of rows behind a count, the first few of many; "": no row says who."""
    names = list(dict.fromkeys(row["client_id"] or "(no client id)" for row in rows if "client_id" in row))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f": {', '.join(names[:NAMED])}{more}" if names else ""


def kinds_of(asked: Asked) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for row in asked.dicts():
        kinds[row["event"]] += row["events"]
    return kinds


RULES: tuple[Callable[[Answers], Iterator[Finding]], ...] = (
    errors, leaders, refused, throttling, sessions, groups, conversions, unread,
)  # fmt: skip

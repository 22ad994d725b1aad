"""The verdict on top of the page: what to look at, the worst first, each with the section that shows it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcli import diagnose
from kcli.counting import counted, few_of
from kcli.diagnose import Diagnosis
from kcli.diagnose.finding_text import (
    DAY,
    NAMED,
    FindingText,
    Period,
    checked_text,
    counted_by_severity,
    finding_text,
    period_of,
    unjudged_text,
)
from kcli.finding import Unjudged
from kcli.report.asking import AnsweredQuestion, Answers
from kcli.report.questions import UNANSWERED
from kcli.rules.judgement import checks

BAD, WARNING, NOTE, GOOD = "bad", "warning", "note", "good"
LEVELS = {diagnose.CRITICAL: BAD, diagnose.WARNING: WARNING, diagnose.INFO: NOTE}
ORDER = (BAD, WARNING, NOTE, GOOD)


@dataclass(frozen=True, slots=True)
class Finding:
    """level: bad, warning, note or good. section: the answer that shows more, if one does. full: the text of `kcli
    diagnose` with advice and command; None: the finding is of the report itself.
    """

    level: str
    text: str
    section: str
    full: FindingText | None = None


NOTHING = Finding(
    NOTE,
    "No exchange was seen: no request of Kafka's protocol in these files. Traffic inside TLS needs its keys, and a "
    "port that kcli does not take for a broker's is named with --port.",
    "lost",
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """level: of the worst finding."""

    level: str
    headline: str
    findings: list[Finding]


def judge_captures(answers: Answers, diagnosis: Diagnosis) -> Verdict:
    """Return the verdict on captures: what `kcli diagnose` finds, what it can't judge, and who would be refused."""
    period = period_of(diagnosis)
    found = [finding_of(finding_text(each, period)) for each in diagnosis.findings]
    named = None if diagnosis.judged else headline_part(diagnosis)
    found += [
        Finding(
            NOTE,
            f"To read them: {part.remedy}." if part is named else f"Not judged: {unjudged_text(part)}.",
            "lost" if part.see else "",
        )
        for part in diagnosis.unjudged
    ]
    found += refused(answers)
    # Parts that were not judged say more than the counts of the same events.
    found += unanswered(answers) if any(part.unread for part in diagnosis.unjudged) else unread(answers)
    verdict = verdict_of(found)
    if not diagnosis.judged:
        notes = [] if diagnosis.unjudged else [NOTHING]
        headline = "No Kafka in here" if named is None else f"Nothing to judge: {named.what}"
        return Verdict(NOTE, headline, [*notes, *verdict.findings])
    is_unread = verdict.level == GOOD and not diagnosis.overview.exchanges  # infos about what TLS hides
    return Verdict(NOTE if diagnosis.unknown or is_unread else verdict.level, checked_text(diagnosis), verdict.findings)


def headline_part(diagnosis: Diagnosis) -> Unjudged | None:
    """Return the part that names what was seen in captures of which nothing can be judged."""
    return next((part for part in diagnosis.unjudged if " of TLS" in part.what or " without Kafka" in part.what), None)


def judge(answers: Answers) -> Verdict:
    """Return the verdict on a fleet's tables: what was found as they were made, and who would be refused."""
    seconds = (answers.last_ns - answers.first_ns) / 1e9 if answers.first_ns and answers.last_ns else 0.0
    findings_answer = answers.by_name.get("findings")
    every = [diagnose.Finding.of_row(row) for row in (findings_answer.dicts() if findings_answer else ())]
    found = [finding_of(finding_text(each, Period(seconds > DAY))) for each in every]
    found += [*refused(answers), *unread(answers)]
    if answers.first_ns is None:
        return Verdict(NOTE, "No Kafka in here", [NOTHING, *in_order(found)])
    verdict = verdict_of(found)
    counts = counted_by_severity(every) or "nothing found"
    return Verdict(verdict.level, f"{counted(checks(), 'check')}: {counts}", verdict.findings)


def finding_of(each: FindingText) -> Finding:
    return Finding(LEVELS[each.severity], each.text, "", each)


def verdict_of(findings: Sequence[Finding]) -> Verdict:
    """Return the findings, the worst first, under a headline that counts the serious ones."""
    found = in_order(findings)
    serious = sum(each.level in (BAD, WARNING) for each in found)
    level = found[0].level if serious else GOOD
    headline_count = f"{serious} thing{'s' * (serious != 1)}"
    headline = {BAD: f"{headline_count} to mend", WARNING: f"{headline_count} to look at"}.get(level, "Nothing to mend")
    return Verdict(level, headline, found)


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: ORDER.index(each.level))


def refused(answers: Answers) -> Iterator[Finding]:
    rows = [row for row in answers.by_name["refused"].dicts() if row["verdict"] == "refused"]
    for role in "client", "broker":
        theirs = [row for row in rows if row["role"] == role]
        if theirs:
            asking = f"{counted(len(theirs), role)}{named(theirs)}"
            yield Finding(NOTE, f"Kafka {rows[0]['release']} would refuse requests of {asking}.", "refused")


def unread(answers: Answers) -> Iterator[Finding]:
    kinds = kinds_of(answers.by_name["lost"])
    del kinds[UNANSWERED]  # such a request was read completely
    if kinds:
        texts = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
        yield Finding(NOTE, f"Not everything could be read: {texts}.", "lost")
    yield from unanswered(answers)


def unanswered(answers: Answers) -> Iterator[Finding]:
    if count := kinds_of(answers.by_name["lost"])[UNANSWERED]:
        yield Finding(NOTE, f"{counted(count, 'request')} without a response in the files.", "lost")


def named(rows: Sequence[dict[str, Any]]) -> str:
    """Name the clients of rows behind a count, the first few of many; "": no row says who."""
    names = list(dict.fromkeys(row["client_id"] or "(no client id)" for row in rows if "client_id" in row))
    return f": {few_of(names, NAMED)}" if names else ""


def kinds_of(answered: AnsweredQuestion) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for row in answered.dicts():
        kinds[row["event"]] += row["events"]
    return kinds

"""The verdict: what is worst stands first, and no outage is made of what is none."""

from dataclasses import replace
from typing import Any

from kcli import diagnose
from kcli.capture.captured_time import CapturedTime
from kcli.diagnose import Diagnosis, Unjudged
from kcli.diagnose.finding_text import finding_text
from kcli.diagnose.overview import Overview
from kcli.report.asking import AnsweredQuestion, Answers
from kcli.report.questions import FOUND, QUESTIONS, UNANSWERED
from kcli.report.verdict import judge, judge_captures

TOTALS = {"exchanges": 1000, "with_errors": 10}


def answers(**given: list[dict[str, Any]]) -> Answers:
    rows = {"totals": [TOTALS]} | given
    made = {}
    for question in (*QUESTIONS, FOUND):
        found = rows.get(question.name, [])
        columns = tuple(found[0]) if found else ("lost", "not_granted", "changes")
        made[question.name] = AnsweredQuestion(question, columns, [tuple(row.values()) for row in found])
    return Answers(made, 1, 2, 1)


def found(finding: str, severity: str, subject: str = "{}") -> dict[str, Any]:
    """A row of the pipeline's findings."""
    evidence = '{"from": "2026-11-22T12:31:18.4Z", "to": "2026-11-22T12:31:19.1Z"}'
    row = {"finding": finding, "severity": severity, "subject": subject, "evidence": evidence, "text": "late"}
    return row | {"ruled_out": "loss", "advice": "wait", "see": "kcli stats FILE...", "source": "s"}


def test_nothing_found() -> None:
    verdict = judge(answers())
    assert verdict.level == "good" and verdict.headline.endswith(" checks: nothing found") and not verdict.findings


def test_a_fleet_is_judged_by_what_was_found_as_its_tables_were_made() -> None:
    """Errors, throttling, rebalances and all else are judged once, by the rules of diagnose."""
    rows = [found("slow-broker", "critical", '{"broker": ["3"]}'), found("throttled", "warning")]
    errors = [{"error": "NOT_LEADER_OR_FOLLOWER", "answers": 1000}]
    verdict = judge(answers(findings=rows, errors=errors, throttling=[{"client_id": "c", "longest_wait_ms": 1200}]))
    assert verdict.level == "bad" and verdict.headline.endswith(" checks: 1 critical, 1 warning")
    assert [each.level for each in verdict.findings] == ["bad", "warning"]
    told = verdict.findings[0].full
    assert told is not None and told.text == "late; broker 3; 12:31:18 to 12:31:19Z"
    assert told.details == (("do", "wait"), ("ruled out", "loss")) and told.see == "kcli stats FILE..."


def test_brokers_stand_apart_from_refused_clients() -> None:
    refused = [{"role": role, "verdict": "refused", "release": "4.4"} for role in ("client", "broker", "broker")]
    levels = {each.text: each.level for each in judge(answers(refused=refused)).findings if each.section == "refused"}
    assert levels == {
        "Kafka 4.4 would refuse requests of 1 client.": "note",
        "Kafka 4.4 would refuse requests of 2 brokers.": "note",
    }


def test_who_would_be_refused_is_named() -> None:
    refused = [
        {"role": "client", "verdict": "refused", "release": "4.4", "client_id": name}
        for name in ("a", "", "b", "c", "a")
    ]
    [finding] = [each for each in judge(answers(refused=refused)).findings if each.section == "refused"]
    assert finding.text == "Kafka 4.4 would refuse requests of 5 clients: a, (no client id), b and 1 more."


def test_what_could_not_be_read_is_noted() -> None:
    lost = [{"event": "missing bytes", "events": 3}, {"event": UNANSWERED, "events": 2}]
    finding, unanswered = judge(answers(lost=lost)).findings
    expected = ("note", "Not everything could be read: missing bytes 3.", "lost")
    assert (finding.level, finding.text, finding.section) == expected
    assert unanswered.text == "2 requests without a response in the files."
    diagnosis = Diagnosis(
        [], [], 49, [Unjudged("9 bytes", "-B", unread=True)], True, Overview(CapturedTime(0, 1), 1, 1, 1)
    )
    assert [each.text for each in judge_captures(answers(lost=lost), diagnosis).findings] == [
        "Not judged: 9 bytes; remedy: -B.",
        unanswered.text,
    ]


def test_no_kafka() -> None:
    none = answers(totals=[{"exchanges": 0, "with_errors": 0}])
    verdict = judge(Answers(none.by_name, None, None, 1))
    assert verdict.headline == "No Kafka in here" and verdict.level == "note"


def test_a_capture_is_judged_by_diagnose() -> None:
    slow = diagnose.Finding(
        "slow-broker", "critical", {"broker": ["3", "b:9092"]}, {}, advice="look at its disk", text="49 answers late"
    )
    diagnosis = Diagnosis(
        [slow], [], 49, [Unjudged("TLS", "--key-log")], True, Overview(CapturedTime(0, 10**9), 10, 1, 1)
    )
    verdict = judge_captures(answers(), diagnosis)
    assert verdict.level == "bad" and verdict.headline == "49 checks over 10 exchanges in 1.0 s: 1 critical"
    assert [each.text for each in verdict.findings] == [
        "49 answers late; brokers 3, b:9092",
        "Not judged: TLS; remedy: --key-log.",
    ]
    assert verdict.findings[0].full == finding_text(slow)  # what a terminal shows, too
    quiet = judge_captures(answers(), replace(diagnosis, findings=[]))
    assert quiet.headline.endswith("1.0 s: nothing found") and quiet.level == "good"
    info, unread = [replace(slow, severity="info")], Overview(CapturedTime(0, 1), 0, 1, 1)
    # Not green: nothing was read.
    assert judge_captures(answers(), replace(diagnosis, findings=info, overview=unread)).level == "note"
    assert judge_captures(answers(), replace(diagnosis, findings=[], judged=False)).headline == "No Kafka in here"
    sealed = [Unjudged("18 connections of TLS 1.3 to b:9093", "--key-log FILE")]
    encrypted = judge_captures(answers(), replace(diagnosis, findings=[], judged=False, unjudged=sealed))
    assert encrypted.headline == "Nothing to judge: 18 connections of TLS 1.3 to b:9093" and encrypted.level == "note"
    assert [each.text for each in encrypted.findings] == ["To read them: --key-log FILE."]

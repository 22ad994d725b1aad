"""The verdict: what is worst stands first, and no outage is made of what is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kcli import diagnose
from kcli.diagnose import Diagnosis, Unjudged
from kcli.diagnose.overview import Overview
from kcli.diagnose.telling import told
from kcli.report.asking import Answers, Asked
from kcli.report.questions import QUESTIONS
from kcli.report.verdict import judge, judge_captures

TOTALS = {"exchanges": 1000, "with_errors": 10}


def answers(**given: list[dict[str, Any]]) -> Answers:
    rows = {"totals": [TOTALS]} | given
    made = {}
    for question in QUESTIONS:
        found = rows.get(question.name, [])
        columns = tuple(found[0]) if found else ("lost", "not_granted", "changes")
        made[question.name] = Asked(question, columns, [tuple(row.values()) for row in found])
    return Answers(made, 1, 2, 1)


def leader(role: str, not_recovered: int, lost: float | None) -> dict[str, Any]:
    return {"role": role, "changes": 2, "not_recovered": not_recovered, "lost_max_ms": lost}


def test_nothing_to_mend() -> None:
    verdict = judge(answers())
    assert verdict.level == "good" and verdict.headline == "Nothing to mend"
    assert [each.text for each in verdict.findings] == ["No answer had an error."]


def test_few_errors_are_a_warning_many_are_bad() -> None:
    errors = [{"error": "NOT_LEADER_OR_FOLLOWER", "answers": 10}]
    assert judge(answers(errors=errors)).level == "warning"
    many = answers(errors=errors, totals=[{"exchanges": 100, "with_errors": 10}])
    verdict = judge(many)
    assert verdict.headline == "1 thing to mend"
    assert verdict.findings[0].text == "10.0% of the exchanges had an error: NOT_LEADER_OR_FOLLOWER 10."


def test_errors_on_the_usual_way_are_no_warning() -> None:
    verdict = judge(answers(errors=[{"error": "MEMBER_ID_REQUIRED", "answers": 10}]))
    assert verdict.level == "good" and verdict.findings[0].level == "note"


def test_a_followers_promotion_is_no_outage() -> None:
    assert judge(answers(leaders=[leader("follower", 0, 12.5)])).level == "good"
    bad = judge(answers(leaders=[leader("client", 1, None), leader("client", 0, 12.5), leader("follower", 0, 99)]))
    assert [each.level for each in bad.findings[:2]] == ["bad", "warning"]
    assert bad.findings[1].text == "3 leader changes cost clients up to 12 ms each."


def test_brokers_stand_apart_from_refused_clients() -> None:
    refused = [{"role": role, "verdict": "refused", "release": "4.4"} for role in ("client", "broker", "broker")]
    levels = {each.text: each.level for each in judge(answers(refused=refused)).findings if each.section == "refused"}
    assert levels == {
        "Kafka 4.4 would refuse requests of 1 client.": "warning",
        "Kafka 4.4 would refuse requests of 2 brokers.": "note",
    }


def test_who_would_be_refused_is_named() -> None:
    refused = [
        {"role": "client", "verdict": "refused", "release": "4.4", "client_id": name}
        for name in ("a", "", "b", "c", "a")
    ]
    [finding] = [each for each in judge(answers(refused=refused)).findings if each.section == "refused"]
    assert finding.text == "Kafka 4.4 would refuse requests of 5 clients: a, (no client id), b and 1 more."


def test_each_section_is_there() -> None:
    given = answers(
        throttling=[{"client_id": "c", "longest_wait_ms": 1200}],
        sessions=[{"lost": 1, "not_granted": 2}],
        groups=[{"group_id": "g", "rebalances": 7}],
        conversions=[{"client_id": "c"}],
        lost=[{"event": "gap", "events": 3}],
    )
    texts = [each.text for each in judge(given).findings]
    assert "1 client throttled, for up to 1,200 ms." in texts
    assert "1 fetch named a session that the broker had lost." in texts
    assert "1 group rebalanced again and again; g: 7 times." in texts
    assert "Not everything could be read: gap 3." in texts
    assert {each.section for each in judge(given).findings} <= {each.name for each in QUESTIONS}


def test_no_kafka() -> None:
    none = answers(totals=[{"exchanges": 0, "with_errors": 0}])
    verdict = judge(Answers(none.by_name, None, None, 1))
    assert verdict.headline == "No Kafka in here" and verdict.level == "note"


def test_a_capture_is_judged_by_diagnose() -> None:
    slow = diagnose.Finding(
        "slow-broker", "critical", {"broker": ["3", "b:9092"]}, {}, advice="look at its disk", text="49 answers late"
    )
    found = Diagnosis([slow], [], 49, [Unjudged("TLS", "--key-log")], True, Overview(0, 1.0, 10, 1, 1))
    verdict = judge_captures(answers(), found)
    assert verdict.level == "bad" and verdict.headline == "49 checks over 10 exchanges in 1.0 s: 1 critical"
    assert [each.text for each in verdict.findings] == [
        "49 answers late; brokers 3, b:9092",
        "Not judged: TLS; remedy: --key-log.",
    ]
    assert verdict.findings[0].told == told(slow)  # what a terminal shows, too
    assert judge_captures(answers(), replace(found, findings=[])).headline.endswith("1.0 s: nothing found")
    assert judge_captures(answers(), replace(found, findings=[], judged=False)).headline == "No Kafka in here"
    sealed = [Unjudged("18 connections of TLS 1.3 to b:9093", "--key-log FILE")]
    unread = judge_captures(answers(), replace(found, findings=[], judged=False, unjudged=sealed))
    assert unread.headline == "Nothing to judge: 18 connections of TLS 1.3 to b:9093" and unread.level == "note"
    assert unread.findings[0].text == "Not judged: 18 connections of TLS 1.3 to b:9093; remedy: --key-log FILE."

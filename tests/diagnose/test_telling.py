"""What is said of a finding."""

from __future__ import annotations

import pytest

from kcli.diagnose.telling import Period, time_text, told
from kcli.finding import Finding


@pytest.mark.parametrize(
    ("last", "dated", "words"),
    [
        ("12:31:18.9Z", False, "; 12:31:18Z"),
        ("12:31:19.1Z", False, "; 12:31:18 to 12:31:19Z"),
        ("12:32:19.1Z", False, "; 12:31:18 to 12:32:19Z"),
        ("12:32:19.1Z", True, "; 2026-11-22 12:31:18 to 2026-11-22 12:32:19Z"),
    ],
)
def test_a_capture_of_more_than_a_day_needs_dates(last: str, dated: bool, words: str) -> None:
    evidence = {"from": "2026-11-22T12:31:18.4Z", "to": f"2026-11-22T{last}"}
    assert time_text(Finding("f", "info", {}, evidence, ""), Period(dated)) == words
    assert time_text(Finding("f", "info", {}, {}, ""), Period(dated)) == ""


def test_what_is_seen_at_the_end_may_go_on() -> None:
    found = Finding("f", "info", {}, {"from": "2026-11-22T12:31:18.4Z", "to": "2026-11-22T12:31:59.1Z"}, "")
    assert time_text(found, Period(ending="2026-11-22T12:31:59.0Z")) == "; 12:31:18Z to the end"
    assert time_text(found, Period(ending="2026-11-22T12:32:00.0Z")) == "; 12:31:18 to 12:31:59Z"


def test_all_that_a_finding_says_is_told() -> None:
    evidence = {"from": "2026-11-22T12:31:18.4Z", "to": "2026-11-22T12:31:19.1Z"}
    found = Finding("f", "warning", {"topic": "a"}, evidence, "wait", "a is slow", ruled_out="loss", see="kcli stats x")
    said = told(found)
    assert (said.finding, said.severity, said.text) == ("f", "warning", "a is slow; 12:31:18 to 12:31:19Z")
    assert said.details == (("do", "wait"), ("ruled out", "loss")) and said.see == "kcli stats x"
    found.severity = "info"  # nothing is wrong that could have other causes
    assert told(found).details == (("do", "wait"),)


def test_a_subject_that_the_text_does_not_name_is_told() -> None:
    said = told(Finding("f", "warning", {"user": "bob", "partition": ["a-0", "a-1"]}, {}, "", "logins refused"))
    assert said.text == "logins refused; user bob; partitions a-0, a-1"
    assert told(Finding("f", "warning", {"user": "bob"}, {}, "", "bob is refused")).text == "bob is refused"
    many = Finding("f", "warning", {"client": ["a", "b", "c", "d", "e"]}, {}, "", "refused")
    assert told(many).text == "refused; clients a, b, c and 2 more"

"""What is said of a finding."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from kcli.capture.captured_time import CapturedTime
from kcli.cli.main import main
from kcli.diagnose import Diagnosis, diagnose
from kcli.diagnose.finding_text import Period, checked_text, finding_text, time_text, unjudged_text
from kcli.diagnose.overview import Overview
from kcli.finding import Finding
from tests.capture.wires import DATA as CAPTURED
from tests.capture.wires import SAMPLES


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
    said = finding_text(found)
    assert (said.finding, said.severity, said.text) == ("f", "warning", "a is slow; 12:31:18 to 12:31:19Z")
    assert said.details == (("do", "wait"), ("ruled out", "loss")) and said.see == "kcli stats x"
    found.severity = "info"  # nothing is wrong that could have other causes
    assert finding_text(found).details == (("do", "wait"),)


def test_a_subject_that_the_text_does_not_name_is_told() -> None:
    said = finding_text(Finding("f", "warning", {"user": "bob", "partition": ["a-0", "a-1"]}, {}, "", "logins refused"))
    assert said.text == "logins refused; user bob; partitions a-0, a-1"
    assert finding_text(Finding("f", "warning", {"user": "bob"}, {}, "", "bob is refused")).text == "bob is refused"
    many = Finding("f", "warning", {"client": ["a", "b", "c", "d", "e"]}, {}, "", "refused")
    assert finding_text(many).text == "refused; clients a, b, c and 2 more"


def test_what_was_checked_is_told_with_what_was_found() -> None:
    size = Overview(CapturedTime(0, 61_260_000_000), 1, 1, 1)
    found = Diagnosis([], [], 51, [], True, size)
    assert checked_text(found) == "51 checks over 1 exchange in 61.3 s: nothing found"
    several = [Finding("f", severity, {}, {}, "") for severity in ("critical", "warning", "warning", "info")]
    assert checked_text(replace(found, findings=several)).endswith("s: 1 critical, 2 warnings, 1 info")
    none = replace(found, judged=False, overview=replace(size, exchanges=0))
    assert checked_text(none) == "Nothing could be judged: no exchange of Kafka's in 61.3 s"


def test_a_capture_that_ends_within_a_packet_is_told_beside_its_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard output, too, where a report or a ticket is cut from."""
    path = tmp_path / "cut.pcap"
    whole = (SAMPLES / "java44-txn.pcap").read_bytes()
    path.write_bytes(whole[:-20])
    assert main([str(path)]) == 3
    said = capsys.readouterr()
    assert f"not judged: a part of a damaged file: {path}: the file ends in the middle of a packet" in said.out
    assert said.err.startswith(f"kcli: {path}: the file ends in the middle of a packet")
    path.write_bytes(whole)
    assert not [each for each in diagnose([str(path)]).unjudged if "damaged" in each.what]


def test_bytes_that_cannot_be_read_have_a_command_that_shows_them(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURED / "snaplen-96.pcap")
    [part] = [each for each in diagnose([path]).unjudged if each.see]
    assert unjudged_text(part).endswith("; remedy: whole packets (tcpdump -s 0)")
    assert main([*shlex.split(part.see)[1:], "-q"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) > 10 and "reason" in shown[0]

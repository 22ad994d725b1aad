"""`kcli diagnose`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcli.cli.diagnose.text import Period, time_text
from kcli.cli.main import main
from kcli.finding import Finding
from tests.diagnose.captured import DATA

Capture = pytest.CaptureFixture[str]
BAD = str(DATA / "busy-fetch-pricing.pcap.zst")


def test_a_finding_takes_four_lines_and_the_end_says_what_was_checked(capsys: Capture) -> None:
    assert main(["diagnose", BAD, "-q"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("warning   busy-fetch  pricing-cache-1 (127.0.0.1:")
    assert lines[0].endswith("; 12:31:18Z to the end")
    assert lines[1].strip().startswith("do: set fetch.max.wait.ms to 500") and lines[2].strip().startswith(
        "ruled out: "
    )
    assert lines[3].strip() == f"see: kcli stats {BAD} --by client --by api"
    assert "checks over" in lines[4] and lines[4].endswith(": 1 warning.")


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


def test_jsonl_is_a_finding_a_line(capsys: Capture) -> None:
    assert main(["diagnose", BAD, "-q", "--format", "jsonl"]) == 1
    [found] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["finding"] == "busy-fetch" and found["severity"] == "warning"
    assert found["subject"]["client"] == "pricing-cache-1" and found["evidence"]["empty"] > 500 and found["advice"]


def test_json_also_has_what_could_not_be_judged(capsys: Capture, samples: Path) -> None:
    assert main(["diagnose", str(samples / "java44-txn.pcap"), "-q", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"] == [] and found["checked"] > 40 and found["exchanges"] > 50
    assert any("longer" in each["what"] for each in found["not_judged"])


def test_nothing_found_is_no_all_well(capsys: Capture, samples: Path) -> None:
    assert main(["diagnose", str(samples / "java44-consume-classic.pcap"), "-q"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_where_nothing_can_be_judged_the_exit_code_says_so(capsys: Capture, samples: Path) -> None:
    assert main(["diagnose", str(samples / "tls.pcap"), "-q", "--port", "9"]) == 3
    assert "Nothing could be judged" in capsys.readouterr().out

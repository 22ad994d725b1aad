"""`kcli diagnose`."""

import json
from pathlib import Path

import pytest

from kcli.capture.captured_time import CapturedTime
from kcli.cli.diagnose.text import finding_lines, text_lines
from kcli.cli.main import main
from kcli.diagnose import Diagnosis
from kcli.diagnose.finding_text import by_kind, others_text
from kcli.diagnose.overview import Overview
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


def test_a_command_that_is_too_long_for_its_line_begins_one() -> None:
    found = Finding("f", "warning", {}, {}, "wait", "a text", see="kcli stats night.pcap --by client --by connection")
    lines = list(finding_lines(found, 60, colour=False, whole=True))
    assert lines[-2:] == ["          see:", "  kcli stats night.pcap --by client --by connection"]
    assert list(finding_lines(found, None, colour=False, whole=True))[-1] == f"          see: {found.see}"


def findings_of_two_kinds() -> list[Finding]:
    """Two clients alike, one with advice of its own, and a finding of another kind between them."""
    return [
        Finding(
            "lagging", "warning", {"client": "a", "topic": "t"}, {}, "read faster", "a falls behind", see="stats a"
        ),
        Finding("churn", "warning", {"client": "b"}, {}, "connect once", "b connects", see="stats b"),
        Finding(
            "lagging", "warning", {"client": "c", "topic": "t"}, {}, "read faster", "c falls behind", see="stats c"
        ),
        Finding("lagging", "warning", {"client": "d", "topic": "t"}, {}, "read less", "d falls behind", see="stats d"),
    ]


def test_findings_of_a_kind_stand_together_and_repeat_nothing() -> None:
    size = Overview(CapturedTime(), 1, 1, 1)
    lines = [*text_lines(Diagnosis(findings_of_two_kinds(), [], 61, [], True, size), None, colour=False)]
    assert [line.strip() for line in lines[:-1]] == [
        "warning   lagging  a falls behind; topic t", "do: read faster", "see: stats a",
        "warning   lagging  c falls behind; topic t",
        "warning   lagging  d falls behind; topic t", "do: read less", "see: stats d",
        "warning   churn  b connects", "do: connect once", "see: stats b",
    ]  # fmt: skip


def test_the_first_of_a_kind_names_the_others() -> None:
    first, *_ = groups = by_kind(findings_of_two_kinds())
    assert [len(each) for each in groups] == [3, 1]
    assert others_text(first) == "clients c, d" and others_text(groups[1]) == ""
    lines = [*finding_lines(first[0], None, colour=False, whole=True, also=others_text(first))]
    assert [line.strip() for line in lines[1:]] == ["also: clients c, d", "do: read faster", "see: stats a"]


def test_jsonl_is_a_finding_a_line(capsys: Capture) -> None:
    assert main(["diagnose", BAD, "-q", "--format", "jsonl"]) == 1
    [found] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["finding"] == "busy-fetch" and found["severity"] == "warning"
    assert found["subject"]["client"] == "pricing-cache-1" and found["evidence"]["empty"] > 500 and found["advice"]


def test_json_also_has_what_could_not_be_judged(capsys: Capture, samples: Path) -> None:
    assert main(["diagnose", str(samples / "old-librdkafka-on-3.9.pcap"), "-q", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["findings"] == [] and found["checked"] > 40 and found["exchanges"] > 40
    assert any("longer" in each["what"] for each in found["not_judged"])


def test_nothing_found_is_no_all_well(capsys: Capture, samples: Path) -> None:
    assert main(["diagnose", str(samples / "java44-consume-classic.pcap"), "-q"]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_where_nothing_can_be_judged_the_exit_code_says_so(capsys: Capture, samples: Path) -> None:
    assert main(["diagnose", str(samples / "tls.pcap"), "-q", "--port", "9"]) == 3
    assert "Nothing could be judged" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--group=pricing-cach", "no group pricing-cach; groups here: pricing-report, pricing-cache"),
        ("--client=pricing", "no client pricing; clients here: pricing-cache-1, pricing-report-1, pricing-feed"),
        ("--topic=prices", "no topic prices; topics here: pricing"),
    ],
)
def test_a_name_that_is_not_there_is_no_clean_bill_of_health(option: str, said: str, capsys: Capture) -> None:
    assert main(["diagnose", BAD, "-q", option]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith(f"nothing matches: {said}; looked at ") and "nothing found" not in shown.out
    for form in ("json", "jsonl"):
        assert main(["diagnose", BAD, option, "--format", form]) == 1
        shown = capsys.readouterr()
        assert not shown.out and f"kcli: nothing matches: {said}\n" in shown.err


def test_the_last_line_says_whose_findings_these_are(capsys: Capture) -> None:
    assert main(["diagnose", BAD, "-q", "--client", "pricing-cache-1", "--topic", "pricing"]) == 1
    assert ": 1 warning of client pricing-cache-1, topic pricing.\n" in capsys.readouterr().out
    assert main(["diagnose", BAD, "-q", "--group", "pricing-report"]) == 0
    assert ": nothing found of group pricing-report.\n" in capsys.readouterr().out


def test_the_page_is_written_too(capsys: Capture, tmp_path: Path) -> None:
    """It has the findings that are printed, and is the page of `kcli report`."""
    pytest.importorskip("jinja2")
    page, alone = tmp_path / "night.html", tmp_path / "alone.html"
    assert main(["diagnose", BAD, "-q", "--report", str(page)]) == 1
    assert capsys.readouterr().out.startswith("warning   busy-fetch  ")
    assert main(["report", BAD, "-q", "-o", str(alone)]) == 0
    assert page.read_text() == alone.read_text()
    assert main(["diagnose", BAD, "-q", "--client", "pricing-feed", "--report", str(page)]) in (0, 1)
    assert "busy-fetch</b>" not in page.read_text() and "busy-fetch</b>" in alone.read_text()
    assert main(["diagnose", BAD, "-q", "--client", "nobody", "--report", str(page)]) == 1
    assert '<div class="verdict note">' in page.read_text() and "no client nobody" in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--report", BAD], "is the input"),
        (["--report", "-"], "standard output has the findings"),
        (["--report", "x.html", "-o", "x.html"], "one file for two outputs"),
        (["--report", "x.html", "--follow"], "not with --follow"),
    ],
)
def test_what_a_page_can_not_be(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", BAD, "-q", *words]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_time_chooses_findings(capsys: Capture) -> None:
    assert main(["diagnose", BAD, "-q", "--since", "+1.5", "--until", "12:31:20"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "busy-fetch" in lines[0] and lines[-1].endswith(
        ": 1 warning since 2026-11-22T12:31:18.401823Z until 2026-11-22T12:31:20.000000Z."
    )
    assert main(["diagnose", BAD, "-q", "--until", "+0.5s"]) == 0
    assert ": nothing found until 2026-11-22T12:31:17.401823Z." in capsys.readouterr().out
    assert main(["diagnose", BAD, "--since", "13:00", "--format", "jsonl"]) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith(
        "kcli: nothing matches: no packet since 2026-11-22T13:00:00.000000Z; "
    )


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", BAD, "--where"], ["compare", BAD, BAD, "--where"], ["sql", "SELECT 1", BAD, "--where"],
        ["replay", BAD, "--where"],
        *(
            [*command, option]
            for command in (["redact", BAD, "-o", "x"], ["top", BAD], ["pipeline", "run"])
            for option in ("--where", "--since", "--until")
        ),
    ],
)  # fmt: skip
def test_options_that_a_command_lacks_are_refused_with_the_reason(words: list[str], capsys: Capture) -> None:
    assert main([*words, "09:00"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kcli: {words[-1]}: ") and "No such option" not in said and said.count("\n") == 1

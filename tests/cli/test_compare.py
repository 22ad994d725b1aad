"""`kcli compare`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcli.cli.main import main

Capture = pytest.CaptureFixture[str]
DATA = Path(__file__).parents[1] / "compare" / "data"
BEFORE, AFTER = (str(DATA / f"linger-{ms}.pcap.zst") for ms in (0, 20))


def test_a_change_is_a_line_and_the_end_says_what_was_compared(capsys: Capture) -> None:
    assert main(["compare", BEFORE, AFTER, "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"before          {BEFORE}: 5.0 s, 3,237 exchanges, 1 broker, ")
    assert any(
        line.startswith("better          records of a Produce to orders: 1.03 -> 2.89 records") for line in lines
    )
    assert lines[-1].endswith("2 better, 2 changed; the rest within noise.")


def test_worse_is_exit_code_1_and_each_format_says_so(capsys: Capture) -> None:
    assert main(["compare", AFTER, BEFORE, "-q", "--format", "jsonl"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"verdict": "worse", "measure": "batching"}.items() <= lines[0].items()
    assert lines[0]["of"] == {"topic": "orders"} and lines[0]["before"] > lines[0]["after"] and lines[0]["p"] < 0.01
    assert any(each.get("kind") == "finding" for each in lines)


def test_json_also_has_what_stayed_the_same(capsys: Capture) -> None:
    assert main(["compare", BEFORE, BEFORE, "-q", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert not found["worse"] and found["changes"] and {each["verdict"] for each in found["changes"]} == {"same"}
    assert found["before"] == found["after"] and not found["differences"] and not found["not_comparable"]


def test_where_nothing_can_be_compared_the_exit_code_says_so(capsys: Capture, samples: Path) -> None:
    short = str(samples / "java44-txn.pcap")
    assert main(["compare", short, short, "-q"]) == 3
    said = capsys.readouterr()
    assert "too short" in said.out and said.err.startswith("kcli: nothing could be compared: before is 2.1 s long")


def test_a_file_that_is_not_there_is_one_line(capsys: Capture) -> None:
    assert main(["compare", BEFORE, "none.pcap", "-q"]) == 3
    assert capsys.readouterr().err.count("\n") == 1

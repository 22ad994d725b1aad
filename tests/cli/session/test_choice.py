"""Which sessions and findings are shown: all are followed."""

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from tests.capture.wires import DATA, SAMPLES

TXN = str(SAMPLES / "java44-consume-classic.pcap")
BOOT = str(DATA / "kraft-boot.pcap.zst")
Capture = pytest.CaptureFixture[str]


def rows(capsys: Capture, code: int, *words: str) -> list[dict[str, Any]]:
    assert main(["fetch-session", *words, "--format", "jsonl", "-q"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("path", [TXN, BOOT])
def test_explain_shows_those_that_are_chosen(path: str, capsys: Capture) -> None:
    every = rows(capsys, 0, "explain", path)
    assert rows(capsys, 0, "explain", path, "--client", "*") == every
    name = every[0]["clientId"]
    assert rows(capsys, 0, "explain", path, "--client", name) == [row for row in every if row["clientId"] == name]
    sessions = [row for row in every if row.get("connection")]
    one = sessions[0]["connection"]
    assert [row for row in rows(capsys, 0, "explain", path, "--connection", one) if row.get("connection")] == [
        row for row in sessions if row["connection"] == one
    ]
    assert rows(capsys, 0, "explain", path, "--until", "2999-01-01", "--since", "+0") == every
    assert rows(capsys, 1, "explain", path, "--until", "+0") == []
    assert rows(capsys, 1, "explain", path, "--since", "2999-01-01") == []
    assert rows(capsys, 0, "explain", path, "--api", "Fetch") == every
    assert rows(capsys, 1, "explain", path, "--api", "Metadata") == []
    slowest = max(row["latencyMs"]["max"] for row in every)
    slow = rows(capsys, 0, "explain", path, "--slower-than", str(slowest - 1))
    assert slow == [row for row in every if row["latencyMs"]["max"] > slowest - 1]
    failed = [row for row in every if row["errors"]]
    assert rows(capsys, 0 if failed else 1, "explain", path, "--errors") == failed


def test_a_topic_by_its_id(capsys: Capture) -> None:
    assert len(rows(capsys, 0, "explain", TXN, "--topic", "orders-l*")) == 1
    assert rows(capsys, 1, "explain", TXN, "--topic", "orders") == []


def test_a_condition(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("duckdb")
    every = rows(capsys, 0, "explain", BOOT)
    name = every[0]["clientId"]
    assert rows(capsys, 0, "explain", BOOT, "--where", f"client_id = '{name}'") == [
        row for row in every if row["clientId"] == name
    ]
    assert rows(capsys, 0, "explain", TXN, "--where", "latency_ms > 1") == rows(capsys, 0, "explain", TXN)
    assert rows(capsys, 1, "explain", TXN, "--where", "api = 'Metadata'") == []
    lines = tmp_path / "lines.jsonl"
    assert main(["decode", "pcap", TXN, "--format", "jsonl", "-o", str(lines), "-q"]) == 0
    assert main(["fetch-session", "explain", str(lines), "--where", "latency_ms > 1"]) == 2
    assert "lines.jsonl has lines of JSON without columns" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--client", "lab-java"], ["--slower-than", "400"], ["--topic", "orders-*"]])
def test_lines_are_chosen_as_captures_are(words: list[str], tmp_path: Path, capsys: Capture) -> None:
    lines = tmp_path / "lines.jsonl"
    assert main(["decode", "pcap", TXN, "--format", "jsonl", "-o", str(lines), "-q"]) == 0
    assert len(rows(capsys, 0, "explain", str(lines), *words)) == len(rows(capsys, 0, "explain", TXN, *words)) == 1
    assert rows(capsys, 1, "explain", str(lines), "--client", "nobody") == []


@pytest.mark.parametrize("verb", ["explain", "lint"])
def test_nothing_is_chosen(verb: str, capsys: Capture) -> None:
    assert main(["fetch-session", verb, TXN, "--client", "nobody"]) == 1
    assert "nothing matches; clients here: lab-java" in capsys.readouterr().err
    assert main(["fetch-session", verb, TXN, "--client", "nobody", "-q"]) == 1
    assert capsys.readouterr().err == ""
    assert main(["fetch-session", verb, TXN, "--api", "Metadata"]) == 1
    assert "nothing matches; APIs here: FETCH\n" in capsys.readouterr().err
    assert main(["fetch-session", verb, TXN, "--since", "soon"]) == 2
    assert "--since soon: no time (2026-11-21T09:14:02.5Z" in capsys.readouterr().err


def test_no_session_of_that_id(capsys: Capture) -> None:
    number = rows(capsys, 0, "explain", TXN)[0]["sessionId"]
    assert len(rows(capsys, 0, "explain", TXN, "--session", str(number))) == 1
    assert main(["fetch-session", "explain", TXN, "--session", "7"]) == 1
    assert f"nothing matches; sessions here: {number}\n" in capsys.readouterr().err


def test_lint_counts_what_it_shows(capsys: Capture) -> None:
    assert main(["fetch-session", "lint", TXN, "--client", "lab-*"]) == 0
    assert "3 of 3 fetches, 1 of 1 session: " in capsys.readouterr().err
    assert main(["fetch-session", "lint", TXN, "--slower-than", "400"]) == 0
    assert "1 of 3 fetches, 1 of 1 session: " in capsys.readouterr().err

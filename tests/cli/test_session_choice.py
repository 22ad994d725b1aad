"""Which sessions and findings are shown: all are followed."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("verb", ["explain", "lint"])
def test_nothing_is_chosen(verb: str, capsys: Capture) -> None:
    assert main(["fetch-session", verb, TXN, "--client", "nobody"]) == 1
    assert "nothing matches; clients here: lab-java" in capsys.readouterr().err
    assert main(["fetch-session", verb, TXN, "--client", "nobody", "-q"]) == 1
    assert capsys.readouterr().err == ""
    assert main(["fetch-session", verb, TXN, "--since", "soon"]) == 2
    assert "--since soon: no time (2026-11-21T09:14:02.5Z" in capsys.readouterr().err


def test_lint_counts_what_it_shows(capsys: Capture) -> None:
    assert main(["fetch-session", "lint", TXN, "--client", "lab-*"]) == 0
    assert " of " in capsys.readouterr().err

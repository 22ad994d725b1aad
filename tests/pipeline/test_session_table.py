"""Sessions against `kcli fetch-session explain`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.session_table import sessions
from tests.pipeline.outputs import named, rows_of, run_here


@pytest.mark.parametrize("name", ["java44-consume-classic.pcap", "kcat-codecs.pcap"])
def test_sessions_are_those_that_explain_tells(
    name: str, samples: Path, output: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kcli.cli.main import main

    run_here(monkeypatch, [samples / name], output, shares=3)
    rows = [row | {"event": None} for row in rows_of(output, "exchanges") if row["api_key"] in (1, 2, 3, 9)]
    rows.sort(key=lambda row: row["completed_ns"])
    by_server: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_server.setdefault(row["server"], []).append(row)
    made = [each for part_ in by_server.values() for each in named("fetch_sessions", sessions(iter(part_)))]
    assert main(["fetch-session", "explain", str(samples / name), "--format", "jsonl"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    names = {"session_id": "sessionId", "fetches": "fetches", "full": "full", "request_bytes": "requestBytes",
             "response_bytes": "responseBytes", "records_bytes": "recordsBytes",
             "empty_polls": "emptyPolls"}  # fmt: skip
    ours = sorted([row[key] for key in names] for row in made)
    assert ours == sorted([each[key] for key in names.values()] for each in told if "sessionId" in each)
    assert ours

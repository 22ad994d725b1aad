"""Tables across connections, from rows made by hand; and sessions against `kcli fetch-session explain`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.across import changes, client_rows, sessions, snapshots
from kcli.pipeline.tables import TABLES
from tests.pipeline.outputs import rows_of, run_here

MS = 1_000_000


def named(table: str, rows: Any) -> list[dict[str, Any]]:
    return [dict(zip(TABLES[table].names, row, strict=True)) for row in rows]


def outcome(at: int, error: int, server: str = "a:1", hint: int = -1, answers: int = 1) -> dict[str, Any]:
    return {
        "first_ns": at * MS, "first_request_ns": at * MS - 2 * MS, "last_ns": at * MS, "error": error, "server": server,
        "answers": answers, "hint_leader": hint, "hint_server": "b:1" if hint >= 0 else None, "client_id": "c",
        "client_address": "h", "api": "PRODUCE", "topic": "t", "partition": 0,
    }  # fmt: skip


def test_a_change_is_from_the_first_error_to_the_next_good_answer() -> None:
    rows = [outcome(1, 0), outcome(10, 6, answers=3), outcome(60, 6, "b:1"), outcome(100, 0, "c:1"), outcome(120, 0)]
    (row,) = named("leader_changes", changes(iter(rows)))
    assert (row["errors"], row["from_server"], row["to_server"], row["lost_ms"]) == (4, "a:1", "c:1", 90.0)
    assert (row["hint_sent"], row["hint_saves_ms"]) == (False, 88.0)


def test_a_hint_has_nothing_left_to_save() -> None:
    (row,) = named("leader_changes", changes(iter([outcome(10, 74, hint=2), outcome(15, 0, "b:1")])))
    assert (row["hint_sent"], row["hint_leader"], row["hint_server"], row["hint_saves_ms"]) == (True, 2, "b:1", 0.0)
    assert row["error"] == "FENCED_LEADER_EPOCH"


def test_a_change_without_an_end() -> None:
    (row,) = named("leader_changes", changes(iter([outcome(10, 6)])))
    assert (row["to_server"], row["recovered"], row["lost_ms"]) == (None, None, None)


def part(position: int, size: int, at: int, error: str | None = None) -> dict[str, Any]:
    return {
        "timestamp": datetime.fromtimestamp(at, UTC), "server": "s", "client": "c", "client_id": "i", "topic": "m",
        "partition": 0, "end_offset": 9, "epoch": 1, "position": position, "size_bytes": 100, "received_bytes": size,
        "error": error, "answered_ns": (at + 1) * 10**9,
    }  # fmt: skip


def test_a_snapshot_in_parts_one_of_them_twice() -> None:
    (row,) = named("quorum", snapshots(iter([part(0, 60, 1), part(0, 60, 2), part(60, 40, 3)])))
    assert (row["received_bytes"], row["requests"], row["complete"], row["seconds"]) == (100, 3, True, 3.0)


def test_a_snapshot_that_was_not_there() -> None:
    (row,) = named("quorum", snapshots(iter([part(0, 0, 1, "SNAPSHOT_NOT_FOUND")])))
    assert (row["complete"], row["errors"], row["size_bytes"]) == (False, "SNAPSHOT_NOT_FOUND", 0)


def use(version: int, software: str | None = None, negotiates: bool = False) -> dict[str, Any]:
    return {
        "client_id": "c", "address": "h", "software": software, "software_version": None, "negotiates": negotiates,
        "api_key": 1, "api_version": version, "requests": 5, "free": True,
    }  # fmt: skip


def test_clients_are_judged_as_audit_judges() -> None:
    counts = {("c", "h", None, None): 3}
    rows = named("clients", client_rows([use(2), use(12)], counts))
    assert [(row["api_version"], row["verdict"], row["connections"]) for row in rows] == [
        (2, "refused", 3),
        (12, "ok", 3),
    ]
    assert "takes" in rows[0]["reason"]
    assert rows[1]["reason"] is None


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

"""Exchanges and events: those of `kcli decode pcap --format jsonl`, value for value."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.tables.captured import CAPTURED
from tests.capture.wires import DATA, SAMPLES

CAPTURES = [
    *sorted(SAMPLES.glob("*.pcap*")),
    DATA / "mid-stream.pcap.zst",
    DATA / "kraft-boot.pcap.zst",
    DATA / "java44-admin.pcap.gz",
    DATA / "snaplen-96.pcap",
]


def lines_of(path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> list[dict[str, Any]]:
    assert main(["decode", "pcap", str(path), "--format", "jsonl", "--quiet"]) in (0, 3)
    return [json.loads(line) for line in capsysbinary.readouterr().out.splitlines()]


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_rows_are_the_lines_of_decode(
    path: Path, ask: Callable[..., Any], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = lines_of(path, capsysbinary)
    exchanges = ask("FROM exchanges", path)
    asked = [line for line in lines if "event" not in line]
    exchanges = [row for row in exchanges if row["request"] is not None]  # what is cut off has no line
    assert len(exchanges) == len(asked)
    for row, line in zip(exchanges, asked, strict=True):
        header = line["requestHeader"]
        assert list(row) == CAPTURED["exchanges"].names
        assert row["timestamp"] == instant(line["timestamp"]) and row["connection"] == line["connection"]
        assert f"{row['server']}-{row['client']}" == line["connection"]
        assert row["server"].rpartition(":")[0].strip("[]") == row["broker_address"]
        assert row["client"].rpartition(":")[0].strip("[]") == row["client_address"]
        assert json.loads(row["request_header"]) == header
        assert (row["api_key"], row["api_version"]) == (header["requestApiKey"], header["requestApiVersion"])
        assert (row["api"], row["correlation_id"]) == (header["requestApiKeyName"], header["correlationId"])
        assert row["client_id"] == header["clientId"]
        assert [row[name] and json.loads(row[name]) for name in ("request", "response")] == [
            line["request"], line["response"],
        ]  # fmt: skip
        assert row["request_bytes"] == line["requestBytes"] and row["response_bytes"] == line["responseBytes"]
        assert row["latency_ms"] == line["latencyMs"] and row["file"] == str(path)
        assert row["error"] == (row["errors"] or [None])[0]
    answer = [line for line in lines if "event" in line]
    events = ask("FROM events", path)
    assert len(events) == len(answer)
    for row, line in zip(events, answer, strict=True):
        assert list(row) == CAPTURED["events"].names
        names = {"timestamp", "connection", "event", "offset", "bytes", "reason"}
        assert {name: row[name] for name in names} == {name: line[name] for name in names} | {
            "timestamp": instant(line["timestamp"])
        }
        assert row["sender"] == line.get("sender") and row["file"] == str(path)


def test_several_are_read_as_one(ask: Callable[..., Any], samples: Path) -> None:
    paths = [samples / "kcat-codecs.pcap", samples / "java44-txn.pcap"]
    both = ask("SELECT file, count(*) AS n FROM exchanges GROUP BY ALL ORDER BY ALL", *paths)
    assert both == [{"file": str(path), "n": n} for path, n in zip(reversed(paths), (78, 77), strict=True)]
    assert ask("SELECT count(*) AS n FROM exchanges", *paths, ports=[1]) == [{"n": 0}]


def test_secrets_are_hidden(ask: Callable[..., Any], samples: Path) -> None:
    query = "SELECT request FROM exchanges WHERE api = 'SASL_AUTHENTICATE'"
    for row in ask(query, samples / "sasl-plain-scram.pcap"):
        assert json.loads(row["request"])["authBytes"].keys() == {"redacted"}
    shown = ask(query, samples / "sasl-plain-scram.pcap", secrets=True)
    assert shown and all(isinstance(json.loads(row["request"])["authBytes"], str) for row in shown)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_rows_are_the_same_where_no_message_is_read(path: Path, ask: Callable[..., Any]) -> None:
    plain = (
        "timestamp, connection, client_id, api, api_version, correlation_id, request_bytes, response_bytes, latency_ms"
    )
    assert ask(f"SELECT {plain} FROM exchanges", path) == [
        {name: row[name] for name in plain.split(", ")} for row in ask(f"SELECT {plain}, errors FROM exchanges", path)
    ]

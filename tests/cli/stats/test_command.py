"""`kcli stats` as a script and a person see it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.wires import SAMPLES

TXN = str(SAMPLES / "java44-txn.pcap")
Capture = pytest.CaptureFixture[str]


def test_a_table_by_api(capsys: Capture) -> None:
    assert main(["stats", TXN]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].split()[:3] == ["api", "exchanges", "errors"] and len(lines) == 19
    assert lines[1].split()[:3] == ["ADD_PARTITIONS_TO_TXN", "12", "4"]
    assert lines[1].endswith("CONCURRENT_TRANSACTIONS 3, PRODUCER_FENCED 1")
    assert "78 exchanges on 11 connections" in said.err


def test_lines_of_json_have_the_promised_names(capsys: Capture) -> None:
    assert main(["stats", TXN, "--by", "client", "--by", "api", "--format", "jsonl", "-q"]) == 0
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    times = ["p50_ms", "p95_ms", "p99_ms", "max_ms"]
    figures = ["exchanges", "errors", "request_bytes", "response_bytes", *times, "errors_by_name"]
    assert all(list(row) == ["client", "api", *figures] for row in rows) and said.err == ""
    assert sum(row["exchanges"] for row in rows) == 78
    assert (
        rows[0]
        | {"client": "AddPartitionsManager-client-1", "api": "ADD_PARTITIONS_TO_TXN", "exchanges": 12, "errors": 4}
        == rows[0]
    )


def test_csv(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.csv"
    assert main(["stats", TXN, "--by", "error", "--format", "csv", "-o", str(out)]) == 0
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert rows[0]["error"] == "" and rows[0]["exchanges"] == "70"
    assert {row["error"]: row["exchanges"] for row in rows}["CONCURRENT_TRANSACTIONS"] == "3"
    assert capsys.readouterr().out == ""


def test_a_connection_has_what_tcp_says_of_it(capsys: Capture) -> None:
    assert main(["stats", TXN, "--by", "api", "--by", "connection", "--format", "jsonl", "-q"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(0.01 < row["round_trip_ms"] < 0.1 for row in rows)
    assert {row["connection"]: row["retransmissions"] for row in rows if row["retransmissions"]} == {
        "127.0.0.1:21000-127.0.0.1:32974": 1
    }
    assert main(["stats", TXN, "--by", "connection", "-q"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  rtt ms  resent  errors by name" in lines[0]
    [row] = [line for line in lines if "32974" in line]
    assert row.split()[-2:] == ["0.034", "1"]
    assert main(["stats", TXN, "--by", "connection", "--format", "csv", "-q"]) == 0
    (head, *_) = capsys.readouterr().out.splitlines()
    assert head.endswith("max_ms,round_trip_ms,retransmissions,errors_by_name")


def test_a_directory_stands_for_its_captures(capsys: Capture) -> None:
    names = ["ipv6.pcapng", "java44-consume-classic.pcap", "java44-txn.pcap", "kcat-codecs.pcap"]
    names += ["old-librdkafka-on-3.9.pcap", "sasl-plain-scram.pcap", "tls.pcap"]
    assert main(["stats", str(SAMPLES), "--format", "jsonl", "-q"]) == 0
    whole = capsys.readouterr().out
    assert main(["stats", *(str(SAMPLES / name) for name in names), "--format", "jsonl", "-q"]) == 0
    assert capsys.readouterr().out == whole


def test_what_is_wrong(tmp_path: Path, cut: Callable[[str], str], capsys: Capture) -> None:
    assert main(["stats", TXN, "--by", "colour"]) == 2
    assert main(["stats", TXN, "--api", "Fetcch"]) == 2
    assert main(["stats", str(tmp_path)]) == 3
    assert "no capture in this directory" in capsys.readouterr().err
    assert main(["stats", cut(TXN)]) == 3
    said = capsys.readouterr()
    assert "ADD_PARTITIONS_TO_TXN" in said.out and "middle of a packet" in said.err


@pytest.mark.parametrize(("keys", "sealed"), [((), 9), (("--key-log", str(SAMPLES / "tls.keys")), 2)])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_tls_whose_keys_are_missing_is_said(
    keys: tuple[str, ...], sealed: int, jobs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who sees few exchanges learns what would show the others."""
    assert main(["stats", str(SAMPLES / "tls.pcap"), *keys, "--jobs", jobs]) == 0
    assert f", {sealed} of them TLS whose keys are missing (--key-log))" in capsys.readouterr().err

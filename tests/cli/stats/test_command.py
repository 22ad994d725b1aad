"""`kcli stats` as a script and a person see it."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from tests.capture.wires import DATA, SAMPLES

TXN = str(SAMPLES / "java44-txn.pcap")
Capture = pytest.CaptureFixture[str]


def test_a_table_by_api(capsys: Capture) -> None:
    assert main(["stats", TXN]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].split()[:3] == ["api", "exchanges", "errors"] and len(lines) == 19
    assert lines[1].split()[:3] == ["ADD_PARTITIONS_TO_TXN", "12", "4"]
    assert lines[1].endswith("CONCURRENT_TRANSACTIONS 3, PRODUCER_FENCED 1")
    assert "78 exchanges (" in said.err


def test_lines_of_json_have_the_promised_names(capsys: Capture) -> None:
    assert main(["stats", TXN, "--by", "client", "--by", "api", "--format", "jsonl", "-q"]) == 0
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    times = ["p50_ms", "p95_ms", "p99_ms", "max_ms"]
    load = ["per_second", "records_per_request", "empty_share"]
    figures = ["exchanges", "errors", "request_bytes", "response_bytes", *times, *load, "errors_by_name"]
    assert all(list(row) == ["client", "api", *figures] for row in rows) and said.err == ""
    assert sum(row["exchanges"] for row in rows) == 78
    assert (
        rows[0]
        | {"client": "AddPartitionsManager-client-1", "api": "ADD_PARTITIONS_TO_TXN", "exchanges": 12, "errors": 4}
        == rows[0]
    )


def test_a_topic_by_id_and_by_name_is_one_row(capsys: Capture) -> None:
    """Consumers name it, producers have its id; the same batches are in both."""
    pytest.importorskip("duckdb")
    assert main(["stats", str(DATA / "mid-stream.pcap.zst"), "--by", "topic", "--format", "jsonl"]) == 0
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert {row["topic"]: row["exchanges"] for row in rows} == {"orders-none": 48, None: 9}
    assert "by id" not in said.err


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
    assert "  conns  opened  rtt ms  resent  errors by name" in lines[0]
    [row] = [line for line in lines if "32974" in line]
    assert row.split()[-4:] == ["1", "1", "0.034", "1"]
    assert main(["stats", TXN, "--by", "connection", "--format", "csv", "-q"]) == 0
    (head, *_) = capsys.readouterr().out.splitlines()
    assert head.endswith("empty_share,connections,connections_opened,round_trip_ms,retransmissions,errors_by_name")


def rows_of(capsys: Capture, *words: str) -> list[dict[str, Any]]:
    assert main(["stats", *words, "--format", "jsonl", "-q"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_client_has_its_rate_its_records_and_its_connections(capsys: Capture) -> None:
    """As the lines of the same capture count them."""
    file = str(SAMPLES / "java44-consume-classic.pcap")
    assert main(["decode", "pcap", file, "--format", "jsonl", "--records", "batches", "-q"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = {row["client"]: row for row in rows_of(capsys, file, "--by", "client")}
    for client, row in rows.items():
        theirs = [line for line in lines if line["requestHeader"]["clientId"] == client]
        assert row["exchanges"] == len(theirs) and row["connections"] == len({line["connection"] for line in theirs})
        fetches = [line for line in theirs if line["requestHeader"]["requestApiKey"] == 1 and line["response"]]
        batches = [
            [batch for topic in line["response"]["responses"] for part in topic["partitions"]
             for batch in (part["records"] or {}).get("batches", ())] for line in fetches
        ]  # fmt: skip
        if fetches:
            records = sum(batch["count"] for each in batches for batch in each)
            assert row["records_per_request"] == pytest.approx(records / len(fetches), rel=1e-4)
            empty = sum(not each for each in batches) / len(fetches)
            assert row["empty_share"] == pytest.approx(empty, rel=1e-4)
    assert {row["connections_opened"] for row in rows.values()} - {0, None}
    [produce] = rows_of(capsys, TXN, "--api", "Produce")
    seconds = produce["exchanges"] / produce["per_second"]
    assert 2.0 < seconds < 2.2 and produce["records_per_request"] > 0 and produce["empty_share"] is None


def test_intervals(capsys: Capture) -> None:
    """They add up, in order, whichever way they are asked for; a rate is that of what was captured of the interval."""
    by_second = rows_of(capsys, TXN, "--by", "second,api")
    assert [row["second"] for row in by_second] == sorted(row["second"] for row in by_second)
    assert sum(row["exchanges"] for row in by_second) == 78 and list(by_second[0])[:2] == ["second", "api"]
    assert rows_of(capsys, TXN, "--interval", "1s", "--by", "api") == [
        {"interval": row.pop("second")} | row for row in by_second
    ]
    halves = rows_of(capsys, TXN, "--interval", "500ms")
    assert len({row["interval"] for row in halves}) == 4 and halves[0]["interval"].endswith(":58.500Z")
    seconds = [row["exchanges"] / row["per_second"] for row in halves]
    assert seconds[:3] == pytest.approx([0.5] * 3) and seconds[3] == pytest.approx(0.435, abs=0.001)
    first, second = rows_of(capsys, TXN, "--by", "minute")  # the capture is from 58.347 to 60.435
    assert first["exchanges"] / first["per_second"] == pytest.approx(1.653, abs=0.001)
    assert second["per_second"] is None  # of too little of a minute
    [until] = rows_of(capsys, TXN, "--by", "minute", "--until", "2026-11-21T01:21:59.5Z")
    assert until["exchanges"] / until["per_second"] == pytest.approx(1.153, abs=0.001)
    assert main(["stats", TXN, "--by", "interval"]) == 2 and main(["stats", TXN, "--interval", "0"]) == 2


def test_files_are_told_apart(capsys: Capture) -> None:
    """Also where they were captured at the same time, and with several processes."""
    files = [TXN, str(SAMPLES / "java44-consume-classic.pcap"), str(SAMPLES / "kcat-codecs.pcap")]
    alone = {file: sum(row["exchanges"] for row in rows_of(capsys, file)) for file in files}
    for jobs in ("1", "2"):
        rows = rows_of(capsys, *files, "--by", "file", "--jobs", jobs)
        assert {row["file"]: row["exchanges"] for row in rows} == alone


def test_rows_are_sorted_and_limited(capsys: Capture) -> None:
    rows = rows_of(capsys, TXN, "--sort", "p99_ms", "--limit", "3")
    every = rows_of(capsys, TXN)
    assert [row["p99_ms"] for row in rows] == sorted((row["p99_ms"] for row in every), reverse=True)[:3]
    least = rows_of(capsys, TXN, "--sort", "-exchanges")
    assert [row["exchanges"] for row in least] == sorted(row["exchanges"] for row in every)
    assert [row["api"] for row in rows_of(capsys, TXN, "--sort", "api")] == sorted(row["api"] for row in every)
    empty = rows_of(capsys, TXN, "--sort", "empty-share")  # those without one stand last
    assert empty[0]["api"] == "FETCH" and empty[-1]["empty_share"] is None
    for heading in ("p99 ms", "P99", "p99-ms"):
        assert rows_of(capsys, TXN, "--sort", heading, "--limit", "3") == rows, heading
    by_client = "--by", "client"
    assert rows_of(capsys, TXN, "--sort", "rtt", *by_client) == rows_of(
        capsys, TXN, "--sort", "round_trip_ms", *by_client
    )
    assert rows_of(capsys, TXN, "--sort", "/s") == rows_of(capsys, TXN, "--sort", "per_second", "--by", "API")
    assert main(["stats", TXN, "--limit", "2"]) == 0
    assert "16 more rows (--limit 2)" in capsys.readouterr().err
    assert main(["stats", TXN, "--sort", "colour"]) == 2
    assert "no such column (there are api, exchanges," in capsys.readouterr().err


def test_a_directory_stands_for_its_captures(capsys: Capture) -> None:
    names = ["ipv6.pcapng", "java44-consume-classic.pcap", "java44-txn.pcap", "kcat-codecs.pcap"]
    names += ["old-librdkafka-on-3.9.pcap", "sasl-plain-scram.pcap", "tls.pcap"]
    assert main(["stats", str(SAMPLES), "--format", "jsonl", "-q"]) == 0
    whole = capsys.readouterr().out
    assert main(["stats", *(str(SAMPLES / name) for name in names), "--format", "jsonl", "-q"]) == 0
    assert capsys.readouterr().out == whole


def test_a_condition_that_fails_is_all_that_is_told(capsys: Capture) -> None:
    assert main(["stats", TXN, "--where", "CAST(client_id AS INT) > 3"]) == 2
    said = capsys.readouterr()
    assert not said.out and said.err.startswith("kcli: --where: CAST(client_id") and said.err.count("\n") == 1


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

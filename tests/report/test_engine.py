"""The report's tables hold what the other commands say of the same captures."""

import json
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.report.engine import ReportEngine
from tests.report.answers import answers_of, written

pytest.importorskip("duckdb")


def test_the_figures_are_those_of_stats(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["java44-txn.pcap", "java44-consume-classic.pcap", "old-librdkafka-on-3.9.pcap"]
    paths = [samples / name for name in names]
    assert main(["stats", *map(str, paths), "--quiet", "--format", "jsonl", "--by", "api"]) == 0
    known = {row["api"]: row for row in map(json.loads, capsys.readouterr().out.splitlines())}
    rows = {row["api"]: row for row in answers_of(paths).by_name["apis"].dicts()}
    assert rows.keys() == known.keys()
    for api, row in rows.items():
        same = ("exchanges", "request_bytes", "response_bytes")
        assert [row[name] for name in same] == [known[api][name] for name in same]
        assert row["with_errors"] == known[api]["errors"]
        assert row["max_ms"] == pytest.approx(known[api]["max_ms"], abs=0.001)


def test_clients_are_judged_as_in_the_audit(samples: Path, tmp_path: Path) -> None:
    answers = answers_of([samples / "old-librdkafka-on-3.9.pcap"])
    [client] = answers.by_name["refused"].dicts()
    assert client["role"] == "client" and client["verdict"] == "refused"
    for converted in answers.by_name["conversions"].dicts():
        assert converted["client_id"] == client["client_id"]
        assert converted["responses"] > 0 and converted["converted_bytes"] > 0


def test_connections_have_what_tcp_says_of_them(samples: Path, tmp_path: Path) -> None:
    answers = answers_of([samples / "java44-txn.pcap"])
    first, *rest = answers.by_name["network"].dicts()
    assert (first["retransmissions"], first["round_trip_ms"], first["exchanges"]) == (1, 0.034, 3)
    assert len(rest) == 10 and not any(row["retransmissions"] for row in rest)


def test_groups_and_codecs(samples: Path, tmp_path: Path) -> None:
    answers = answers_of([samples / "java44-consume-classic.pcap", samples / "kcat-codecs.pcap"])
    assert all(row["joins"] > 0 and row["rebalances"] == 1 for row in answers.by_name["groups"].dicts())
    codecs = {row["compression"] for row in answers.by_name["compression"].dicts()}
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_duckdb_knows_sparks_names(tmp_path: Path) -> None:
    with ReportEngine(tmp_path) as tables:
        sql = """
SELECT get_json_object('{"a": {"b": 1}}', '$.a.b'), percentile_approx(x, 0.5) FROM (SELECT explode([3, 1, 1]) AS x)
"""
        assert tables.run(sql)[1] == [("1", 1)]
        pairs = "SELECT max_by(x, struct(y, x)) FROM (VALUES ('a', 1), ('b', 1), ('c', 0)) AS pairs(x, y)"
        assert tables.run(pairs)[1] == [("b",)]
        assert tables.run("SELECT format_number(1234567, 0)")[1] == [("1,234,567",)]


def test_file_names_may_hold_anything(samples: Path, tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] *"
    written([samples / "java44-txn.pcap"], folder)
    with ReportEngine(folder) as tables:
        assert tables.run("SELECT count(*) > 50 FROM exchanges")[1] == [(True,)]

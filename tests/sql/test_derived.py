"""Tables across connections: what `fetch-session explain` and `audit` say, and what Spark makes of the same facts."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

from kcli.cli.main import main
from kcli.sql.derived import DERIVED, Facts
from tests.capture.messages import produce, response
from tests.capture.wires import Wire, pcap
from tests.oracle.odd import make_all_odd


def test_sessions_are_those_of_explain(
    samples: Path, ask: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = samples / "java44-consume-classic.pcap"
    rows = ask("SELECT session_id, fetches, request_bytes, p99_ms, file FROM fetch_sessions", path)
    assert main(["fetch-session", "explain", str(path), "--format", "jsonl"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    theirs = [line for line in lines if "sessionId" in line]
    assert Counter((row["session_id"], row["fetches"], row["request_bytes"], row["p99_ms"]) for row in rows) == Counter(
        (line["sessionId"], line["fetches"], line["requestBytes"], line["latencyMs"]["p99"]) for line in theirs
    )
    assert {row["file"] for row in rows} == {str(path)}


def test_clients_are_judged_as_by_audit(samples: Path, ask: Callable[..., Any]) -> None:
    query = "SELECT client_id, verdict, sum(requests) AS n FROM clients GROUP BY ALL ORDER BY ALL"
    rows = ask(query, samples / "old-librdkafka-on-3.9.pcap")
    assert {row["verdict"] for row in rows} >= {"refused"}
    (sums,) = ask("SELECT count(*) AS n FROM exchanges", samples / "old-librdkafka-on-3.9.pcap")
    assert sum(row["n"] for row in rows) == sums["n"]


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("java44-txn.pcap", ("--since", "+0.5", "--until", "+2")),
        ("java44-consume-classic.pcap", ("--since", "+1")),
    ],
)
def test_times_are_chosen_alike_of_odd_exchanges(
    name: str,
    times: tuple[str, ...],
    samples: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rows() -> list[str]:
        made = []
        for table in (*DERIVED, "fetch_partitions", "produce_partitions", "record_batches"):
            query = f"SELECT * FROM {table} ORDER BY ALL"
            assert main(["sql", query, str(samples / name), *times, "--format", "jsonl", "-q"]) in (0, 1)
            made.append(capsys.readouterr().out)
        return made

    by_columns = rows()
    make_all_odd(monkeypatch)
    assert rows() == by_columns
    assert any(by_columns)


def test_no_exchange_at_the_times_asked_for_is_no_row(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("java44-txn.pcap", "tls.pcap"):
        line = ["sql", "SELECT * FROM clients", str(samples / name), "--since", "2999-01-01", "--format", "jsonl"]
        assert main(line) == 0
        assert capsys.readouterr() == ("", "")


def test_every_byte_has_a_place(samples: Path, ask: Callable[..., Any]) -> None:
    query = """SELECT sum(CASE WHEN scope = 'file' THEN 0 ELSE payload_bytes - exchange_bytes - event_bytes
                              - duplicate_bytes - stray_bytes - tls_bytes - carried_bytes END) AS lost,
                      count(*) FILTER (scope = 'file') AS files FROM lineage"""
    paths = [samples / "java44-txn.pcap", samples / "old-librdkafka-on-3.9.pcap"]
    assert ask(query, *paths) == [{"lost": 0, "files": 2}]


def test_a_damaged_capture_is_reported_behind_its_rows(samples: Path, tmp_path: Path, ask: Callable[..., Any]) -> None:
    from kcli.errors import InputError
    from kcli.sql.given_tables import open_engine
    from kcli.sql.inputs import sort_inputs

    path = tmp_path / "cut.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-7])
    rows = []
    with (
        pytest.raises(InputError, match="in the middle of a packet"),
        open_engine(sort_inputs([str(path)]), {}) as engine,
        engine.answer("FROM clients") as answer,
    ):
        rows = [row for batch in answer for row in batch.to_pylist()]
    assert rows


def test_the_folder_goes(samples: Path) -> None:
    facts = Facts([str(samples / "java44-txn.pcap")], {})
    assert [*DERIVED["clients"](facts)]
    folder = Path(facts.folder.name)
    assert folder.exists()
    facts.close()
    assert not folder.exists()


def test_a_path_may_have_any_character(samples: Path, tmp_path: Path, ask: Callable[..., Any]) -> None:
    path = tmp_path / "it's 100%.pcap"
    shutil.copy(samples / "java44-txn.pcap", path)
    (row,) = ask("SELECT count(*) AS n, any_value(file) AS file FROM clients", path)
    assert row["n"] and row["file"] == str(path)


def test_a_change_of_leader_has_its_times(tmp_path: Path, ask: Callable[..., Any]) -> None:
    refused = {
        "responses": [{"name": "orders", "partitionResponses": [{"index": 0, "errorCode": 6, "baseOffset": -1}]}]
    }
    wire = Wire().open().client(produce(1)[0]).server(response(0, 9, 1, refused))
    wire.client(produce(2)[0]).server(produce(2)[1]).close()
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.packets))
    [row] = ask("SELECT timestamp, recovered, lost_ms, error FROM leader_changes", path)
    assert row["error"] == "NOT_LEADER_OR_FOLLOWER"
    assert (row["recovered"] - row["timestamp"]).total_seconds() * 1000 == pytest.approx(row["lost_ms"], abs=0.002)

"""Sessions against `kcli fetch-session explain`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.context import Options
from kcli.pipeline.derived.file_views import view_of
from kcli.pipeline.derived.local_facts import LocalFacts
from kcli.pipeline.derived.local_tables import sessions_of
from kcli.pipeline.derived.session_table import ORDER, sessions
from kcli.pipeline.rows import row_source
from kcli.pipeline.rows.fetch_frames import FRAMED
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.spark_engine import SparkEngine
from tests.pipeline.outputs import named, rows_of, run_here
from tests.pipeline.test_run import rotated

ROOT = Path(__file__).parents[3]
CAPTURES = (
    "samples/java44-consume-classic.pcap", "samples/kcat-codecs.pcap", "samples/java44-txn.pcap",
    "samples/old-librdkafka-on-3.9.pcap", "tests/capture/data/kraft-boot.pcap.zst",
    "tests/capture/data/mid-stream.pcap.zst", "tests/capture/data/retransmissions.pcap.zst",
)  # fmt: skip
SAME = {
    "session_id": "sessionId", "server": "server", "client_id": "clientId", "replica_id": "replicaId",
    "api_version": "apiVersion", "fetches": "fetches", "full": "full", "incremental": "incremental",
    "empty_polls": "emptyPolls", "unanswered": "unanswered", "request_bytes": "requestBytes",
    "response_bytes": "responseBytes", "records_bytes": "recordsBytes", "full_request_bytes": "fullRequestBytes",
    "full_response_bytes": "fullResponseBytes", "findings": "findings", "never_delivered": "neverDeliveredCount",
}  # fmt: skip


def ordered(output: Path) -> list[dict[str, Any]]:
    """The rows that sessions are followed by, as Spark hands them on."""
    lost = [
        {"server": row["connection"].partition("-")[0], "connection": row["connection"], "event": row["event"],
         "completed_ns": int(row["timestamp"].timestamp() * 1e6) * 1000}
        for row in rows_of(output, "undecodable") if row["connection"] and row["event"] != "unanswered-at-end"
    ]  # fmt: skip
    framed = [row | {"event": None} for row in rows_of(output, "fetch_frames")]
    return sorted([*framed, *lost], key=lambda row: [row.get(name) or 0 for name in ORDER])


def followed(ordered_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    by_server: dict[str, list[dict[str, Any]]] = {}
    for row in ordered_rows:
        by_server.setdefault(row["server"], []).append(row)
    return [each for part in by_server.values() for each in named("fetch_sessions", sessions(iter(part), {}))]


def followed_as_columns(output: Path, spill: Path) -> list[dict[str, Any]]:
    """The same from DuckDB's record batches, whose fetches go to the core without becoming rows."""
    facts = output / "_kcli" / "facts"
    views = {table: view_of(table, facts) for table in ("fetch_frames", "topic_names")}
    with LocalFacts(views | {"undecodable": view_of("undecodable", output)}, str(spill), 64) as found:
        return named("fetch_sessions", sessions_of(found.rows, found.batches, None))


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("shares", [1, 3])
def test_sessions_are_those_that_explain_reports(
    name: str,
    shares: int,
    output: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from kcli.cli.main import main

    run_here([ROOT / name], output, shares=shares)
    made = followed(ordered(output))
    assert sorted(map(str, followed_as_columns(output, tmp_path))) == sorted(map(str, made))
    assert main(["fetch-session", "explain", str(ROOT / name), "--format", "jsonl"]) in (0, 3)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    theirs = [line for line in lines if "sessionId" in line]
    assert sorted(str([row[key] for key in SAME]) for row in made) == sorted(
        str([line.get(key) for key in SAME.values()]) for line in theirs
    )
    assert sorted(str(row["p99_ms"]) for row in made) == sorted(str(line["latencyMs"]["p99"]) for line in theirs)


def test_what_older_kcli_has_left_is_followed_too(samples: Path, output: Path) -> None:
    """Rows of `exchanges`, where a run has left no frames."""
    run_here([samples / "java44-consume-classic.pcap"], output, shares=1)
    lines = [row | {"event": None} for row in rows_of(output, "exchanges") if row["api_key"] in (1, 2, 3, 9)]
    lines.sort(key=lambda row: row["completed_ns"])
    counts = ("session_id", "fetches", "full", "request_bytes", "records_bytes", "findings")
    ours = sorted(str([row[key] for key in counts]) for row in followed(lines))
    assert ours == sorted(str([row[key] for key in counts]) for row in followed(ordered(output)))
    assert ours


def test_a_run_goes_on_where_older_kcli_has_written(
    spark: Any, tmp_path: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions over two runs, the first of which left no frames."""
    name = "java44-consume-classic.pcap"
    halves = rotated(ROOT / "samples", tmp_path, 2, name)
    counts = ("server", "session_id", "fetches", "full", "request_bytes", "records_bytes", "findings")

    def run_both(folder: Path, *framed: int) -> Counter[str]:
        with monkeypatch.context() as patch:
            patch.setattr(row_source, "FRAMED", framed)
            run_here(halves[:1], folder, shares=1)
        run_pipeline(SparkEngine(spark), [str(halves[1])], Options(str(folder), shares=1))
        return Counter(str([row[name] for name in counts]) for row in rows_of(folder, "fetch_sessions"))

    assert run_both(output) == run_both(tmp_path / "framed", *FRAMED)
    assert rows_of(output, "fetch_sessions")

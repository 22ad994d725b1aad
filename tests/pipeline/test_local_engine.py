"""The engine without Spark: the tables of one decode, however the captures come."""

from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

pytest.importorskip("duckdb")

from kcli.errors import UsageError
from kcli.pipeline import local_engine
from kcli.pipeline.context import Options
from kcli.pipeline.fact_tables import facts_mark
from kcli.pipeline.journal import Journal
from kcli.pipeline.local_engine import LocalEngine, check_output
from kcli.pipeline.run import run_pipeline
from kcli.pipeline.tables import TABLES
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from tests.capture.wires import DATA
from tests.diagnose.captured import DATA as DIAGNOSED
from tests.pipeline.outputs import assert_decoded, rows_of, run_here, settled, unaccounted
from tests.pipeline.rows.test_noted_exchanges import capture as throttled
from tests.pipeline.test_run import rotated
from tools.compare_tables import sql_rows


def counted(output: Path, table: str) -> Counter[str]:
    return Counter(str(sorted(settled(row).items())) for row in rows_of(output, table))


def test_several_runs_make_the_tables_of_one(samples: Path, tmp_path: Path, output: Path) -> None:
    """Rotated captures, one a run; tables across connections as `kcli sql` makes them of the captures."""
    name = "java44-consume-classic.pcap"
    others = [throttled(tmp_path / "throttled.pcap"), samples / "old-librdkafka-on-3.9.pcap"]
    parts = [others, *([path] for path in rotated(samples, tmp_path, 3, name))]
    for paths in parts:
        run_pipeline(LocalEngine(), [str(path) for path in paths], Options(str(output)))
    captures = [samples / name, *others]
    assert_decoded(output, captures)
    assert unaccounted(output) == 0
    whole = tmp_path / "whole"
    run_pipeline(LocalEngine(), [str(path) for path in captures], Options(str(whole)))
    for table in TABLES.keys() - {"lineage"}:
        assert counted(output, table) == counted(whole, table), table
    for title, defined in TABLES.items():
        filled, rows = [each.name for each in defined.columns if not each.nullable], rows_of(whole, title)
        assert not [(title, column) for column in filled if any(row[column] is None for row in rows)]
    with open_engine(sort_inputs([str(path) for path in captures]), {}) as engine:
        for table in ("fetch_sessions", "clients", "connections", "groups", "hourly", "throttling"):
            asked = Counter(str(sorted(settled(row).items())) for row in sql_rows(engine, table))
            assert asked == counted(output, table), table
            assert asked, table


def test_several_runs_find_what_one_does(tmp_path: Path) -> None:
    """A broker's connections end in another run than they began in."""
    outages = DIAGNOSED / "broker-restart-tickets.pcap.zst"
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run_pipeline(LocalEngine(), [str(outages)], Options(str(whole)))
    for part in rotated(DIAGNOSED, tmp_path, 4, outages.name):
        run_pipeline(LocalEngine(), [str(part)], Options(str(parts)))
    found = [{(row["finding"], row["subject"]) for row in rows_of(each, "findings")} for each in (whole, parts)]
    assert found[1] == found[0]
    assert {finding for finding, _ in found[0]} == {"broker-restart"}


def test_forks_make_the_same_tables(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_engine, "FEW_ROWS", 0)
    captures = [str(samples / "java44-consume-classic.pcap"), str(DATA / "kraft-boot.pcap.zst")]
    alone, forked = tmp_path / "alone", tmp_path / "forked"
    run_pipeline(LocalEngine(), captures, Options(str(alone)))
    run_pipeline(LocalEngine(3), captures, Options(str(forked)))
    for table in TABLES:
        assert counted(forked, table) == counted(alone, table), table
    assert len(list((forked / "hourly").glob("*.parquet"))) == 1


def test_leader_changes_and_snapshots(tmp_path: Path, output: Path) -> None:
    run_pipeline(LocalEngine(), [str(DATA / "kraft-boot.pcap.zst")], Options(str(output)))
    assert rows_of(output, "quorum")
    assert {row["complete"] for row in rows_of(output, "quorum")} == {True}


def test_a_run_that_an_older_kcli_left_is_for_spark(samples: Path, output: Path) -> None:
    run_here([samples / "java44-txn.pcap"], output)
    journal = Journal(str(output))
    for uri in journal.permanent("connection_sums"):
        Path(uri).unlink()
    [entry] = (output / "_kcli" / "journal").iterdir()
    entry.write_text(entry.read_text().replace("connection_sums", "forgotten"))
    with pytest.raises(UsageError, match="runs of an older kcli"):
        run_pipeline(LocalEngine(), [str(samples / "ipv6.pcapng")], Options(str(output)))


@pytest.mark.parametrize(
    ("change", "kept", "lack"),
    [
        (('"exchange_facts"', '"exchange_facts_not"'), "no", "lack their"),
        ((facts_mark(), "0123456789abcdef"), "other", "may lack"),
    ],
    ids=["0.1.0", "another release"],
)
def test_runs_of_another_kcli_are_named(
    change: tuple[str, str], kept: str, lack: str, samples: Path, output: Path
) -> None:
    """Its exchanges go on, but what is made of facts lacks its captures, or what it did not keep of them."""
    run_here([samples / "ipv6.pcapng"], output)
    [entry] = (output / "_kcli" / "journal").iterdir()
    text = entry.read_text()
    entry.write_text(text.replace('"facts":', '"others":' if kept == "no" else '"facts":').replace(*change))
    assert entry.read_text() != text
    made = run_pipeline(LocalEngine(), [str(samples / "java44-txn.pcap")], Options(str(output)))
    [note] = made.notes
    assert f"run 1 of another kcli kept {kept} facts" in note and lack in note and "another --output" in note


def test_tables_in_an_object_store_are_for_spark() -> None:
    with pytest.raises(UsageError, match="only to local folders"):
        check_output("s3://bucket/out?region=us-east-1")
    check_output("/tmp/out")


@pytest.mark.parametrize("shares", [0, 2], ids=["one task", "shares"])
def test_a_late_capture_of_other_connections_has_its_own_times(shares: int, tmp_path: Path) -> None:
    """Its packets are older than the end of the run before: its exchanges were completed at that end, days later."""
    newer, older = (str(DIAGNOSED / f"{name}.pcap.zst") for name in ("slow-rebalance-killed", "slow-rebalance-given"))
    whole, parts = (Options(str(tmp_path / name), shares=shares, table_format="delta") for name in ("whole", "parts"))
    run_pipeline(LocalEngine(), [newer, older], whole)
    for path in (newer, older):
        run_pipeline(LocalEngine(), [path], parts)
    wanted = ["connection", "correlation_id", "response_bytes", "completed_ns", "file"]
    tables = [DeltaTable(f"{each.output}/exchanges").to_pyarrow_table(columns=wanted) for each in (whole, parts)]
    rows = [[row for row in each.to_pylist() if row["file"] == older] for each in tables]
    assert [len(each) for each in rows] == [43, 43]
    answered = [Counter(str(row) for row in each if row["response_bytes"] is not None) for each in rows]
    assert answered[1] == answered[0]
    found = [counted(Path(each.output), "findings") for each in (whole, parts)]
    assert found[1] == found[0] != Counter()

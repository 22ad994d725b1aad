"""Samples: whole connections, the same ones in every run and by every way of reading, and what is said of them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from kcli.cli.main import main
from kcli.core.capture.packet_shuffle import is_sampled
from kcli.errors import UsageError
from kcli.pipeline.derived import judged_tables
from kcli.pipeline.upkeep import forget
from tests.pipeline.outputs import Here, rows_of, run_here, unaccounted
from tests.pipeline.test_run import TASKS, rotated

Row = dict[str, Any]


def exchanges(output: Path, among: set[str] | None = None) -> Counter[str]:
    """The rows of connections, by default of all."""
    rows = rows_of(output, "exchanges")
    left = ("completed_ns", "client_pause_ms", "in_flight")
    made = [{name: row[name] for name in row if name not in left} for row in rows]
    return Counter(str(row) for row in made if among is None or row["connection"] in among)


def connections(output: Path) -> set[str]:
    return {row["connection"] for row in rows_of(output, "exchanges")}


@pytest.mark.parametrize("tasks", TASKS, ids=["many tasks", "one task"])
def test_whole_connections_however_they_are_read(tasks: Row, samples: Path, tmp_path: Path) -> None:
    name = samples / "java44-txn.pcap"
    run_here([name], tmp_path / "all")
    some, more = tmp_path / "some", tmp_path / "more"
    made = run_here([name], some, sample=0.4, **tasks)
    run_here([name], more, sample=0.7, **tasks)
    assert connections(some) < connections(more) < connections(tmp_path / "all")
    assert exchanges(some) == exchanges(tmp_path / "all", connections(some))
    assert made.packets == 276 and made.sample == 0.4
    assert unaccounted(some) == unaccounted(more) == 0
    left_out = [row for row in rows_of(some, "lineage") if row["name"] == "outside the sample"]
    assert sum(row["packets"] > 0 for row in left_out) == (tasks is TASKS[0])  # none of those was dealt out
    # The same on every machine.
    assert connections(some) == {f"127.0.0.1:21000-127.0.0.1:{port}" for port in (32974, 32984, 32990, 32992)}


def test_a_share_of_many_connections_and_other_bits_than_those_of_shares() -> None:
    """Shares are dealt by the hash's upper bits; those of one share are sampled like all others."""
    hashes = [number * 0x9E3779B97F4A7C15 % (1 << 64) for number in range(20_000)]
    for among in (hashes, [each for each in hashes if (each >> 40) % 8 == 3]):
        for fraction in (0.01, 0.1, 0.5):
            assert abs(sum(is_sampled(each, fraction) for each in among) / len(among) - fraction) < 0.02
    assert all(is_sampled(each, 1) for each in hashes)
    for fraction in (0, -1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="a fraction of the connections"):
            is_sampled(1, fraction)


def test_later_runs_go_on_with_it(samples: Path, tmp_path: Path, output: Path) -> None:
    halves = rotated(samples, tmp_path, 2)
    run_here([samples / "java44-txn.pcap"], tmp_path / "whole", sample=0.6, table_format="delta")
    run_here([halves[1]], output, sample=0.6, table_format="delta")
    with pytest.raises(UsageError, match=r"--sample 0.7: .* holds a sample of 0.6 "):
        run_here([halves[0]], output, sample=0.7)
    made = run_here([halves[0]], output)
    assert made.redone == [1] and made.sample == 0.6
    assert exchanges(output) == exchanges(tmp_path / "whole")
    assert [row["sample"] for row in DeltaTable(output / "runs").to_pyarrow_table().to_pylist()] == [0.6, 0.6]
    forget(Here(), str(output), [], [str(halves[1])])
    assert connections(output) < connections(tmp_path / "whole")
    run_here([samples / "ipv6.pcapng"], tmp_path / "all")
    with pytest.raises(UsageError, match=r"--sample 0.6: .* holds all connections "):
        run_here([halves[0]], tmp_path / "all", sample=0.6)


def test_runs_of_an_older_kcli_are_read(samples: Path, output: Path) -> None:
    """They have no column `sample`."""
    import pyarrow.parquet

    run_here([samples / "ipv6.pcapng"], output, table_format="delta")
    [file] = (output / "runs").glob("*.parquet")
    pyarrow.parquet.write_table(pyarrow.parquet.read_table(file).drop_columns(["sample"]), file)
    assert run_here([samples / "ipv6.pcapng"], output).skipped == 1


class Facts:
    """No tables that rules could ask."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_error: object) -> None: ...


def test_findings_say_that_they_are_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those of a connection, of which all was read."""
    from kcli.finding import Finding
    from kcli.rules.judgement import Judgement

    found = [
        Finding("one", "warning", {"client": "a"}, {"n": 1}, "do", "a asks much"),
        Finding("two", "info", {"connection": "s-c"}, {"n": 2}, "do", "s-c is slow"),
    ]
    monkeypatch.setattr(judged_tables, "RuleTables", lambda _views: Facts())
    monkeypatch.setattr(judged_tables, "leave_out_second_hops", lambda _tables: [])
    monkeypatch.setattr(judged_tables, "judge_clusters", lambda *_: Judgement(found))
    whole = [row[4:6] for row in judged_tables.finding_rows({})]
    assert whole == [('{"n":1}', "a asks much"), ('{"n":2}', "s-c is slow")]
    first, second = (row[4:6] for row in judged_tables.finding_rows({}, 0.1))
    assert json.loads(first[0]) == {"n": 1, "sample": 0.1}
    assert first[1] == "a asks much (in a sample of 0.1 of the connections)"
    assert second == whole[1]


def test_a_run_says_it(samples: Path, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pipeline", "run", "--engine", "local", "--input", str(samples / "java44-txn.pcap"), "--output"]
    words += [str(output), "--sample"]
    assert main([*words, "0.4", "--fail-if", "sample <> 0.4 or stray_bytes = 0"]) == 0
    said = capsys.readouterr().err.splitlines()[0]
    assert said.startswith("1 capture, 276 packets, ") and said.endswith("; of a sample of 0.4 of the connections")
    page = output.with_suffix(".html")
    assert main(["pipeline", "report", str(output), "-o", str(page)]) == 0
    assert f"{output} (a sample of 0.4 of the connections)" in page.read_text()
    for wrong in ("0", "1.5", "nan", "0.3", "1"):
        assert main([*words, wrong]) == 2, wrong

"""`kcli pipeline run --fail-if`: a condition on the totals of a run."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.pipeline.totals import TOTALS
from tests.capture.wires import packets_of, pcap, rotated
from tests.pipeline.outputs import rows_of

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def lossy(samples: Path, tmp_path: Path) -> Path:
    """A capture that lacks some of its packets."""
    packets = packets_of(samples / "java44-txn.pcap")
    path = tmp_path / "lossy.pcap"
    path.write_bytes(pcap([each for number, each in enumerate(packets) if number % 40 != 39], nano=True))
    return path


def words(given: Path, tmp_path: Path, condition: str) -> list[str]:
    made = ["pipeline", "run", "--engine", "local", "--input", str(given), "--output", str(tmp_path / "out"), "--quiet"]
    return [*made, "--table-format", "parquet", "--fail-if", condition]


def test_a_run_that_meets_it_ends_with_1_and_its_tables_are_there(
    lossy: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert main(words(lossy, tmp_path, "lost_bytes > 0.001 * bytes")) == 1
    rows = rows_of(tmp_path / "out", "undecodable")
    lost = sum(row["bytes"] for row in rows if row["event"] == "gap")
    taken = sum(row["payload_bytes"] for row in rows_of(tmp_path / "out", "lineage") if row["scope"] == "file")
    said = capsys.readouterr().err
    assert said == f"kcli: --fail-if lost_bytes > 0.001 * bytes: bytes {taken:,}, lost_bytes {lost:,}\n"
    assert lost and rows_of(tmp_path / "out", "exchanges")
    # The next run has nothing to read, so nothing was lost in it.
    assert main(words(lossy, tmp_path, "lost_bytes > 0.001 * bytes")) == 0
    assert main(words(lossy, tmp_path, "captures = 0")) == 1


TOTALS_OF_TXN = {
    "captures": 1, "packets": 276, "cut_packets": 0, "bytes": 40062, "lost_bytes": 0, "undecoded_bytes": 0,
    "duplicate_bytes": 30, "stray_bytes": 0, "connections": 11, "exchanges": 78, "errors": 8, "unanswered": 0,
    "request_bytes": 17698, "response_bytes": 22334, "events": 0, "findings": 1, "warnings": 0, "critical": 0,
}  # fmt: skip


def test_the_totals_of_a_run_and_what_is_divided_by_nothing(samples: Path, tmp_path: Path) -> None:
    differs = " or ".join(f"{name} <> {count}" for name, count in TOTALS_OF_TXN.items())
    nothing = "bytes / lost_bytes > 0 or bytes % lost_bytes > 0 or lost_bytes / lost_bytes > 0"
    condition = f"{differs} or {nothing} or seconds not between 2.08 and 2.09"
    assert main(words(samples / "java44-txn.pcap", tmp_path, condition)) == 0


def test_the_time_between_rotated_files_was_not_captured(samples: Path, tmp_path: Path) -> None:
    rotated(samples / "java44-txn.pcap", tmp_path / "halves", 3600)
    assert main(words(tmp_path / "halves", tmp_path, "captures <> 2 or seconds not between 1.9 and 2.09")) == 0


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("lost > 1", "no column lost"),
        ("bytes", "of type BIGINT (a condition expected, as in lost_bytes > 0.001 * bytes)"),
        ("", "empty (a condition expected, as in lost_bytes > 0.001 * bytes)"),
        ("bytes > (select 1)", "a query inside"),
        ("exists(from read_csv('/etc/passwd'))", ""),
        ("getenv('HOME') = 'x'", "shows data of this machine"),
        ("bytes > 'many\x1b[31m'", ""),
        ("true; drop view totals", "syntax error"),
        ("count(*) > 1", "aggregates"),
    ],
)
def test_what_is_no_condition_is_refused_before_any_work(
    condition: str, why: str, samples: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert main(words(samples / "java44-txn.pcap", tmp_path, condition)) == 2
    said = capsys.readouterr().err
    assert said.startswith("kcli: --fail-if: ") and why in said and said.count("\n") == 1 and "\x1b" not in said
    assert not (tmp_path / "out").exists()


def test_a_stream_ends_after_the_run_that_meets_it(lossy: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main([*words(lossy, tmp_path, "lost_bytes > 0"), "--stream", "--settle", "0", "--every", "1"]) == 1
    assert "--fail-if lost_bytes > 0: lost_bytes " in capsys.readouterr().err
    assert rows_of(tmp_path / "out", "exchanges")


def test_a_capture_that_can_not_be_read_whole_is_still_exit_3(samples: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-5])
    assert main(words(path, tmp_path, "exchanges > 0")) == 3


def test_the_totals_are_documented() -> None:
    said = (ROOT / "docs" / "how-to" / "pipeline.md").read_text()
    assert all(f"| `{each.name}` | {each.text} |" in said for each in TOTALS)

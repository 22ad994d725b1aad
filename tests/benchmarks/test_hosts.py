"""Captures of made-up hosts: rotated, late, of both ends; the pipeline reads them as one decode does."""

from pathlib import Path

from benchmarks.hosts import make_fleet
from tests.pipeline.outputs import assert_decoded, run_here, unaccounted


def test_two_runs_over_a_fleet_give_the_rows_of_one_decode(samples: Path, tmp_path: Path) -> None:
    """Ten hosts: the eighth is the seventh's other end, and the tenth's first three files come in the second run."""
    fleet = make_fleet([samples / "java44-consume-classic.pcap"], 70, tmp_path / "fleet")
    captures = sorted((tmp_path / "fleet").rglob("*.pcap"))
    assert (len(captures), len(list(fleet.late.rglob("*.pcap")))) == (70, 3)
    assert sum(path.stat().st_size for path in captures) == fleet.bytes
    output = tmp_path / "out"
    assert run_here([fleet.folder], output, shares=2).files == 67
    assert run_here([fleet.folder, fleet.late], output, shares=2).redone == [1]
    assert_decoded(output, captures)
    assert unaccounted(output) == 0

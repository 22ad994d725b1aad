"""Captures that are forgotten, small files made one, and what nothing refers to."""

from collections import Counter
from pathlib import Path

import pytest

from kcli.errors import InputError, UsageError
from kcli.pipeline.journal import Journal
from kcli.pipeline.tables import TABLES
from kcli.pipeline.upkeep import compact, forget, vacuum
from tests.pipeline.outputs import Here, assert_decoded, rows_of, run_here, unaccounted
from tests.pipeline.test_run import rotated


def counted(output: Path) -> dict[str, Counter[str]]:
    return {table: Counter(map(str, rows_of(output, table))) for table in (*TABLES, "fetch_frames", "topic_names")}


@pytest.fixture(params=["delta", "parquet"])
def runs(request: pytest.FixtureRequest, samples: Path, tmp_path: Path, output: Path) -> list[Path]:
    """Three captures of three runs; connections go on from one to the next."""
    paths = rotated(samples, tmp_path, 3)
    for path in paths:
        run_here([path], output, table_format=request.param)
    return paths


def test_what_is_forgotten_was_never_read(runs: list[Path], tmp_path: Path, output: Path) -> None:
    count, made = forget(Here(), str(output), [], [str(runs[1])])
    assert (count, made.redone) == (1, [2, 3])
    assert_decoded(output, [runs[0], runs[2]])
    assert unaccounted(output) == 0
    again = run_here(runs, output)
    assert (again.files, again.skipped) == (0, 3)
    assert forget(Here(), str(output), [1], [])[0] == 1
    assert_decoded(output, [runs[2]])
    assert {Path(each["uri"]) for entry in Journal(str(output)).entries for each in entry.forgotten} == {*runs[:2]}
    assert forget(Here(), str(output), [], [str(runs[2])])[0] == 1
    assert not rows_of(output, "exchanges")


def test_only_what_was_read_can_be_forgotten(runs: list[Path], output: Path) -> None:
    with pytest.raises(UsageError, match=r"no run 9 \(there are: 1, 2, 3\)"):
        forget(Here(), str(output), [9], [])
    with pytest.raises(UsageError, match="no run has read it"):
        forget(Here(), str(output), [], ["/no/where.pcap"])
    runs[2].unlink()
    before = counted(output)
    with pytest.raises(InputError, match="gone or changed"):
        forget(Here(), str(output), [1], [])
    assert counted(output) == before


def test_many_files_become_one_a_day(runs: list[Path], samples: Path, tmp_path: Path, output: Path) -> None:
    before, unread = counted(output), runs[2].with_name("later.pcap")
    made = compact(str(output))
    assert made.after < made.before
    assert counted(output) == before
    assert len(Journal(str(output)).runs.stored()["exchanges"]) == 1
    assert compact(str(output)).before == made.after
    unread.write_bytes((samples / "java44-consume-classic.pcap").read_bytes())
    run_here([*runs, unread], output)
    assert_decoded(output, [samples / "java44-txn.pcap", unread])
    assert unaccounted(output) == 0


def test_a_run_that_dies_while_it_compacts(runs: list[Path], output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = counted(output)
    with monkeypatch.context() as dying:
        dying.setattr(Journal, "publish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            compact(str(output))
    assert vacuum(str(output)) == []
    assert counted(output) == before


def test_what_no_run_refers_to_is_removed(runs: list[Path], output: Path) -> None:
    before = counted(output)
    stray = output / "clients" / "00000009-x.parquet"
    stray.parent.mkdir(exist_ok=True)
    stray.write_bytes(b"left")
    (output / "notes.txt").write_text("mine")
    assert str(stray) in vacuum(str(output), 0)
    assert (counted(output), (output / "notes.txt").exists()) == (before, True)
    assert vacuum(str(output)) == []

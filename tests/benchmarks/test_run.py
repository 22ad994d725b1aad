"""The runner of the benches: which ones it runs, and that one that fails is heard of."""

from pathlib import Path

import pytest

from benchmarks import beside, run
from benchmarks.turns import CLOCK


@pytest.fixture
def benches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "benchmarks"
    folder.mkdir(parents=True)
    (folder / "bench_good.py").write_text("print('twice as fast')")
    (folder / "bench_bad.py").write_text("raise SystemExit('no peer')")
    (folder / "helper.py").write_text("raise SystemExit('not a bench')")
    monkeypatch.setattr(run, "HERE", folder)
    return folder


def test_every_bench_runs_and_a_failing_one_is_named(benches: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run.main([]) == 1
    said = capfd.readouterr().out
    assert "twice as fast" in said
    assert said.endswith("failed: bench_bad\n")


def test_names_choose(benches: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run.main(["good"]) == 0
    assert "bench_bad" not in capfd.readouterr().out


def test_a_whole_name_is_that_bench_alone(benches: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (benches / "bench_goodness.py").write_text("print('thrice')")
    assert run.main(["good"]) == 0
    assert "thrice" not in capfd.readouterr().out
    assert run.main(["goo"]) == 0
    assert "thrice" in capfd.readouterr().out


def test_an_unknown_name_lists_what_there_is(benches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["ugly"]) == 2
    assert capsys.readouterr().out == "no bench is called ugly; there are: bench_bad, bench_good\n"


def test_beside_an_old_kcli_all_ratios_come_last(
    benches: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    checkout, old = benches.parent, benches.parent / "old"
    (old / "benchmarks").mkdir(parents=True)
    for root, speed in ((checkout, 3), (old, 4)):
        (root / "benchmarks" / "bench_good.py").write_text(f"print('fast {speed} MB/s')  # turn()")
    (benches / "bench_bad.py").write_text("print('new')")
    monkeypatch.setattr(beside, "ROOT", checkout)
    monkeypatch.setattr(beside, "install", lambda _: old)
    assert run.main(["--old", "x"]) == 0
    said = capfd.readouterr().out
    assert "(the old kcli has no such bench)\n" in said and "\nnew\n" not in said
    assert said.endswith("\n 0.75  good fast\n1 rows, lowest 0.75\n")


def test_beside_an_old_kcli_long_benches_are_shortened(
    benches: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (benches / "bench_good.py").write_text("import sys; print('given', *sys.argv[1:])")
    old = benches.parent / "old"
    (old / "benchmarks").mkdir(parents=True)
    (old / "benchmarks" / "bench_good.py").write_text((benches / "bench_good.py").read_text())
    monkeypatch.setattr(beside, "ROOT", benches.parent)
    monkeypatch.setattr(beside, "install", lambda _: old)
    monkeypatch.setitem(run.BRIEF, "bench_good", ["little"])
    for words, given in ([], "given little\n"), (["--", "much"], "given much\n"):
        assert run.main(["--old", "x", "good", *words]) == 0
        assert given in capfd.readouterr().out
    assert run.main(["good"]) == 0
    assert "given\n" in capfd.readouterr().out


def test_the_processors_clock(
    benches: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(CLOCK, "")
    (benches / "bench_good.py").write_text(f"import os; print('clock', os.environ[{CLOCK!r}])")
    assert run.main(["--cpu", "good"]) == 0
    assert "clock processor\n" in capfd.readouterr().out

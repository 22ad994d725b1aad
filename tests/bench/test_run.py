"""The runner of the benches: which ones it runs, and that one that fails is heard of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import run


@pytest.fixture
def benches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tests" / "bench"
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


def test_an_unknown_name_lists_what_there_is(benches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["ugly"]) == 2
    assert capsys.readouterr().out == "no bench is called ugly; there are: bench_bad, bench_good\n"

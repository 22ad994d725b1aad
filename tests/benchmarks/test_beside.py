"""A bench on two kclis: figures side by side, and where each kcli comes from."""

from pathlib import Path

import pytest

from benchmarks import beside, run


def reported(new: str, old: str) -> list[str]:
    return list(beside.compared([new], [old]))


def test_ratios_stand_below_the_figures_that_differ() -> None:
    new, ratios = reported("decode   200 MB  1,020 MB/s  0.45 s", "decode   200 MB    510 MB/s  0.50 s")
    assert ratios.split() == ["2.00", "0.90", "new/old"]
    assert new.index("1,020") + len("1,020") == ratios.index("2.00") + len("2.00")


def test_a_ratio_wider_than_its_figure_moves_to_the_right() -> None:
    assert reported("3x 4x", "2x 8x")[1] == "1.50 0.50   new/old"


def test_the_same_figures_have_no_ratio() -> None:
    assert reported("4.4.0: 17 topics", "4.4.0: 17 topics") == ["4.4.0: 17 topics"]


def test_of_nothing_there_is_no_ratio() -> None:
    assert reported("5 lost", "0 lost")[1] == "-   new/old"


def test_a_line_without_its_like_is_said() -> None:
    assert reported("kcli stats 1 s", "kcli decode 1 s") == ["kcli stats 1 s", "   (no such line from the old one)"]


def test_lines_alike_are_compared_in_their_order() -> None:
    assert list(beside.compared(["a 2", "a 9"], ["a 1", "a 3"])) == ["a 2", "2.00   new/old", "a 9", "3.00   new/old"]


def test_a_version_is_no_figure() -> None:
    assert reported("kio v12 a2", "kio v13 a3") == ["kio v12 a2"]


@pytest.fixture
def checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout and an old kcli with the same bench, which prints its package's speed."""
    for name, speed in (("checkout", 30), ("old", 20)):
        (tmp_path / name / "kcli").mkdir(parents=True)
        (tmp_path / name / "kcli" / "__init__.py").write_text(f"SPEED = {speed}")
        (tmp_path / name / "bench.py").write_text(
            "import kcli, sys  # turn()\nprint('speed', kcli.SPEED, *sys.argv[1:])"
        )
    monkeypatch.setattr(beside, "ROOT", tmp_path / "checkout")
    return tmp_path


def test_both_run_with_their_own_package(checkouts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes, ratios = beside.run_both(Path("bench.py"), ["MB/s"], checkouts / "old")
    assert codes == {"new": 0, "old": 0}
    assert ratios == [(1.5, "bench speed", False)]
    assert capsys.readouterr().out == "speed 30 MB/s\n    1.50   new/old\n"


def test_one_that_fails_does_not_stop_the_other(checkouts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkouts / "old" / "kcli" / "__init__.py").write_text("")
    assert beside.run_both(Path("bench.py"), [], checkouts / "old") == ({"new": 0, "old": 1}, [])
    assert capsys.readouterr().out == "speed 30\n   (no such line from the old one)\n"


def test_an_old_bench_takes_turns_where_the_new_one_does() -> None:
    own = "import time\n\nold = 1\nstart = time.time()\nprint(old)\n"
    ours = "import time\nfrom benchmarks.turns import turn\n\nnew = 2\nturn()\nstart = time.time()\nprint(new, start)\n"
    merged = "import time\nfrom benchmarks.turns import turn\n\nold = 1\nturn()\nstart = time.time()\nprint(old)\n"
    assert beside.with_turns(own, ours) == merged
    assert beside.with_turns(merged, ours) == merged


@pytest.mark.parametrize("benches", [Path("benchmarks"), beside.EARLIER])
def test_a_revisions_own_benches_find_turns(benches: Path, tmp_path: Path) -> None:
    source, made = tmp_path / "source", tmp_path / "made"
    for each in beside.CHECKOUT:
        (source / each).mkdir(parents=True)
    made.mkdir()
    bench = source / benches / "bench_pcap.py"
    bench.parent.mkdir(exist_ok=True)
    package = ".".join(benches.parts)
    ours = (beside.ROOT / "benchmarks" / bench.name).read_text().replace("from benchmarks.", f"from {package}.")
    bench.write_text(ours.replace("    turn()\n", "").replace(f"from {package}.turns import turn\n", ""))
    beside.keep_own(source, made)
    kept = made / beside.OWN / benches
    assert (kept / "bench_pcap.py").read_text() == ours
    assert (kept / "turns.py").is_file()


def test_neither_a_wheel_nor_a_revision() -> None:
    with pytest.raises(SystemExit, match=r"^no-such: neither a wheel nor a git revision$"):
        beside.install("no-such")


@pytest.mark.parametrize(
    ("imported", "side"),
    [
        ("from kcli import SPEED", "."),
        ("from kcli.moved import SPEED", "own"),
        ("PROGRAM = '''\nfrom kcli.moved import SPEED\n'''", "own"),
    ],
)
def test_a_bench_that_the_other_kcli_can_not_run_is_its_own_one(checkouts: Path, imported: str, side: str) -> None:
    old = checkouts / "old"
    (old / "own").mkdir()
    (old / "own" / "kcli").symlink_to(old / "kcli")
    (old / "bench.py").write_text(imported)
    (old / "own" / "bench.py").write_text("from kcli import SPEED")
    assert beside.side_for(Path("bench.py"), old) == old / side


def test_a_bench_that_runs_on_neither_is_left_out(checkouts: Path) -> None:
    (checkouts / "old" / "bench.py").write_text("from kcli.moved import SPEED")
    assert beside.side_for(Path("bench.py"), checkouts / "old") is None


@pytest.mark.parametrize("bench", run.scripts([]), ids=lambda path: path.stem)
def test_a_bench_imports_what_there_is(bench: Path) -> None:
    assert beside.can_run(beside.ROOT, bench.relative_to(beside.ROOT))

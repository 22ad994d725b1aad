"""`kcli pipeline history`, `forget`, `compact` and `vacuum`; what they do is tested in tests/pipeline."""

from pathlib import Path

import pytest

from kcli.cli.main import main

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def tables(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    output = str(tmp_path_factory.mktemp("tables") / "out")
    for name in ("java44-txn.pcap", "ipv6.pcapng"):
        words = ["--input", str(samples / name), "--output", output, "--engine", "local", "--quiet"]
        assert main(["pipeline", "run", *words]) == 0
    return output


def test_runs_and_what_becomes_of_them(tables: str, samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    forgotten = str(samples / "java44-txn.pcap")
    assert main(["pipeline", "forget", tables, "--file", forgotten, "--engine", "local"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "forgotten: 1 capture" and "captures read again: those of run 1, 2" in said
    assert main(["pipeline", "history", tables]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "1", "2", "3"]
    assert "(replaced)" in lines[1] and lines[3].endswith(forgotten)
    assert main(["pipeline", "compact", tables]) == 0
    assert "before" in capsys.readouterr().err
    assert main(["pipeline", "vacuum", tables]) == 0
    assert capsys.readouterr().err == "removed: 0 files\n"


def test_all_is_forgotten(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture, output = str(samples / "ipv6.pcapng"), str(tmp_path / "out")
    assert main(["pipeline", "run", "--input", capture, "--output", output, "--engine", "local", "-q"]) == 0
    assert main(["pipeline", "forget", output, "--run", "1", "--engine", "local"]) == 0
    assert capsys.readouterr().err == "forgotten: 1 capture\n"


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["forget", "{}"], 2, "--run or --file says what"),
        (["forget", "{}", "--run", "7", "--engine", "local"], 2, "no run 7"),
        (["history", "{}/exchanges"], 3, "no tables of `kcli pipeline run` in it"),
        (["compact", "{}/exchanges"], 3, "no tables of `kcli pipeline run` in it"),
        (["vacuum", "{}/exchanges"], 3, "no tables of `kcli pipeline run` in it"),
    ],
)
def test_wrong_calls_are_one_line(
    words: list[str], code: int, text: str, tables: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", *(word.format(tables) for word in words)]) == code
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1

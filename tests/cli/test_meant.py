"""A command line that makes no sense is answered with the one that was meant, which works."""

import os
import shlex
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.suggestions import file_like
from tests.diagnose.captured import DATA

QUERY = "SELECT count(*) FROM exchanges"
LONG_QUERY = f"{QUERY} WHERE api IN ({', '.join(['7'] * 80)})"  # longer than a file's name may be
MEANT = [
    (["night.pcap", "--by", "client"], "stats night.pcap --by client"),
    (["night.pcap", "--format", "json"], "diagnose night.pcap --format json"),
    (["night.pcap", "--errors"], "decode pcap night.pcap --errors"),
    (["night.pcap", "--errors", "PRODUCER_FENCED"], "decode pcap night.pcap --errors=PRODUCER_FENCED"),
    (["night.pcap", "--min-latency", "5ms"], "decode pcap night.pcap --slower-than 5ms"),
    (["night.pcap", "--group", "orders"], "diagnose night.pcap --group orders"),
    (["night.pcap", "diagnose"], "diagnose night.pcap"),
    (["night.pcap", "decode"], "decode night.pcap"),
    (["night.pcap", "stats", "--by", "client"], "stats night.pcap --by client"),
    (["night.pcap", "fetch-session", "explain"], "fetch-session explain night.pcap"),
    (["night.pcap", QUERY], f'sql "{QUERY}" night.pcap'),
    (["night.pcap", "sql", QUERY], f'sql "{QUERY}" night.pcap'),
    (["sql", "night.pcap", QUERY], f'sql "{QUERY}" night.pcap'),
    (["sql", "night.pcap", LONG_QUERY], f'sql "{LONG_QUERY}" night.pcap'),
    ([QUERY, "night.pcap"], f'sql "{QUERY}" night.pcap'),
    (["decode", "night.pcap", "--min-latency", "5"], "decode night.pcap --slower-than 5"),
    (
        ["decode", "pcap", "night.pcap", "--errors", "PRODUCER_FENCED,NONE"],
        "decode pcap night.pcap --errors=PRODUCER_FENCED,NONE",
    ),
    (["stats", "night.pcap", "--slower=5"], "stats night.pcap --slower-than=5"),
    (["stats", "night.pcap", "--errors", "PRODUCER_FENCED"], "stats night.pcap --errors=PRODUCER_FENCED"),
    (["stats", "night.pcap", "--top", "3"], "stats night.pcap --limit 3"),
    (["stats", "night.pcap", "--json"], "stats night.pcap --format jsonl"),
    (["stats", "night.pcap", "--csv"], "stats night.pcap --format csv"),
    (["stats", "night.pcap", "--group", "orders"], "diagnose night.pcap --group orders"),
    (["diagnose", "--by", "client", "night.pcap"], "stats --by client night.pcap"),
    (["-dash.pcap"], "./-dash.pcap"),
    (["diagnose", "-dash.pcap", "-q"], "diagnose ./-dash.pcap -q"),
    (["stats", "night.pca"], "stats night.pcap"),
]
NOBODY_KNOWS = [
    ["stats", "nothing-like-it"],
    ["stats", "night.pcap", "--no-such-thing"],
    ["decode", "pcap", "night.pcap", "--limit", "x"],
    ["night.pcap", "--port", "x"],
    ["diagnose", "night.pcap", "also"],
    ["diagnose", "night.pcap", ""],  # "$NAME" of a variable that is not set
    ["night.pcap", "diagnose", ""],
    ["night.pcap", " ", "stats"],
    ["-q"],
    ["--by"],
    ["--format", "json"],
]


@pytest.fixture
def folder(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("night.pcap", "-dash.pcap"):
        Path(name).write_bytes((samples / "java44-txn.pcap").read_bytes())
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("argv", "meant"), MEANT, ids=lambda each: " ".join(each) if isinstance(each, list) else "")
def test_what_was_meant_is_told_in_one_line(argv: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) in (2, 3)
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.endswith(f"; did you mean: kcli {meant}\n")
    code = main(shlex.split(meant))
    assert code in (0, 1) and "No such" not in capsys.readouterr().err  # 1: nothing has such an error


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("argv", NOBODY_KNOWS, ids=" ".join)
def test_nothing_is_suggested_that_would_not_work(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) in (2, 3)
    assert "did you mean: kcli" not in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["decode", "pcap", "night.pcap", "--limit", "3"], "decode pcap night.pcap | head -n 3"),
        (["records", "--top=2", "night.pcap"], "records night.pcap | head -n 2"),
    ],
)
def test_the_first_lines_are_those_of_head(argv: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean: kcli {meant}\n")


@pytest.mark.usefixtures("folder")
def test_a_pipe_is_not_looked_into(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert main(["pipe", "--by", "client"]) == 2
    assert "did you mean: kcli" not in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_a_name_with_a_dash_in_front(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--", "-dash.pcap"]) == 0
    assert capsys.readouterr().out.startswith("-dash.pcap  capture, 2.1 s ")


def test_usage_of_a_file_names_it_once(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(DATA / "busy-fetch-pricing.pcap.zst")
    for argv, usage in (
        ([file], "kcli FILE|DIR... [OPTIONS]"),
        (["decode", file], "kcli decode FILE|DIR... [OPTIONS]"),
    ):
        assert main([*argv, "--help"]) == 0
        assert capsys.readouterr().out.splitlines()[0] == f"Usage: {usage}"
    assert main(["decode", "pcap", "--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: kcli decode pcap [OPTIONS] FILE|DIR...")


@pytest.mark.usefixtures("folder")
def test_a_name_without_letters_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "night.pcap", ""]) == 3
    assert capsys.readouterr() == ("", "kcli: '': No such file or directory\n")


@pytest.mark.parametrize(("name", "meant"), [("nigth.pcap", "night.pcap"), ("day.pcap", ""), ("orders.pcap", "")])
def test_only_a_file_with_a_like_name_is_offered(tmp_path: Path, name: str, meant: str) -> None:
    """An ending in common made any file of the folder alike."""
    (tmp_path / "night.pcap").write_bytes(b"")
    assert file_like(tmp_path / name) == (tmp_path / meant if meant else None)

"""`kcli pipeline run` and `tables`, mostly without Spark; the runs themselves are tested in tests/pipeline."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from tests.pipeline.conftest import lay_canaries
from tests.pipeline.outputs import Here
from tests.processes import on_full_disk

pytest.importorskip("pyspark")


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Tasks run here; what the session was asked for."""
    asked: dict[str, Any] = {}

    def session(master: str | None, **options: Any) -> None:
        asked.update(options, master=master)

    monkeypatch.setattr("kcli.pipeline.spark.session", session)
    monkeypatch.setattr("kcli.pipeline.spark_engine.SparkEngine", lambda _spark: Here())
    return asked


def test_a_run_and_the_same_again(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "pipeline",
        "run",
        "--input",
        str(samples / "java44-txn.pcap"),
        "--output",
        str(tmp_path / "out"),
        "--shares",
        "1",
    ]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[0] == "1 capture, 276 packets, 78 exchanges, 0 events"
    assert f"kcli pipeline report {tmp_path / 'out'} -o report.html" in said.err
    assert main(words) == 0
    assert capsys.readouterr().err == "nothing new: 1 file was read before\n"
    assert main([*words, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_a_folder_without_captures_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("no capture")
    words = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--engine", "local"]
    assert main(["pipeline", "run", *words]) == 3
    assert "in: no capture in it (looked for names with .pcap, .pcapng, .cap, " in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_run_imports_no_pandas(samples: Path, tmp_path: Path) -> None:
    """That takes longer than a small run."""
    words = ["pipeline", "run", "--engine", "local", "--input", str(samples / "kcat-codecs.pcap"), "--output", "out"]
    script = f"import sys; from kcli.cli import main; main.main({words!r}); sys.exit('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_damage_is_exit_3_and_the_rest_is_there(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cut.pcap"
    path.write_bytes((samples / "java44-txn.pcap").read_bytes()[:-5])
    assert main(["pipeline", "run", "--input", str(path), "--output", str(tmp_path / "out"), "--quiet"]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"kcli: {path}: the file ends in the middle of a packet")
    assert said.count("\n") == 1
    assert list((tmp_path / "out" / "exchanges").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (["--input", "/no/where"], 3, "/no/where: No such file"),
        ([], 2, "--input"),
        (["--input", "x", "--conf"], 2, "--conf"),
    ],
)
def test_wrong_calls_are_one_line(
    words: list[str], code: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["pipeline", "run", "--output", str(tmp_path / "out"), *words]) == code
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1


def test_what_spark_is_asked_for(samples: Path, tmp_path: Path, no_spark: dict[str, Any]) -> None:
    words = [
        "--master",
        "spark://h:1",
        "--conf",
        "a=b=c",
        "--py-files",
        "x.zip",
        "--quiet",
        "--output",
        str(tmp_path / "o"),
    ]
    assert main(["pipeline", "run", "--input", str(samples / "java44-txn.pcap"), *words]) == 0
    assert no_spark["master"] == "spark://h:1"
    assert no_spark["settings"] == {"a": "b=c", "spark.submit.pyFiles": "x.zip"}
    assert no_spark["log"] == str(tmp_path / "o" / "_kcli" / "spark.log")


def test_a_run_with_its_report(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    words = ["--input", str(samples / "java44-txn.pcap"), "--output", str(tmp_path / "out"), "--report", str(page)]
    assert main(["pipeline", "run", *words]) == 0
    said = capsys.readouterr().err
    assert "Next:" not in said
    assert said.splitlines()[-1].startswith(f"report in {page} (")
    assert page.read_text().startswith("<!doctype html>")


def test_a_report_is_not_written_over_a_capture(samples: Path, tmp_path: Path, no_spark: dict[str, Any]) -> None:
    capture = tmp_path / "in.pcap"
    capture.write_bytes((samples / "java44-txn.pcap").read_bytes())
    for given in (capture, tmp_path):
        words = ["--input", str(given), "--output", str(tmp_path / "out"), "--report", str(capture)]
        assert main(["pipeline", "run", *words]) == 2
    assert capture.read_bytes() == (samples / "java44-txn.pcap").read_bytes()
    assert not no_spark


def test_a_short_run_is_asked_for_as_such(samples: Path, tmp_path: Path, no_spark: dict[str, Any]) -> None:
    words = ["--input", str(samples / "java44-txn.pcap"), "--quiet", "--output", str(tmp_path / "o")]
    assert main(["pipeline", "run", *words]) == 0
    assert no_spark["brief"] is True


def test_a_run_without_spark(
    samples: Path, tmp_path: Path, no_spark: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """And its hint, where Spark has read as little."""
    words = ["pipeline", "run", "--input", str(samples / "java44-txn.pcap"), "--output", str(tmp_path / "out")]
    page = tmp_path / "report.html"
    assert main([*words, "--engine", "local", "--report", str(page)]) == 0
    said = capsys.readouterr().err
    assert said.splitlines()[0] == "1 capture, 276 packets, 78 exchanges, 0 events"
    assert "Hint" not in said
    assert page.read_text().startswith("<!doctype html>")
    assert list((tmp_path / "out" / "clients").glob("*.parquet"))
    assert not no_spark
    assert main([*words[:-1], str(tmp_path / "other")]) == 0
    assert "--engine local" in capsys.readouterr().err.splitlines()[-1]
    assert no_spark


def test_names_with_marks_of_a_query(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question mark in a path of this machine is a letter like others, of a capture and of the output."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in?").mkdir()
    (tmp_path / "in?" / "what? #1 [x].pcap").write_bytes((samples / "ipv6.pcapng").read_bytes())
    for form in ("delta", "parquet"):
        words = ["--input", "in?", "--output", f"{form}? é", "--engine", "local", "--table-format", form, "-q"]
        assert main(["pipeline", "run", *words]) == 0
        assert main(["sql", "SELECT count(*) AS n FROM exchanges", f"{form}? é", "--format", "jsonl", "-o", form]) == 0
        assert json.loads((tmp_path / form).read_text())["n"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["delta", "delta? é", "in?", "parquet", "parquet? é"]


def test_a_full_disk_is_one_line(samples: Path, tmp_path: Path) -> None:
    """It names the file; and once more, when what writes Parquet is collected, it is not said."""
    output = str(tmp_path / "out")
    words = ["pipeline", "run", "--input", str(samples / "java44-txn.pcap"), "--output", output, "--engine", "local"]
    done = on_full_disk(words, 2048)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert done.stderr.startswith(f"kcli: {output}/_kcli/") and done.stderr.endswith(": File too large\n")


def test_captures_as_they_come_without_spark(
    samples: Path, tmp_path: Path, no_spark: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "pipeline",
        "run",
        "--engine",
        "local",
        "--stream",
        "--idle",
        "0",
        "--input",
        str(samples),
        "--settle",
        "0",
    ]
    assert main([*words, "--output", str(tmp_path / "out"), "--series", r"^\w+"]) == 0
    assert "7 captures" in capsys.readouterr().err
    assert not no_spark


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--master", "local"], "--master is for Spark"),
        (["--py-files", "x.zip"], "--py-files is for Spark"),
        (["--series", "("], "--series (: "),
        (["--output", "s3://b/out?region=x"], "writes only to local folders"),
    ],
)
def test_what_the_engine_without_spark_has_not(
    words: list[str], text: str, samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--input", str(samples / "java44-txn.pcap"), "--output", str(tmp_path / "out"), "--engine", "local"]
    assert main(["pipeline", "run", *given, *words]) == 2
    said = capsys.readouterr().err
    assert text in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "tables"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()][1:3] == ["exchanges", "fetch_partitions"]
    assert main(["pipeline", "tables", "quorum"]) == 0
    assert "end_offset" in capsys.readouterr().out
    assert main(["pipeline", "tables", "nosuch"]) == 2
    assert "nosuch: no such table" in capsys.readouterr().err


def test_a_second_run_says_who_is_at_work(
    samples: Path, tmp_path: Path, no_spark: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    from kcli.pipeline.output_lock import holding

    words = ["pipeline", "run", "--input", str(samples / "java44-txn.pcap"), "--quiet", "--output", str(tmp_path / "o")]
    with holding(str(tmp_path / "o")):
        assert main(words) == 4
    said = capsys.readouterr().err
    assert said.startswith(f"kcli: {tmp_path / 'o'}: another run writes to it, process ")
    assert said.count("\n") == 1
    assert not no_spark
    assert main([*words, "--wait"]) == 0


def test_nothing_in_the_current_folder_is_executed(samples: Path, tmp_path: Path) -> None:
    """By kcli; of Spark's workers and the daemon that starts them, see tests/pipeline/test_spark.py."""
    canary = lay_canaries(tmp_path)
    words = ["pipeline", "run", "--input", str(samples / "java44-txn.pcap"), "--output", "out", "--engine", "local"]
    script = Path(sys.executable).with_name("kcli")
    done = subprocess.run([str(script), *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, canary.exists()) == (0, False), done.stderr
    assert list((tmp_path / "out" / "exchanges").rglob("*.parquet"))


def test_the_format_of_tables(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Delta tables need deltalake, plain files do not; a folder keeps its own."""
    words = ["pipeline", "run", "--engine", "local", "--quiet", "--output", str(tmp_path / "out")]
    words += ["--input", str(samples / "ipv6.pcapng")]
    monkeypatch.setitem(sys.modules, "deltalake", None)
    assert main(words) == 2
    assert "needs deltalake (pip install 'kcli-kafka[delta]')" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*words, "--table-format", "parquet"]) == 0
    assert main(words) == 0
    assert (tmp_path / "out" / "_kcli" / "journal").is_dir()
    monkeypatch.undo()
    assert main([*words, "--table-format", "delta"]) == 2
    assert "holds tables as parquet, not delta (take --table-format parquet)" in capsys.readouterr().err


def test_standard_input_is_no_capture_of_a_pipeline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "run", "--engine", "local", "--input", "-", "--output", str(tmp_path / "out")]) == 2
    assert "--input -: captures are read piece by piece" in capsys.readouterr().err


def test_records_with_their_payloads(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["pipeline", "run", "--input", str(samples / "java44-txn.pcap"), "--output", str(tmp_path / "out")]
    assert main([*words, "--value-format", "utf8"]) == 2
    assert "--records is missing" in capsys.readouterr().err
    assert main([*words, "--records", "--value-schema", str(tmp_path / "none.avsc")]) == 3
    assert "none.avsc" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main([*words, "--records", "--value-format", "utf8"]) == 0
    assert "records 81\n" in capsys.readouterr().err

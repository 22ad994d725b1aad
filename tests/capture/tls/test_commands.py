"""Every command that reads captures takes the keys."""

from pathlib import Path

import pytest

from kcli.cli.main import main
from tests.capture.wires import SAMPLES
from tests.commands import commands

CAPTURE, KEYS = str(SAMPLES / "tls.pcap"), str(SAMPLES / "tls.keys")
READERS = {
    "decode pcap": ["--format", "jsonl", "-q"],
    "stats": ["--format", "jsonl", "-q"],
    "records": ["--format", "jsonl", "-q"],
    "audit": ["-q"],
    "fetch-session explain": ["--format", "jsonl", "-q"],
    "fetch-session lint": [],
    "diagnose": ["--format", "json", "-q"],
}
ELSEWHERE = {
    "compare",
    "sql",
    "report",
    "pipeline run",
    "broker serve",
    "capture",
    "replay",
    "fetch-session replay",
    "snapshot extract",
    "top",
    "redact",
}


def test_who_takes_a_key_log() -> None:
    taking = {path for path, command in commands() if any("--key-log" in param.opts for param in command.params)}
    assert taking == READERS.keys() | ELSEWHERE


@pytest.mark.parametrize("words", READERS)
def test_more_is_read_with_the_keys(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    without = reported(words, [CAPTURE], capsys)
    assert reported(words, [CAPTURE, "--key-log", KEYS], capsys) != without


def reported(words: str, more: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    main([*words.split(), *more, *READERS[words]])
    said = capsys.readouterr()
    return said.out + said.err


def test_rows_of_sql_are_decrypted(capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT count(*) AS n FROM exchanges"
    assert main(["sql", query, CAPTURE, "--key-log", KEYS, "--format", "csv", "-q"]) == 0
    assert capsys.readouterr().out == "n\n38\n"


def test_a_report_is_made_of_what_was_decrypted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", CAPTURE, "--key-log", KEYS, "-o", str(tmp_path / "page.html"), "-q"]) == 0
    assert "kp-prod" in (tmp_path / "page.html").read_text() and not capsys.readouterr().err


def test_a_key_log_is_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = tmp_path / "keys.log"
    keys.write_bytes(Path(KEYS).read_bytes())
    assert main(["decode", "pcap", CAPTURE, "--key-log", str(keys), "-o", str(keys)]) == 2
    assert keys.read_bytes() == Path(KEYS).read_bytes()
    assert "input" in capsys.readouterr().err


def test_what_is_no_key_log_is_said_before_anything_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "pcap", CAPTURE, "--key-log", str(tmp_path / "missing")]) == 3
    assert main(["decode", "pcap", CAPTURE, "--key-log", CAPTURE]) == 3
    said = capsys.readouterr()
    assert said.out == "" and "no line of a key log" in said.err

"""Queries typed one after another, in a pipe and on a terminal."""

import io
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kcli.cli.main import main
from kcli.cli.sql.prompt import completions
from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from tests.processes import ended

pytest.importorskip("duckdb")


def asked(text: str, samples: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return main(["sql", str(samples / "ipv6.pcapng"), *words])


def test_queries_of_a_pipe(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = "SELECT 1 AS a;\nSELECT count(*)\n  AS n\nFROM connections;\nSELECT 3 AS c"
    assert asked(text, samples, monkeypatch, "--format", "jsonl") == 0
    assert capsysbinary.readouterr().out == b'{"a":1}\n{"n":9}\n{"c":3}\n'
    assert asked(".tables\n.quit\nSELECT 1;", samples, monkeypatch) == 0
    said = capsysbinary.readouterr().out
    assert b"exchanges: " in said and not said.endswith(b"1\n")


def test_a_wrong_query_of_a_pipe_ends_it(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked("selec;\nSELECT 1;", samples, monkeypatch) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.startswith("kcli: query: Parser Error") and captured.err.count("\n") == 1


def test_completion_knows_tables_columns_and_words(samples: Path) -> None:
    with open_engine(sort_inputs([str(samples / "ipv6.pcapng")]), {}) as engine:
        assert completions(engine, "exch") == ["exchange_bytes", "exchanges"]
        assert completions(engine, "exch", "SELECT 1 from ") == ["exchanges"]
        assert completions(engine, "conn") == ["connection", "connections"]
        assert completions(engine, "SEL") == ["SELECT"] and completions(engine, "sel") == ["select"]
        assert "client_id" in completions(engine, "client") and completions(engine, "zzz") == []


def test_a_terminal(samples: Path, tmp_path: Path) -> None:
    """A query, a wrong one, completion with Tab, history in the next session."""
    environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(tmp_path), "INPUTRC": "/dev/null"}
    for typed, shown in (
        (
            [b"SELECT 40 + 2 AS n;\n", b"selec;\n", b"SELECT count(*) FROM exch\t;\n", b".quit\n"],
            [b"42", b"Parser", b"37"],
        ),
        ([b"\x1b[A\x1b[A\n", b"\x04"], [b"37"]),
    ):
        said = converse([sys.executable, "-m", "kcli.cli", "sql", str(samples / "ipv6.pcapng")], typed, environment)
        assert all(each in said for each in shown), said
        assert b"kcli sql>" in said and b"Traceback" not in said and b"leaked" not in said


def converse(command: list[str], typed: list[bytes], environment: dict[str, str]) -> bytes:
    """What a command says while lines are typed, each behind a prompt."""
    ours, theirs = pty.openpty()
    with ended(subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)) as process:
        os.close(theirs)
        said = b""
        end = time.monotonic() + 120
        prompts = 0
        while time.monotonic() < end:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            said += piece
            if typed and said.count(b"kcli sql> ") > prompts and said.rstrip().endswith(b"kcli sql>"):
                prompts = said.count(b"kcli sql> ")
                os.write(ours, typed.pop(0))
        assert process.wait(60) == 0
    os.close(ours)
    return said


@pytest.mark.parametrize("end", ["exit", "quit", "\\q", ".exit", "EXIT;"])
def test_what_ends_it(
    end: str, samples: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert asked(f"SELECT 1 AS a;\n{end}\nSELECT 2 AS a;", samples, monkeypatch, "--format", "jsonl") == 0
    assert capsysbinary.readouterr().out == b'{"a":1}\n'


def test_help_and_the_columns_of_a_table(
    samples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for word in ("help", "?", ".help"):
        assert asked(word, samples, monkeypatch) == 0
        assert ".schema [TABLE]" in capsys.readouterr().out
    assert asked(".schema connections\n.schema", samples, monkeypatch, "--format", "jsonl") == 0
    shown = capsys.readouterr().out
    assert '"round_trip_ms"' in shown and '"name":"exchanges"' in shown
    assert asked(".nosuch", samples, monkeypatch) == 2
    assert capsys.readouterr().err == "kcli: .nosuch: no such command (help shows those that there are)\n"


def test_queries_of_a_file(samples: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    script, out = tmp_path / "questions.sql", tmp_path / "out"
    capture = str(samples / "ipv6.pcapng")
    script.write_text("-- how many\nSELECT 1 AS a\n  -- only one\n;\nSELECT 2 AS b;\n")
    assert main(["sql", "-f", str(script), capture, "--format", "jsonl"]) == 0
    assert capsysbinary.readouterr().out == b'{"a":1}\n{"b":2}\n'
    assert main(["sql", "-f", str(script), capture, "-o", str(out)]) == 2
    script.write_text("SELECT 1 AS a")
    assert main(["sql", "-f", str(script), capture, "--format", "csv", "-o", str(out)]) == 0
    assert out.read_bytes() == b"a\n1\n"
    script.write_text("\n")
    assert main(["sql", "-f", str(script), capture]) == 2


def test_cells_of_csv_that_a_spreadsheet_would_run(samples: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    query = "SELECT '=1+1' AS a, '-x' AS b, -5 AS c, '@s' AS d, '+4' AS e, 'x=1' AS f"
    capture = str(samples / "ipv6.pcapng")
    rows = []
    for more in ([], ["--escape-formulas"]):
        assert main(["sql", query, capture, "--format", "csv", *more]) == 0
        rows.append(capsysbinary.readouterr().out.splitlines()[1])
    assert rows == [b"=1+1,-x,-5,@s,+4,x=1", b"'=1+1,'-x,-5,'@s,'+4,x=1"]

"""`kcli pipeline report`, with answers made by hand; asking is tested in tests/pipeline."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.cli.diagnose.stored import over_tables
from kcli.cli.main import main
from kcli.cli.pipeline.report import cell
from kcli.finding import Finding
from kcli.pipeline.entry import Entry

pytest.importorskip("pyspark")
pytest.importorskip("duckdb")


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.pipeline.answers import answers

    monkeypatch.setattr("kcli.report.fleet.ask_here", lambda _: iter(answers()))
    see = 'kcli sql "SELECT * FROM throttling" FILE...'
    found = Finding("throttled", "warning", {"client": "loader"}, {}, "raise it", text="loader is throttled", see=see)
    monkeypatch.setattr("kcli.pipeline.report.stored_findings", lambda _: iter([found]))
    journal = SimpleNamespace(entries=[Entry(1, "_kcli/run")], unfounded=dict)
    monkeypatch.setattr("kcli.pipeline.report.opened", lambda _: journal)


def test_a_page(answered: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert main(["pipeline", "report", str(tmp_path), "-o", str(page)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert capsys.readouterr().err.startswith(f"report in {page} (")


def test_a_page_is_not_written_over_tables(answered: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("exchanges/1.parquet", "_kcli/journal/00000001.json"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_bytes(b"table")
        assert main(["pipeline", "report", str(tmp_path), "-o", str(path)]) == 2
        assert path.read_bytes() == b"table"
        assert "belongs to the input" in capsys.readouterr().err


def test_tables_on_the_terminal(answered: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "report", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("warning   throttled  loader is throttled\n")
    assert f'see: kcli sql "SELECT * FROM throttling" {tmp_path}\n' in said
    assert "Findings: 1 warning.\n\nClients that an upgrade refuses\nclient" in said
    assert "<old & co>" in said
    assert "No fetch requested an older format." in said


def test_a_command_over_captures_is_one_over_tables_where_these_have_what_it_reads() -> None:
    throttling = 'kcli sql "SELECT * FROM throttling" '
    over = {
        f"{throttling}FILE...": f'{throttling}"a b"',
        'kcli sql "SELECT key FROM records p" FILE...': 'kcli sql "SELECT key FROM records p" FILE...',
        "kcli stats FILE... --by broker": "kcli stats FILE... --by broker",
    }
    assert {see: over_tables(see, "a b") for see in over} == over


def test_spark_is_asked_where_it_is_named(
    answered: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from kcli.report.engine import ReportEngine
    from tests.pipeline.answers import answers

    asked: list[Any] = []
    monkeypatch.setattr("kcli.pipeline.spark.session", lambda master, **_: asked.append(master))
    monkeypatch.setattr("kcli.pipeline.report.open_tables", lambda *_: 2)
    monkeypatch.setattr("kcli.pipeline.report.stored_bytes", lambda _: 1)
    monkeypatch.setattr("kcli.pipeline.report.ask", lambda _: iter(answers()))
    monkeypatch.setattr("kcli.pipeline.report.SparkTables", lambda _: ReportEngine(tmp_path / "none"))
    words = ["pipeline", "report", str(tmp_path), "--master", "local[2]"]
    assert main(words) == 0
    assert "<old & co>" in capsys.readouterr().out
    assert main([*words, "-o", str(tmp_path / "page.html")]) == 0
    assert asked == ["local[2]", "local[2]"]
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_a_folder_without_tables_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["-o", str(tmp_path / "page.html")]):
        assert main(["pipeline", "report", str(tmp_path), *more]) == 3
        assert "no tables of `kcli pipeline run` in it" in capsys.readouterr().err


def test_the_sql_alone_needs_no_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "report", str(tmp_path), "--sql"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("-- Clients that an upgrade refuses\nSELECT")
    assert said.count(";\n") == said.count("\n-- ") + 1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("bytes", 999, "999 B"), ("request_bytes", 2048, "2.0 kB"), ("requests", 1234567, "1,234,567"),
        ("ms", 1.5, "1.5"), ("ms", 2.0, "2"), ("x", None, ""), ("complete", True, "yes"), ("partition", 1234, "1234"),
    ],
)  # fmt: skip
def test_values_as_people_read_them(name: str, value: Any, text: str) -> None:
    assert cell(name, value) == text

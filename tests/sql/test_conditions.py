"""Conditions in SQL: which exchanges they hold for, and which are refused before work begins."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.cli.main import main
from kcli.errors import UsageError
from kcli.tables.definition import schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS
from tests.capture.wires import SAMPLES

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")

from kcli.sql.conditions import SqlCondition  # noqa: E402

Capture = pytest.CaptureFixture[str]
Row = dict[str, Any]
TXN = str(SAMPLES / "java44-txn.pcap")


def held(text: str, rows: list[Row]) -> list[bool]:
    with SqlCondition(text) as condition:
        batch = pyarrow.RecordBatch.from_pylist(rows, schema=schema_of(EXCHANGE_COLUMNS))
        made: list[bool] = condition.holds(batch).tolist()
        assert condition.holds(batch).tolist() == made
    return made


ROWS: list[Row] = [
    {"api": "FETCH", "latency_ms": 1.5, "request": '{"topics":[{"topic":"a"}]}', "errors": []},
    {"api": "ADD_PARTITIONS_TO_TXN", "latency_ms": None, "request": None, "errors": ["NONE", "X"], "error": "X"},
    {"api": None, "latency_ms": 200.0, "request": '{"topics":[]}', "client_id": "\u00e4\x00"},
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latency_ms > 100", [False, False, True]),
        ("latency_ms is null", [False, True, False]),
        ("not latency_ms > 100", [True, False, False]),
        ("api = 'Fetch'", [True, False, False]),
        ("api in ('addPartitionsToTxn', '1')", [True, True, False]),
        ("api <> 'fetch' or exchanges.api = 'FETCH'", [True, True, False]),
        ("api like 'FET%'", [True, False, False]),
        ("request->>'$.topics[0].topic' = 'a'", [True, False, False]),
        ("'X' in errors or error = 'X'", [False, True, False]),
        ("list_contains(errors, 'NONE')", [False, True, False]),
        ("true", [True, True, True]),
        ("null::boolean", [False, False, False]),
        ("1 = 1 -- a comment", [True, True, True]),
        ("len(list_filter(errors, lambda x: x = 'X')) = 1", [False, True, False]),
    ],
)
def test_which_rows_it_holds_for(text: str, expected: list[bool]) -> None:
    assert held(text, ROWS) == expected


def test_only_the_columns_it_looks_at_are_wanted() -> None:
    with SqlCondition("api = 'Fetch' and latency_ms > 1 or request->>'$.x' = 'response'") as condition:
        assert condition.wanted == {"api", "latency_ms", "request"}
    with SqlCondition("true") as condition:
        assert len(condition.wanted) <= 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("latency > 1", "no column latency"),
        ('error = "NONE"', "no column NONE (a text has single quotes: 'NONE')"),
        ("api", "of type VARCHAR (a condition expected"),
        ("null", "(a condition expected"),
        ("", "empty"),
        (" -- nothing", ""),
        ("true, false", "a condition expected"),
        ("latency_ms >", "syntax error at its end"),
        ("true) or (true", "syntax error"),
        ("true] or [true", "syntax error"),
        ("true) union (select 1", "syntax error"),
        ("true; drop view exchanges", "syntax error"),
        ("exists(select 1)", "a query inside"),
        ("api_key in (select api_key from exchanges)", "a query inside"),
        ("(select count(*) from read_csv('/etc/passwd')) > 0", "a query inside"),
        ("[x for x in (from exchanges)] = []", ""),
        ("count(*) > 1", "aggregates"),
        ("row_number() over () > 1", "window"),
        ("api = ?", ""),
        ("api_key > $x", ""),
        ("api = 'Fetcch'", "Fetcch: no such API; did you mean Fetch?"),
        ("x" * 70_000, "70,000 characters"),
        ("(" * 5000 + "true" + ")" * 5000, ""),
        ("api = '\x1b[31m' and", ""),
        ("errors <> ''", "can't be cast"),
    ],
)
def test_what_is_no_condition_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        SqlCondition(text)
    said = str(refused.value)
    assert said.startswith("--where: ") and why in said and "\n" not in said and "\x1b" not in said
    assert len(said) < 1000


def test_a_wrong_column_is_answered_with_those_that_there_are(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN, "--where", "latency > 1"]) == 2
    said = capsys.readouterr()
    assert not said.out and said.err.count("\n") == 1
    assert f"columns: {', '.join(each.name for each in EXCHANGE_COLUMNS)}" in said.err


def test_the_columns_are_documented() -> None:
    said = (Path(__file__).parents[2] / "docs" / "how-to" / "filters.md").read_text()
    assert all(f"`{each.name}`" in said for each in EXCHANGE_COLUMNS)


def test_what_fails_for_a_value_ends_the_command(capsys: Capture) -> None:
    assert main(["decode", "pcap", TXN, "-q", "--format", "jsonl", "--where", "api::int > 3"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kcli: --where: api::int > 3: Conversion Error") and said.count("\n") == 1


def test_duckdb_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["stats", TXN, "--where", "true"]) == 2
    assert "--where needs duckdb, numpy, pyarrow (pip install 'kcli-kafka[sql]')" in capsys.readouterr().err


def number(row: Row, name: str) -> float:
    return float(row[name] or 0)


SELECTED: dict[str, Callable[[Row], bool]] = {
    "latency_ms > 5": lambda row: number(row, "latencyMs") > 5,
    "request_bytes between 60 and 120": lambda row: 60 <= row["requestBytes"] <= 120,
    "api in ('Fetch', 'metadata') and response_bytes > 100": lambda row: (
        row["requestHeader"]["requestApiKey"] in (1, 3) and number(row, "responseBytes") > 100
    ),
    "response is null": lambda row: row["response"] is None,
    "client_id like '%a%'": lambda row: "a" in (row["requestHeader"]["clientId"] or ""),
    "request->>'$.groupId' is not null": lambda row: (row["request"] or {}).get("groupId") is not None,
    "(response->>'$.throttleTimeMs')::int = 0": lambda row: (row["response"] or {}).get("throttleTimeMs") == 0,
    "correlation_id % 2 = 0": lambda row: row["requestHeader"]["correlationId"] % 2 == 0,
}
CAPTURES = sorted(path for path in SAMPLES.glob("*.pcap*") if path.stat().st_size < 1 << 20)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_it_selects_as_python_does_over_json_lines(path: Path, capsys: Capture) -> None:
    words = ["decode", "pcap", str(path), "--format", "jsonl", "-q"]
    main(words)
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith('{"event"')]
    rows = [json.loads(line) for line in lines]
    for text, fits in SELECTED.items():
        expected = [line for line, row in zip(lines, rows, strict=True) if fits(row)]
        code = main([*words, "--where", text])
        found = [line for line in capsys.readouterr().out.splitlines() if not line.startswith('{"event"')]
        assert found == expected, text
        assert code in (3, 0 if expected else 1), text

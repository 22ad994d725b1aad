"""API names in SQL, written as options take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.sql.engine import Engine
from kcli.sql.scans import Scan

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")
NAMES = ["PRODUCE", "FETCH", "ADD_PARTITIONS_TO_TXN", None]


@pytest.fixture
def engine() -> Iterator[Engine]:
    schema = pyarrow.schema([("api", pyarrow.string()), ("name", pyarrow.string())])

    def source(wanted: frozenset[str]) -> Iterator[Any]:
        yield pyarrow.record_batch({"api": NAMES, "name": ["é", "Fetch", "x", "y"]}, schema=schema)

    with Engine([Scan("exchanges", schema, [source])]) as made:
        yield made


def found(engine: Engine, query: str) -> list[Any]:
    with engine.answer(query) as reader:
        return [row[next(iter(row))] for row in reader.read_all().to_pylist()]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT api FROM exchanges WHERE api = 'Produce'", ["PRODUCE"]),
        ("SELECT api FROM exchanges WHERE name = 'é' AND 'produce' = exchanges.api", ["PRODUCE"]),
        ("SELECT api FROM exchanges WHERE api IN ('Fetch', '0', 'AddPartitionsToTxn')", NAMES[:3]),
        ("SELECT api FROM exchanges WHERE api = 1 OR api = 24", NAMES[1:3]),
        ("SELECT api FROM exchanges WHERE api <> 'fetch' AND name <> 'Fetch'", ["PRODUCE", NAMES[2]]),
        ("SELECT api FROM exchanges WHERE api NOT IN ('fetch') ORDER BY api DESC", ["PRODUCE", NAMES[2]]),
        ("SELECT CASE api WHEN 'Fetch' THEN 'yes' ELSE 'no' END AS x FROM exchanges", ["no", "yes", "no", "no"]),
        ("SELECT count(*) FILTER (WHERE api = 'Fetch') FROM exchanges", [1]),
        ("WITH t AS (SELECT api AS what FROM exchanges) SELECT what FROM t WHERE what = 'Fetch'", ["FETCH"]),
        ("SELECT api FROM exchanges WHERE lower(api) = 'fetch'", ["FETCH"]),
        ("SELECT api FROM exchanges WHERE name = 'Fetch'", ["FETCH"]),
        ("-- api = 'Fetch'\nSELECT api /* 'x' */ FROM exchanges WHERE api = 'Fetch' -- it", ["FETCH"]),
        ("SELECT api FROM exchanges WHERE api IS NOT DISTINCT FROM 'fetch'", ["FETCH"]),
    ],
)
def test_names_are_understood(engine: Engine, query: str, names: list[str]) -> None:
    assert found(engine, query) == names and engine.notes == []


def test_a_plan_is_that_of_the_names(engine: Engine) -> None:
    with engine.answer("EXPLAIN SELECT * FROM exchanges WHERE api = 'Produce'") as reader:
        assert "PRODUCE" in str(reader.read_all().to_pylist())


def test_names_that_no_api_has_are_said(engine: Engine) -> None:
    assert found(engine, "SELECT api FROM exchanges WHERE api = 'Fetcch' OR api LIKE 'Fet%' OR api LIKE 'FET%'") == [
        "FETCH"
    ]
    assert engine.notes == [
        "Fetcch: no such API; did you mean Fetch?",
        "api LIKE 'Fet%': names here are like ADD_PARTITIONS_TO_TXN",
    ]
    assert found(engine, "SELECT api FROM exchanges WHERE api = 'Fetch'") == ["FETCH"] and engine.notes == []

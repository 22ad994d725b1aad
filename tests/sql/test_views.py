"""Tables that SQL makes of others: their columns are those of the definition, their values those of the exchanges."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kcli.sql.given_tables import open_engine
from kcli.sql.inputs import sort_inputs
from kcli.sql.views import VIEWS
from kcli.tables.captured import CAPTURED
from kcli.tables.definition import schema_of


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_the_columns_of_its_definition(name: str, samples: Path) -> None:
    pytest.importorskip("duckdb")
    inputs = sort_inputs([str(samples / "java44-txn.pcap")])
    with open_engine(inputs, {}) as engine, engine.answer(f"FROM {name}") as reader:
        assert reader.schema == schema_of(CAPTURED[name].columns).remove_metadata()
        reader.read_all()


def test_connections_sum_up_their_exchanges(samples: Path, ask: Callable[..., Any]) -> None:
    for path in sorted(samples.glob("*.pcap*")):
        rows = {row["connection"]: row for row in ask("FROM connections", path)}
        made: dict[str, list[Any]] = {}
        for row in ask("FROM exchanges", path):
            made.setdefault(row["connection"], []).append(row)
        assert rows.keys() >= made.keys()
        others = [row for connection, row in rows.items() if connection not in made]
        assert all(row["tls"] and not row["requests"] for row in others)
        for connection, exchanges in made.items():
            row = rows[connection]
            assert row["requests"] == len(exchanges)
            assert row["request_bytes"] == sum(each["request_bytes"] for each in exchanges)
            assert row["response_bytes"] == sum(each["response_bytes"] or 0 for each in exchanges)
            assert row["unanswered"] == sum(each["response_bytes"] is None for each in exchanges)
            assert row["with_errors"] == sum(each["error"] is not None for each in exchanges)
            assert row["first_request"] == min(each["timestamp"] for each in exchanges)
            assert row["last_request"] == max(each["timestamp"] for each in exchanges)
            assert row["apis"] == len({each["api_key"] for each in exchanges})


def test_groups_sum_up_their_joins(samples: Path, ask: Callable[..., Any]) -> None:
    path = samples / "java44-consume-classic.pcap"
    (row,) = ask("FROM groups", path)
    joins = ask("SELECT request, response, timestamp FROM exchanges WHERE api = 'JOIN_GROUP'", path)
    answers = [json.loads(each["response"]) for each in joins]
    assert row["group_id"] == json.loads(joins[0]["request"])["groupId"] and row["joins"] == len(joins)
    assert row["generation"] == max(each["generationId"] for each in answers)
    assert row["members"] == len({each["memberId"] for each in answers} - {""})
    assert row["first_request"] == min(each["timestamp"] for each in joins)


def test_waits_are_those_of_the_responses(samples: Path, ask: Callable[..., Any], tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    texts = ['{"throttleTimeMs":250}', '{"throttleTimeMs":0}', "{}", None]
    columns = {"response": texts, "api": ["FETCH"] * 4, "api_key": [1] * 4, "request": ["{}"] * 4}
    rows = pyarrow.table(columns | {"event": pyarrow.nulls(4, pyarrow.string())})
    pyarrow.parquet.write_table(rows, tmp_path / "x.parquet")
    assert ask("SELECT api, throttle_ms FROM throttling", tmp_path) == [{"api": "FETCH", "throttle_ms": 250}]

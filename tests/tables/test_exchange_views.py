"""The SQL of `throttling` and `groups`, as DuckDB runs it."""

from typing import Any

import pytest

from kcli.tables.exchange_views import EXCHANGE_VIEWS, JSON_MACRO, PAIR_MACRO, exchange_view

ASKED = """
SELECT now() AS timestamp, 's-c' AS connection, 's' AS server, 'c' AS client_id, 'a.pcap' AS file, * FROM (VALUES
    ('JOIN_GROUP', '{"groupId":"g","memberId":""}', '{"memberId":"m","generationId":-1}', ['MEMBER_ID_REQUIRED'], 1),
    ('JOIN_GROUP', '{"groupId":"g","memberId":"m"}', '{"memberId":"m","generationId":3}', [], 2),
    ('JOIN_GROUP', NULL, NULL, [], 3),
    ('CONSUMER_GROUP_HEARTBEAT', '{"groupId":"h","memberEpoch":0}', '{"memberId":"n","memberEpoch":7}', [], 4),
    ('CONSUMER_GROUP_HEARTBEAT', '{"groupId":"h","memberEpoch":7}', '{"throttleTimeMs":9,"memberEpoch":8}', [], 5),
    ('SHARE_GROUP_HEARTBEAT', '{"groupId":"s","memberEpoch":0}', '{"memberId":"p","memberEpoch":2}', [], 8),
    ('FETCH', '{"groupId":"no"}', '{"throttleTimeMs":0}', [], 6), ('PRODUCE', '{}', '{"throttleTimeMs":20}', [], 7))
AS rows(api, request, response, errors, completed_ns)
"""


def answered(table: str, *, file: bool = True) -> list[dict[str, Any]]:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(":memory:") as connection:
        for macro in (JSON_MACRO, PAIR_MACRO):
            connection.execute(f"CREATE MACRO {macro}")
        connection.execute(f"CREATE TABLE asked AS SELECT *, 1.5 AS latency_ms FROM ({ASKED})")
        rows: list[dict[str, Any]] = (
            connection.sql(exchange_view(table, "asked", file=file)).to_arrow_table().to_pylist()
        )
    return rows


def test_who_has_to_wait() -> None:
    waits = {row["api"]: row["throttle_ms"] for row in answered("throttling")}
    assert waits == {"CONSUMER_GROUP_HEARTBEAT": 9, "PRODUCE": 20}


def test_joins_add_up() -> None:
    names = ("protocol", "joins", "rebalances", "members", "generation", "with_errors", "file")
    found = {row["group_id"]: tuple(row[name] for name in names) for row in answered("groups")}
    assert found == {
        "g": ("classic", 2, 1, 1, 3, 1, "a.pcap"),
        "h": ("consumer", 1, 2, 1, 8, 0, "a.pcap"),
        "s": ("share", 1, 1, 1, 2, 0, "a.pcap"),
    }


@pytest.mark.parametrize("table", EXCHANGE_VIEWS)
def test_without_files_there_is_no_such_column(table: str) -> None:
    assert [*answered(table, file=False)[0]] == [name for name in answered(table)[0] if name != "file"]

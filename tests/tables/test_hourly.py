"""The SQL of `hourly`, as DuckDB runs it: sums by hour, and an update that makes the touched hours anew alone."""

from collections.abc import Iterator
from typing import Any

import pytest

from kcli.tables.exchange_views import MACROS
from kcli.tables.hourly import HOURLY, hourly_query, hourly_update

duckdb = pytest.importorskip("duckdb")

EXCHANGES = """
SELECT TIMESTAMPTZ '2026-11-21 00:00:00+00' + minute * INTERVAL 1 MINUTE AS timestamp, 'FETCH' AS api, 's:1' AS server,
       client_id, 10 AS request_bytes, response_bytes, latency_ms, errors, minute AS completed_ns, 'a.pcap' AS file
FROM (VALUES (0, 'c', 5, 1.0, []), (1, 'c', 5, 3.0, ['X', 'Y']), (59, 'c', NULL, NULL, []), (60, 'c', 7, 9.0, []),
             (119, NULL, NULL, NULL, []), (240, 'c', 1, 2.0, []))
     AS rows(minute, client_id, response_bytes, latency_ms, errors)
UNION ALL SELECT now(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 'b.pcap'
"""


@pytest.fixture
def connection() -> Iterator[Any]:
    with duckdb.connect(":memory:") as made:
        made.execute("SET TimeZone = 'Asia/Kolkata'")  # half an hour off
        for macro in MACROS:
            made.execute(f"CREATE MACRO {macro}")
        made.execute(f"CREATE TABLE asked AS {EXCHANGES}")
        yield made


def answered(connection: Any, query: str) -> list[tuple[Any, ...]]:
    columns = "epoch_ms(hour) // 3600000 % 24, api, server, client_id, exchanges, with_errors, unanswered, "
    columns += "request_bytes, response_bytes, p50_ms, p99_ms, max_ms"
    return list(connection.sql(f"SELECT {columns} FROM ({query}) ORDER BY ALL").fetchall())


ROWS = [
    (0, "FETCH", "s:1", "c", 3, 1, 1, 30, 10, 1.0, 3.0, 3.0),
    (1, "FETCH", "s:1", "c", 1, 0, 0, 10, 7, 9.0, 9.0, 9.0),
    (1, "FETCH", "s:1", None, 1, 0, 1, 10, 0, None, None, None),
    (4, "FETCH", "s:1", "c", 1, 0, 0, 10, 1, 2.0, 2.0, 2.0),
]


def test_exchanges_by_hour(connection: Any) -> None:
    assert answered(connection, hourly_query("asked", file=False)) == ROWS
    made = connection.sql(hourly_query("asked", file=True))
    assert made.columns == HOURLY.names
    assert {row[-1] for row in made.fetchall()} == {"a.pcap"}


def test_only_hours_of_what_is_new_are_made_anew(connection: Any) -> None:
    """Those of the hours before stay as they were, whatever they say."""
    connection.execute(f"CREATE TABLE before AS {hourly_query('asked', file=False)}")
    connection.execute("UPDATE before SET max_ms = -1")
    fresh = "(SELECT * FROM asked WHERE completed_ns BETWEEN 100 AND 200)"
    marked = [(*row[:-1], -1.0) if row[0] != 1 else row for row in ROWS]
    assert answered(connection, hourly_update("asked", fresh, "before")) == marked
    gone = "(SELECT * FROM asked WHERE completed_ns <> 240)"
    taken_back = "(SELECT * FROM asked WHERE completed_ns = 240)"
    assert answered(connection, hourly_update(gone, taken_back, "before")) == [
        (*row[:-1], -1.0) for row in ROWS if row[0] != 4
    ]

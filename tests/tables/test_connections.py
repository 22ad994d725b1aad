"""The SQL of `connections`: parts of traffic add up to a row."""

from typing import Any

import pytest

from kcli.tables.connections import TRAFFIC, connections_query, traffic_part
from kcli.tables.exchange_views import PAIR_MACRO

ENDS = "[::1]:9092-10.0.0.1:5"


def answered(*parts: str, **more: str) -> list[dict[str, Any]]:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE MACRO {PAIR_MACRO}")
        rows: list[dict[str, Any]] = connection.sql(connections_query(*parts, **more)).to_arrow_table().to_pylist()
    return rows


def part(connection: str = ENDS, **known: str) -> str:
    return traffic_part(f"(SELECT '{connection}' AS connection) AS one", **known)


def test_parts_add_up() -> None:
    """Two sums, the later one first; TCP twice; a login, and who was refused before."""
    (row,) = answered(
        part(client_id="'b'", completed_ns="9", requests="2", with_errors="1", api_key="CAST(3 AS SMALLINT)"),
        part(client_id="'a'", completed_ns="5", requests="1", unanswered="1", api_key="CAST(3 AS SMALLINT)"),
        part(completed_ns="1", requests="1"),
        part(round_trip_ms="2.5"),
        part(client_retransmissions="1", server_retransmissions="0"),
        part(client_retransmissions="1", server_retransmissions="1"),
        part(principal="'User:x'", completed_ns="8"),
        part(principal="''", completed_ns="7"),
    )
    assert (row["server"], row["client"]) == ("[::1]:9092", "10.0.0.1:5")
    assert (row["broker_address"], row["client_address"]) == ("::1", "10.0.0.1")
    assert (row["client_id"], row["principal"], row["requests"], row["unanswered"]) == ("a", "User:x", 4, 1)
    assert (row["with_errors"], row["apis"]) == (1, 1)
    assert (row["round_trip_ms"], row["retransmissions"], row["tls"]) == (2.5, 3, False)


def test_a_refused_login_is_none() -> None:
    (row,) = answered(
        part(requests="1"), part(principal="'User:x'", completed_ns="1"), part(principal="''", completed_ns="2")
    )
    assert row["principal"] is None


def test_what_asked_nothing_is_no_row_unless_it_is_tls() -> None:
    rows = answered(part(client_retransmissions="1"), part("b:1-c:2", tls="true"), most="max(requests)")
    assert [(row["connection"], row["tls"], row["retransmissions"], row["most"]) for row in rows] == [
        ("b:1-c:2", True, None, 0)
    ]


def test_a_part_says_all_that_traffic_is() -> None:
    assert traffic_part("t", "file").count(" AS ") == len(TRAFFIC) + sum("CAST" in each for each in TRAFFIC.values())

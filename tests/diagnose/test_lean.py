"""Prepared tables with no more columns than are read."""

import pytest

from kcli.diagnose.lean import LEAN, closed, columns_of, in_turn, needed_of, with_columns
from kcli.rules.prepared import PREPARED


@pytest.mark.parametrize("table", LEAN)
def test_each_column_is_found_and_may_stand_alone(table: str) -> None:
    columns = columns_of(PREPARED[table])
    assert {"connection", "client_id"} <= columns.keys()
    assert with_columns(PREPARED[table], columns).split() == PREPARED[table].split()
    connection = columns["connection"]
    assert with_columns(PREPARED[table], {"connection"}).startswith(f"SELECT {connection}\nFROM ")


def test_columns_are_found_by_their_names() -> None:
    columns = columns_of(PREPARED["fetched"])
    assert columns["client_id"] == "coalesce(p.client_id, '') AS client_id" and columns["partition"] == "p.partition"
    columns = columns_of(PREPARED["conns"])
    assert columns["host"].endswith("'[]', '')) AS host") and columns["s_repeats"] == "t.s_repeats"


def test_commas_inside_of_parentheses_separate_no_columns() -> None:
    columns = ["coalesce(a, split(concat(b, c), ',')[1]) AS one", "two", "greatest(coalesce(c, d), e) AS three"]
    assert [*columns_of(f"SELECT {', '.join(columns)}\nFROM rows").values()] == columns


def test_columns_are_needed_by_queries_and_by_tables_that_they_make() -> None:
    assert needed_of("produced", ["SELECT base_offset FROM produced", "SELECT acks FROM calls"]) == {"base_offset"}
    assert {"server", "ns", "error"} <= needed_of("produced", ["SELECT * FROM outages"])
    assert PREPARED["conns"] in closed("SELECT * FROM outages")


def test_queries_are_in_turn_so_that_one_table_is_done_before_the_other_is_begun() -> None:
    both, first, second, neither = (
        "SELECT 1 FROM batches b JOIN fetched f ON true", "SELECT 1 FROM batches", "SELECT 1 FROM fetched",
        "SELECT 1 FROM calls",
    )  # fmt: skip
    assert in_turn([second, both, neither, first]) == [first, both, neither, second]

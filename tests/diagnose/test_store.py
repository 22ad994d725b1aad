"""Facts in a store."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.diagnose import store as stores
from kcli.diagnose.facts.sayings import Sayings
from kcli.diagnose.store import FactStore

MARKS = "SELECT count(*) AS rows, sum(node_id) AS ids FROM advertised"


def fill(store: FactStore, first: int, last: int) -> None:
    for number in range(first, last):
        store.put("advertised", (number, "b:1", number, f"h{number}:1", None))
        store.flush()


def test_a_table_that_nobody_filled_has_no_row() -> None:
    with FactStore() as store:
        assert [*store.ask(MARKS)] == [{"rows": 0, "ids": None}]


@pytest.mark.parametrize("held", [1 << 28, 200, 0])
def test_rows_are_read_where_they_are_held_or_have_gone(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "HELD", held)
    with FactStore() as store:
        fill(store, 0, 9)
        assert [*store.ask(MARKS)] == [{"rows": 9, "ids": 36}]
        assert bool(store.spilled) == (held < 1 << 28)


def test_what_was_said_before_is_read_once() -> None:
    rows: list[tuple[str, Any]] = []
    made = Sayings(lambda table, row: rows.append((table, row)), lambda table, batch: rows.append((table, batch)))
    said = b"\0\x0c\0\4", b"\0\1ame"  # Heartbeat v4, behind the correlation id
    asked = [(said[0] + bytes([0, 0, 0, number]) + said[1], bytes(3) + bytes([number, 9])) for number in range(3)]
    news = [made.is_new(12, b"b:1-c:2", request, response) for request, response in asked]
    assert news == [True, False, False]
    assert made.is_new(12, b"b:2-c:2", *asked[0]), "another broker may say otherwise"
    assert made.is_new(12, b"b:1-c:2", asked[0][0], None), "no answer is another saying"
    assert [made.is_new(36, b"b:1-c:2", *asked[0]) for _ in "ab"] == [True, True], "a login is of its connection"
    made.note(b"b:1-c:2", asked[2][0], 5_000, None)
    made.flush()
    assert rows[0] == ("called_links", (1, "b:1-c:2", "b:1", "c:2"))
    [(table, batch)] = rows[1:]
    assert (table, batch.num_rows) == ("called", 1)
    assert batch.column("correlation_id").to_pylist() == [2] and batch.column("completed_ns").to_pylist() == [5_000]


@pytest.mark.parametrize("held", [1 << 28, 0])
def test_what_was_asked_counts_rows_that_come_later(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "HELD", held)
    with FactStore() as store:
        assert [*store.ask(MARKS)] == [{"rows": 0, "ids": None}]
        assert [*store.ask("SELECT count(*) AS n FROM nodes")] == [{"n": 0}]
        store.forget()
        fill(store, 0, 3)
        assert [*store.ask(MARKS)] == [{"rows": 3, "ids": 3}]
        assert [*store.ask("SELECT count(*) AS n FROM nodes")] == [{"n": 3}]
        store.forget()
        store.empty()
        fill(store, 3, 4)
        assert [*store.ask(MARKS)] == [{"rows": 4, "ids": 6}], "names stay"

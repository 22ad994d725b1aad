"""Facts in a store."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcli.diagnose import store as stores
from kcli.diagnose.store import FactStore
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.tables import TABLES
from kcli.rules import RULES
from kcli.rules.rule import Rule
from kcli.rules.rule_tables import LARGEST
from kcli.tables.arrays import batch_of_rows
from kcli.tables.definition import schema_of
from kcli.topic_names import METADATA_ID

MARKS = "SELECT count(*) AS rows, sum(node_id) AS ids FROM advertised"


def fill(store: FactStore, first: int, last: int) -> None:
    for number in range(first, last):
        store.put("advertised", ("b:1", number, f"h{number}:1"))
        store.flush()


def test_a_table_that_nobody_filled_has_no_row() -> None:
    with FactStore() as store:
        assert [*store.ask(MARKS)] == [{"rows": 0, "ids": None}]


@pytest.mark.parametrize("held", [1 << 28, 100, 0])
def test_rows_are_read_where_they_are_held_or_have_gone(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "server=o'b"  # neither a column's value nor the end of a text in SQL
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(stores, "MOST_BUFFERED", held)
    with FactStore() as store:
        fill(store, 0, 9)
        assert [*store.ask(MARKS)] == [{"rows": 9, "ids": 36}]
        assert bool(store.files) == (held < 1 << 28)


@pytest.mark.parametrize("held", [1 << 28, 0])
def test_what_was_asked_counts_rows_that_come_later(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST_BUFFERED", held)
    with FactStore() as store:
        assert [*store.ask(MARKS)] == [{"rows": 0, "ids": None}]
        assert [*store.ask("SELECT count(*) AS n FROM nodes")] == [{"n": 0}]
        store.forget()
        fill(store, 0, 3)
        assert [*store.ask(MARKS)] == [{"rows": 3, "ids": 3}]
        assert [*store.ask("SELECT count(*) AS n FROM nodes")] == [{"n": 3}]
        store.forget()
        store.age()
        fill(store, 3, 4)
        assert [*store.ask(MARKS)] == [{"rows": 4, "ids": 6}], "names stay"


CALLERS = "SELECT client_id, api, client FROM calls JOIN link_ends USING (connection) ORDER BY client_id"


@pytest.mark.parametrize("most", [4096, 3, 0])
@pytest.mark.parametrize(("small", "held"), [(-1, 1 << 28), (-1, 0), (1 << 22, 1 << 28)])
def test_texts_that_repeat_compare_as_texts_do(
    small: int, held: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that only an unknown API's number gives is one of them, and so are none, and names that come later."""
    monkeypatch.setattr(stores, "SMALL", small)
    monkeypatch.setattr(stores, "MOST_WORDS", most)
    monkeypatch.setattr(stores, "MOST_BUFFERED", held)
    names = [each.name for each in FACTS["exchange_facts"].columns]
    with FactStore() as store:
        for turn, client in enumerate(("zoe", None, "adam")):
            made = dict.fromkeys(names) | {
                "timestamp": turn, "connection": f"b:1-c:{turn}", "server": "b:1", "address": "c", "client_id": client,
                "correlation_id": turn, "api_version": 0, "api_key": 999 if client is None else 3, "errors": [],
                "api": None if client is None else "METADATA", "request_bytes": 9, "completed_ns": turn,
            }  # fmt: skip
            store.put("exchange_facts", tuple(made.values()))
            store.flush()
            found = [*store.ask(CALLERS)]
            store.forget()
    assert found == [
        {"client_id": "", "api": "API 999", "client": "c:1"},
        {"client_id": "adam", "api": "METADATA", "client": "c:2"},
        {"client_id": "zoe", "api": "METADATA", "client": "c:0"},
    ]


@pytest.mark.parametrize(("small", "held"), [(-1, 1 << 28), (-1, 0), (300, 1 << 28), (1 << 22, 1 << 28)])
def test_the_latest_rows_outlive_the_older_ones(small: int, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes on looks wrong where little of it was seen. Numbers of texts that no row has any more are not kept."""
    monkeypatch.setattr(stores, "SMALL", small)
    monkeypatch.setattr(stores, "MOST_BUFFERED", held)
    names = [each.name for each in FACTS["exchange_facts"].columns]
    found = []
    with FactStore() as store:
        for turn, client in enumerate(("zoe", None, "adam", "zoe")):
            made = dict.fromkeys(names) | {
                "timestamp": turn, "connection": f"b:1-c:{turn}", "server": "b:1", "address": "c", "client_id": client,
                "correlation_id": turn, "api_version": 0, "api_key": 3, "errors": [], "api": "METADATA",
                "request_bytes": 9, "completed_ns": turn,
            }  # fmt: skip
            store.put("exchange_facts", tuple(made.values()))
            store.flush()
            found.append([(each["client_id"], each["client"]) for each in store.ask(CALLERS)])
            store.forget()
            store.age()
        known = store.words.kinds["client_id"].table()["word"].to_pylist() if store.words else []
    assert found == [
        [("zoe", "c:0")],
        [("", "c:1"), ("zoe", "c:0")],
        [("", "c:1"), ("adam", "c:2")],
        [("adam", "c:2"), ("zoe", "c:3")],
    ]
    assert "adam" not in known


WHO = (
    "SELECT coalesce(client_id, '') AS who, typeof(coalesce(client_id, '')) AS kind FROM metadata_calls_said ORDER BY 1"
)


@pytest.mark.parametrize(
    ("small", "most", "kind"), [(-1, 4096, "ENUM"), (-1, 0, "VARCHAR"), (1 << 22, 4096, "VARCHAR")]
)
def test_a_client_id_that_may_be_null_keeps_its_type(
    small: int, most: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what requests say of a client would be joined with its exchanges text by text."""
    monkeypatch.setattr(stores, "SMALL", small)
    monkeypatch.setattr(stores, "MOST_WORDS", most)
    with FactStore() as store:
        for number, client in enumerate(("zoe", None, "adam")):
            store.put("metadata_calls_said", (number, client, 9, False, 1, None))
        store.flush()
        found = [*store.ask(WHO)]
    assert [each["who"] for each in found] == ["", "adam", "zoe"]
    assert {each["kind"].partition("(")[0] for each in found} == {kind}


def test_a_table_that_has_the_columns_that_are_read_is_made_anew_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SMALL", -1)
    made = dict.fromkeys(TABLES["produce_partitions"].names) | {
        "timestamp": 7, "connection": "b:1-c:1", "server": "b:1", "topic": "orders", "partition": 3, "answered": True,
        "error": "NOT_LEADER_OR_FOLLOWER",
    }  # fmt: skip
    with FactStore() as store:
        store.put("produce_partitions", tuple(made.values()))
        store.flush()
        first, last = store.expect(["SELECT topic FROM produced", "SELECT partition FROM produced"])
        assert [*store.ask(first)] == [{"topic": "orders"}]
        assert [each[0] for each in store.execute("DESCRIBE produced").fetchall()] == ["topic", "partition"]
        assert [*store.ask("SELECT server, error FROM produced WHERE partition = 3")] == [
            {"server": "b:1", "error": "NOT_LEADER_OR_FOLLOWER"}
        ]
        assert [*store.ask(last)] == [{"partition": 3}]
        assert "produced" not in store.made, "nobody is to read it any more"
        assert [*store.ask(first)] == [{"topic": "orders"}]


@pytest.mark.parametrize(("small", "most"), [(-1, 4096), (-1, 0), (1 << 22, 4096)])
def test_a_topic_is_named_by_its_id(small: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An id that nobody names stands for itself; a table without rows has no ids."""
    monkeypatch.setattr(stores, "SMALL", small)
    monkeypatch.setattr(stores, "MOST_WORDS", most)
    names = TABLES["fetch_partitions"].names
    with FactStore() as store:
        said = {"topic": "orders", "topic_id": "id-1", "learnt_ns": 1}
        store.put("topic_names", tuple(said.get(each.name) for each in store.columns["topic_names"]))
        for turn, (topic, topic_id) in enumerate([(None, "id-1"), (None, "id-2"), ("plain", None), ("said", "id-2")]):
            made = dict.fromkeys(names) | {
                "timestamp": turn, "connection": "b:1-c:1", "server": "b:1", "topic": topic, "topic_id": topic_id,
                "partition": turn, "asked": True, "answered": True,
            }  # fmt: skip
            store.put("fetch_partitions", tuple(made.values()))
        store.flush()
        found = [*store.ask("SELECT partition, topic FROM fetched UNION ALL SELECT partition, topic FROM produced")]
    assert sorted((each["partition"], each["topic"]) for each in found) == [
        (0, "orders"), (1, "id-2"), (2, "plain"), (3, "said"),
    ]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.finding)
def test_a_rule_finds_all_columns_where_nothing_else_is_to_be_asked(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its tables have no column that it does not name."""
    monkeypatch.setattr(stores, "SMALL", -1)
    with FactStore() as store:
        for table in LARGEST:
            store.put(table, tuple({"errors": []}.get(each.name) for each in store.columns[table]))
        store.flush()
        store.expect([rule.sql])
        assert isinstance([*store.ask(rule.sql)], list)


def test_rows_of_a_table_that_few_read_are_made_when_one_does() -> None:
    asked = []

    def rows() -> Iterator[tuple[str, str, str]]:
        asked.append("software")
        yield "10.0.0.1:40000", "librdkafka", "2.6"

    with FactStore() as store:
        store.put_late({"software": rows})
        assert not asked
        assert [*store.ask("SELECT software FROM software")] == [{"software": "librdkafka"}]
        store.forget()
        assert [*store.ask("SELECT software_version FROM software")] == [{"software_version": "2.6"}]
    assert asked == ["software"] * 2, "live, it may have become more"


def test_a_client_that_asks_as_brokers_do_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "SMALL", -1)
    names = [each.name for each in FACTS["exchange_facts"].columns]
    asked = [("broker", 7), ("a", 3), ("broker", 3), ("c", 3), ("broker", 7), ("a", 3)]
    with FactStore() as store:
        for turn, (client, key) in enumerate(asked):
            made = dict.fromkeys(names) | {
                "timestamp": turn, "connection": "b:1-c:1", "server": "b:1", "address": "c", "client_id": client,
                "correlation_id": turn, "api_version": 0, "api_key": key, "errors": [], "api": f"API {key}",
                "request_bytes": 9, "completed_ns": turn,
            }  # fmt: skip
            row = batch_of_rows([tuple(made.values())], schema_of(FACTS["exchange_facts"].columns))
            clients = row.column("client_id").dictionary_encode()
            store.put_batch("exchange_facts", row.set_column(names.index("client_id"), "client_id", clients))
        found = [*store.ask("SELECT client_id, inner_client, count(*) AS n FROM calls GROUP BY ALL ORDER BY 1")]
        assert [tuple(each.values()) for each in found] == [("a", False, 2), ("broker", True, 3), ("c", False, 1)]
        ends = [{"connection": 1, "server": "b:1", "client": "c:1"}]
        assert [*store.ask("SELECT * FROM link_ends")] == ends
        store.set_apart("", "")  # another cluster's turn: the texts stay numbered
        assert [*store.ask("SELECT * FROM link_ends")] == ends


def test_nobody_else_tells_the_name_of_the_metadata_log() -> None:
    with FactStore() as store:
        store.nameless_ids |= {METADATA_ID, "a"}
        assert store.unnamed() == {"a"}

"""Tables across connections out of facts in this process."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

import duckdb

from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.local_tables import KNOWN, judged_clients, leader_changes, quorum, sessions_of, view_of
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter

ERROR = 6  # NOT_LEADER_OR_FOLLOWER


class Folder:
    """Facts in a folder, and what DuckDB says of them."""

    def __init__(self, path: Path, rows: dict[str, list[tuple[Any, ...]]]) -> None:
        writer = TableWriter(str(path), "facts")
        for table, made in rows.items():
            for row in made:
                writer.put(table, row)
        writer.close()
        self.connection = duckdb.connect(":memory:")
        for table in (*FACTS, "undecodable"):
            self.connection.execute(f"CREATE VIEW {table} AS {view_of(table, path)}")
        self.connection.execute(f"CREATE VIEW known AS {KNOWN}")

    def ask(self, query: str) -> Iterable[dict[str, Any]]:
        return list(self.connection.sql(query).to_arrow_table().to_pylist())


def outcome(topic: str, error: int, ns: int, client: str | None = "c") -> tuple[Any, ...]:
    return ("b:1-c:2", "b:1", client, "10.0.0.1", "PRODUCE", topic, 0, error, ns - 1, ns, ns, 1, -1, None)


def test_a_folder_without_facts_has_empty_tables(tmp_path: Path) -> None:
    folder = Folder(tmp_path, {})
    for made in (
        sessions_of(folder.ask, None),
        *(make(folder.ask) for make in (leader_changes, quorum, judged_clients)),
    ):
        assert [*made] == []


@pytest.mark.parametrize("table", [*TABLES, *FACTS])
def test_an_empty_table_has_its_columns(table: str, tmp_path: Path) -> None:
    found = duckdb.connect(":memory:").execute(view_of(table, tmp_path))
    assert [each[0] for each in found.description] == [
        each.name for each in (TABLES.get(table) or FACTS[table]).columns
    ]
    assert found.fetchall() == []


def test_names_of_files_may_hold_anything(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "it's [a] *", {"topic_names": [("id", "t", 1)]})
    assert [*folder.ask("FROM known")] == [{"topic_id": "id", "topic": "t"}]


def test_a_topic_is_known_by_the_name_that_came_first(tmp_path: Path) -> None:
    names = [("id", "zebra", 1), ("id", "ant", 2)]
    answers = [outcome("id", ERROR, 5), outcome("zebra", 0, 9), outcome("other", 0, 9)]
    [change] = leader_changes(Folder(tmp_path, {"topic_names": names, "outcomes": answers}).ask)
    row = dict(zip(TABLES["leader_changes"].names, change, strict=True))
    assert row["topic"] == "zebra" and row["lost_ms"] == (9 - 5) / 1e6


def test_clients_without_an_id_have_their_changes(tmp_path: Path) -> None:
    answers = [outcome("t", ERROR, 5, None), outcome("t", 0, 9, None), outcome("t", 0, 7, "c")]
    [change] = leader_changes(Folder(tmp_path, {"outcomes": answers}).ask)
    assert change[1] is None


def test_a_client_is_all_of_its_connections(tmp_path: Path) -> None:
    uses = [(f"b:1-c:{port}", "c", "10.0.0.1", "s", "1", True, 0, 3, 10, True) for port in (1, 2)]
    [row] = judged_clients(Folder(tmp_path, {"client_uses": uses}).ask)
    client = dict(zip(TABLES["clients"].names, row, strict=True))
    assert client["connections"] == 2 and client["requests"] == 20

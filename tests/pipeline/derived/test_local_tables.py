"""Tables across connections out of facts in this process."""

import random
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("duckdb")

import duckdb

from kcli.pipeline.derived.file_views import view_of
from kcli.pipeline.derived.leader_changes import CHANGE_KEYS, changes
from kcli.pipeline.derived.local_facts import KNOWN
from kcli.pipeline.derived.local_tables import doubtful_clients, judged_clients, leader_changes, quorum, sessions_of
from kcli.pipeline.fact_tables import FACTS
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

    def batches(self, query: str) -> Iterable[Any]:
        yield from self.connection.sql(query).to_arrow_reader(2000)


def outcome(topic: str, error: int, ns: int, client: str | None = "c") -> tuple[Any, ...]:
    return ("b:1-c:2", "b:1", client, "10.0.0.1", "PRODUCE", topic, 0, error, ns - 1, ns, ns, 1, -1, None)


def test_a_folder_without_facts_has_empty_tables(tmp_path: Path) -> None:
    folder = Folder(tmp_path, {})
    for made in (
        sessions_of(folder.ask, folder.batches, None),
        *(make(folder.ask) for make in (leader_changes, quorum, judged_clients, doubtful_clients)),
    ):
        assert [*made] == []


@pytest.mark.parametrize("table", [*TABLES, *FACTS])
def test_an_empty_table_has_its_columns(table: str, tmp_path: Path) -> None:
    found = duckdb.connect(":memory:").execute(view_of(table, tmp_path))
    assert [each[0] for each in found.description] == [each.name for each in (TABLES | FACTS)[table].columns]
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


def test_changes_are_those_that_the_rows_show_one_by_one(tmp_path: Path) -> None:
    """SQL's rows and those that the pipeline makes of the same answers."""
    chance, answers = random.Random(5), []
    for ns in range(1, 400):
        client, server, partition = chance.choice("ab"), chance.choice(("b:1", "b:2")), chance.randrange(3)
        error = chance.choice((0, 0, ERROR, 74))
        leader = chance.choice((-1, 4)) if error else -1
        answers.append((
            f"{server}-{client}:2", server, client, "10.0.0.1", "FETCH", "t", partition, error,
            1_000_000 * ns - chance.randrange(4_000_000), 1_000_000 * ns, 1_000_000 * ns + 5, chance.randrange(1, 4),
            leader, "b:9" if leader == 4 and chance.random() < 0.5 else None,
        ))  # fmt: skip
    by = itemgetter(*(FACTS["outcomes"].names.index(name) for name in CHANGE_KEYS))
    expected = [
        row
        for _, rows in groupby(sorted(answers, key=by), key=by)
        for row in changes(dict(zip(FACTS["outcomes"].names, each, strict=True)) for each in rows)
    ]
    found = [*leader_changes(Folder(tmp_path, {"outcomes": answers}).ask)]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert len({row[9] for row in found}) == 2  # with and without hints


def test_clients_that_no_release_doubts_are_left_out(tmp_path: Path) -> None:
    """A client without a name for its software joins the one that has one, doubted or not."""
    uses = [
        ("b:1-c:1", "old", "10.0.0.1", "s", "1", True, 1, 2, 10, True),
        ("b:1-c:2", "old", "10.0.0.1", None, None, False, 3, 12, 5, True),
        ("b:1-c:3", "new", "10.0.0.1", "s", "1", True, 1, 12, 10, False),
    ]
    ask = Folder(tmp_path, {"client_uses": uses}).ask
    assert [row for row in judged_clients(ask) if row[0] == "old"] == [*doubtful_clients(ask)]
    assert {row[0] for row in judged_clients(ask)} == {"old", "new"}

"""The tables that the page on captures is asked of: the facts that rules read, and a few more of the same reading."""

from collections.abc import Sequence
from typing import Any

from kcli.diagnose.store import FactStore
from kcli.pipeline.derived.local_tables import CHANGES, doubtful_clients
from kcli.pipeline.schemas import arrow_schema
from kcli.report.asking import Answers, ask_all
from kcli.report.questions import CAPTURED
from kcli.rules.rule_tables import READ
from kcli.tables.arrays import batch_of_rows

PAGE = READ | {"noted_exchanges", "down_conversions", "client_uses", "outcomes", "connection_sums"}


class CapturedTables:
    """The engine of `kcli.report` over a store that has the tables of PAGE."""

    def __init__(self, store: FactStore) -> None:
        self.store = store
        found = batch_of_rows([*doubtful_clients(store.ask)], arrow_schema("clients"))
        store.connection.register("judged_clients", found)
        self.define("known", "SELECT topic_id, topic FROM topic_by_id")
        self.define("leader_changes", CHANGES)

    def define(self, name: str, sql: str) -> None:
        """Define the query as a view of that name."""
        self.store.provide(sql)
        self.store.execute(f"CREATE VIEW {name} AS {self.store.suited(sql)}")

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Run a query; return the names of the columns, and the rows."""
        return self.store.answer(sql)


def ask_captures(store: FactStore) -> Answers:
    """Return the answer to each question of the page on captures. store: with the tables of PAGE."""
    return ask_all(CapturedTables(store), CAPTURED)

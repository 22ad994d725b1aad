"""The tables of rules in DuckDB, each made when a query first reads it."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kcli.extras import require
from kcli.rules.heads import KEPT, first_of, rest_of
from kcli.rules.prepared import PREPARED, VIEWS, query_of
from kcli.rules.signs import SIGNS
from kcli.tables.duckdb_engine import QUERY_MEMORY, SOURCES, DuckDbSession
from kcli.tables.exchange_views import MACROS
from kcli.tables.rule_facts import RULE_FACTS

LARGEST = ("exchange_facts", "fetch_partitions", "produce_partitions", "record_batches")  # by rows
# Tables whose rows belong to connections: rules can leave connections out of these.
SAID_ON = (*LARGEST, "undecodable", "called_links", "refused_records", "share_calls", "uncommitted")
OF_SERVERS = ("advertised", "cluster_ids", "voters")  # tables of statements by servers, one row for each
# Tables filled from captures; all others are derived from them (`prepared`).
READ = frozenset({
    "exchange_facts", "fetch_partitions", "produce_partitions", "record_batches", "undecodable", "topic_names",
    "logins", *RULE_FACTS,
})  # fmt: skip


class RuleTables(DuckDbSession):
    """Makes the tables that rules read, and answers queries over them. Raises UsageError if DuckDB is missing.

    views: the SQL of each table filled from captures, unless a subclass fills them. memory: MiB at most; the rest goes
    to a temporary folder. filled: the tables filled from captures.
    """

    def __init__(
        self, views: Mapping[str, str] | None = None, memory: int = QUERY_MEMORY, filled: frozenset[str] = READ
    ) -> None:
        require("kcli diagnose", "sql")
        super().__init__("kcli-diagnose-", MACROS, memory, threads=1)
        self.views, self.filled = views or {}, filled
        self.made: set[str] = set()
        # Queries whose rows are the keys of connections, or servers, that are left out; "": none.
        self.left_out = self.lines_left_out = self.servers_apart = self.connections_apart = ""

    def make(self, table: str) -> None:
        """Make a prepared table or one filled from captures, after the tables that it is made of; ignore any other
        name.
        """
        if table in self.made or not (table in PREPARED or table in self.filled):
            return
        self.made.add(table)
        if table in PREPARED:
            sql = query_of(table, nameless=self.may_be_nameless())
            self.provide(sql)
            self.execute(f"CREATE {kind_of(table)} {table} AS {self.suited(sql, table)}")
        else:
            self.load(table)

    def may_be_nameless(self) -> bool:
        """Return whether topics may be known only by their ids. True unless a subclass knows better."""
        return True

    def expect(self, queries: Iterable[str]) -> list[str]:
        """Announce queries, so that tables get only the columns that are read and are dropped after their last query.
        Return the queries in the order in which to ask them.
        """
        return [*queries]

    def suited(self, sql: str, _table: str = "") -> str:
        """Return a query adapted to the way in which rows are stored. table: the table that the query makes, if any."""
        return sql

    def load(self, table: str) -> None:
        """Make a table filled from captures."""
        self.execute(f"CREATE VIEW {table} AS SELECT * FROM ({self.views[table]}) AS every{self.condition_of(table)}")

    def condition_of(self, table: str) -> str:
        """Return the WHERE of the rows of a table filled from captures that are not left out; "" for all rows."""
        column, unread = "connection", [self.connections_apart]
        if table in OF_SERVERS:
            column, unread = "server", [self.servers_apart]
        elif table in SAID_ON:
            unread.append(self.left_out)
        elif table == "tcp":
            unread.append(self.lines_left_out)
        else:
            return ""
        tests = [f"({column} IS NULL OR {column} NOT IN ({each}))" for each in unread if each]
        return f" WHERE {' AND '.join(tests)}" if tests else ""

    def keep(self, table: str, sql: str, *values: Any) -> None:
        """Make a table with the rows of a query. It stays, and replaces an earlier one of that name."""
        self.provide(sql)
        self.execute(f"CREATE OR REPLACE TABLE {table} AS {self.suited(sql)}", *values)

    def leave_out(self, connections: str, lines: str = "") -> None:
        """Leave these connections, and only these, out of the tables, which are made again. connections: a query of
        their keys over kept tables; "": none. lines: those of them whose facts of TCP are left out, too.
        """
        if connections or self.left_out:
            self.drop_tables()
            self.left_out, self.lines_left_out = connections, lines

    def set_apart(self, servers: str, connections: str) -> None:
        """Leave out all rows of these servers, and of all connections to them, including facts of TCP, until the next
        call. Both are queries over kept tables; "": none.
        """
        self.drop_tables()
        self.servers_apart, self.connections_apart = servers, connections

    def drop_tables(self) -> None:
        """Drop all tables but kept ones."""
        for table in self.made:
            self.execute(f"DROP {'VIEW' if table in self.filled else kind_of(table)} {table}")
        self.made.clear()

    def provide(self, sql: str) -> None:
        """Make the tables that a query reads."""
        for table in SOURCES.findall(sql):
            self.make(table)

    def ask(self, sql: str, stages: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
        """Return the rows of a query, by column. stages: queries in its WITH to ask alone, one after the other; the
        whole query is asked only if each has a row. Their rows are stored and used again.
        """
        names: list[str] = []
        rows: list[tuple[Any, ...]] = []
        rest, kept = sql, []
        for name in stages:
            _, [[count]] = self.answer(first_of(rest, name))
            rest = rest_of(rest, name)
            kept.append(name)
            if not count:
                break
        else:
            names, rows = self.answer(rest)
        for name in kept:
            self.execute(f"DROP TABLE {KEPT.format(name)}")
        self.drop_unread(sql)
        return (dict(zip(names, row, strict=True)) for row in rows)

    def drop_unread(self, _answered: str) -> None:
        """Drop tables that no announced query reads any more."""

    def answer(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Make the tables that a query reads; return the names of its columns, and its rows."""
        self.provide(sql)
        made = self.execute(self.suited(sql))
        return [each[0] for each in made.description], made.fetchall()


def read_columns() -> dict[str, frozenset[str]]:
    """Return the words of all queries that read each of the largest tables; its columns are among them."""
    found: dict[str, set[str]] = {table: set() for table in LARGEST}
    for sql in (*PREPARED.values(), SIGNS):
        for source in SOURCES.finditer(sql):
            if source[1] in found:
                found[source[1]].update(re.findall(r"\w+", query_around(sql, source.start())))
    return {table: frozenset(words) for table, words in found.items()}


def query_around(sql: str, place: int) -> str:
    """Return the query around a position: the text between the nearest parentheses, or the whole text."""
    first, last = place, place
    depth = 1
    while first and depth:
        first -= 1
        depth += {")": 1, "(": -1}.get(sql[first], 0)
    depth = 1
    while last < len(sql) and depth:
        depth += {"(": 1, ")": -1}.get(sql[last], 0)
        last += 1
    return sql[first:last]


def kind_of(table: str) -> str:
    """Return the kind of a prepared table, as DuckDB creates it."""
    return "VIEW" if table in VIEWS else "TABLE"

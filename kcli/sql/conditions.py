"""SQL conditions on the rows of a table, tested on one record batch after another by a DuckDB without access to
files.
"""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from kcli.errors import InputError, UsageError
from kcli.extras import require
from kcli.legible import legible
from kcli.sql.api_names import literals, name_of
from kcli.sql.engine import Engine, first_part
from kcli.sql.guard import QueryError, nodes_in, refuse_names
from kcli.sql.scans import Scan
from kcli.tables.definition import Column, schema_of
from kcli.tables.exchanges import EXCHANGE_COLUMNS

SHOWN = 60  # characters of a condition in an error
MOST = 1 << 16  # characters of a condition
NO_COLUMN = re.compile(r'Referenced column "(.*?)" not found')


@dataclass(frozen=True, slots=True)
class Subject:
    """A table for conditions.

    option: the option whose value is the condition; example: of a condition. settings: further settings of DuckDB.
    """

    option: str
    table: str
    columns: tuple[Column, ...]
    example: str
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> Any:
        """Return the pyarrow.Schema of its rows."""
        return schema_of(self.columns)


EXCHANGES = Subject("--where", "exchanges", EXCHANGE_COLUMNS, "latency_ms > 100")


class SqlCondition:
    """A boolean expression over the columns of a table; close it when done.

    wanted: the columns that it reads. API names may have any spelling that `kcli.schemas` knows: 'Fetch' means 'FETCH'.
    """

    def __init__(self, text: str, dialect: str | None = None, subject: Subject = EXCHANGES) -> None:
        """Prepare an expression. Raises UsageError if DuckDB is missing, or the text is no such expression."""
        require(subject.option, "sql")
        self.text, self.dialect, self.subject = text, dialect, subject
        self.batch: Any = None
        table = subject.table
        self.engine = Engine([Scan(table, subject.schema, [self.batches])], settings=subject.settings)
        self.pool = ThreadPoolExecutor(1, "kcli-where")
        try:
            with self.clear_errors():
                self.engine.define([table])
                self.query = f"SELECT {self.checked()} AS holds FROM {table}"
                self.check_kind()
                self.engine.choose_columns(self.query)
            self.try_out()
        except BaseException:
            self.close()
            raise
        self.wanted: frozenset[str] = self.engine.scans[table].wanted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close DuckDB."""
        self.pool.shutdown()
        self.engine.close()

    def batches(self, _wanted: frozenset[str]) -> Iterator[Any]:
        """Yield the record batch under test."""
        if self.batch is not None:
            yield self.batch

    def holds(self, batch: Any) -> Any:
        """Return a bool numpy.ndarray, by row: whether the condition is true. Raises UsageError if it fails for a
        value.
        """
        self.batch = batch
        try:
            with self.clear_errors():
                return self.engine.waited(self.pool.submit(self.answer))
        finally:
            self.batch = None

    def answer(self) -> Any:
        """Return the result of the query over `batch`, False for null."""
        import numpy

        found = self.engine.connection.execute(self.query).fetchnumpy()["holds"]
        return numpy.ma.filled(found, False).astype(bool)

    # Check the expression

    def checked(self) -> str:
        """Return the expression in the form to run. Raises UsageError if it is no condition, or contains a query."""
        if len(self.text) > MOST:
            raise UsageError(f"{self.subject.option}: {len(self.text):,} characters (at most {MOST:,} expected)")
        if not self.text.strip():
            raise self.wrong(f"empty (a condition expected, as in {self.subject.example})")
        # No text closes both kinds of bracket unless it has opened them itself.
        for head, tail in (("SELECT [", "] FROM {}"), ("SELECT 1 FROM {} WHERE (", ")")):
            table = self.subject.table
            tree = self.parsed("\n".join((head.format(table), self.text, tail.format(table))))
        statements = tree["statements"]
        node = statements[0]["node"] if len(statements) == 1 else {}
        if node.get("type") != "SELECT_NODE" or not node.get("where_clause"):
            raise self.wrong("one condition expected")
        refuse_names(tree)
        self.mend(node["where_clause"])
        self.run(f"EXPLAIN {self.sql_of(tree)}")
        node["select_list"], node["where_clause"] = [node["where_clause"]], None
        return self.sql_of(tree).removeprefix("SELECT ").rpartition(" FROM ")[0]

    def parsed(self, query: str) -> dict[str, Any]:
        """Return DuckDB's tree of a query. Raises UsageError if the query does not parse."""
        tree: dict[str, Any] = json.loads(self.run("SELECT json_serialize_sql(?)", query)[0][0])
        if tree["error"]:
            why = first_part(str(tree["error_message"]))
            raise self.wrong(why if "]" in self.text else why.replace('at or near "]"', "at its end"))
        return tree

    def sql_of(self, tree: dict[str, Any]) -> str:
        """Return the query for a tree."""
        return str(self.run("SELECT json_deserialize_sql(?)", json.dumps(tree))[0][0])

    def run(self, query: str, *values: str) -> list[Any]:
        """Return the rows of a query."""
        rows: list[Any] = self.engine.connection.execute(query, values).fetchall()
        return rows

    def check_kind(self) -> None:
        """Raise UsageError if the expression is not boolean."""
        kind = self.run(f"DESCRIBE {self.query}")[0][1]
        if kind != "BOOLEAN":
            raise self.wrong(f"this is of type {kind} (a condition expected, as in {self.subject.example})")

    def try_out(self) -> None:
        """Raise UsageError if the expression fails for every row, as a comparison of text with a list does."""
        import pyarrow

        schema = self.subject.schema
        nulls = [pyarrow.nulls(1, field.type) for field in schema]  # from_pylist would import pandas
        self.holds(pyarrow.RecordBatch.from_arrays(nulls, schema=schema))

    def mend(self, condition: Any) -> None:
        """Replace API names by those in the column. Raises UsageError if the condition contains a query."""
        if any(isinstance(node, dict) and node.get("class") == "SUBQUERY" for node in nodes_in(condition)):
            raise self.wrong("a query inside (a condition on columns alone expected)")
        for each in literals(condition):
            each["literal"] = {"kind": "STRING", "text": self.name_of(str(each["literal"]["text"]))}

    def name_of(self, api: str) -> str:
        """Return an API's name as in the column. Raises UsageError for an unknown API."""
        try:
            return name_of(api, self.dialect)
        except UsageError as error:
            raise self.wrong(str(error)) from None

    # Errors

    @contextmanager
    def clear_errors(self) -> Iterator[None]:
        """Turn DuckDB's errors into errors of one line, with the known columns if one is missing. Raises InputError."""
        try:
            with self.engine.clear_errors():
                yield
        except QueryError as error:
            raise self.wrong(error.why) from None
        except InputError as error:
            raise InputError(str(error).replace("the query", self.subject.option)) from None

    def wrong(self, why: str) -> UsageError:
        """Return an error of one line, with the known columns if one is missing."""
        missing = NO_COLUMN.search(why)
        if missing is not None:
            why = f"no column {missing[1]}"
            if f'"{missing[1]}"' in self.text:
                why += f" (a text has single quotes: '{missing[1]}')"
        names = ", ".join(each.name for each in self.subject.columns)
        return UsageError(f"{self.subject.option}: {self.shown}: {why}; columns: {names}")

    @property
    def shown(self) -> str:
        """Return the condition's text as messages show it."""
        return legible(self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}...")

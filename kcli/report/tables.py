"""The report's tables in DuckDB: Parquet files in a folder, and those that are made from them."""

from __future__ import annotations

import atexit
import gc
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from kcli.pipeline.aggregates import client_rows
from kcli.pipeline.leader_changes import CHANGE_KEYS, changes
from kcli.pipeline.schemas import arrow_schema
from kcli.pipeline.tables import TABLES

__all__ = ["Tables"]

MEMORY = "1GiB"
ROWS = 10_000  # fetched at once
# Spark's names of what DuckDB calls otherwise.
MACROS = (
    "get_json_object(text, path) AS json_extract_string(text, path)",
    "percentile_approx(value, share) AS quantile_disc(value, share)",
    "explode(list) AS unnest(list)",
)
USES = """
SELECT client_id, address, software, software_version, api_key, api_version, sum(requests)::BIGINT AS requests,
       bool_or(free) AS free, bool_or(negotiates) AS negotiates
FROM client_uses GROUP BY client_id, address, software, software_version, api_key, api_version ORDER BY ALL
"""
CONNECTIONS = """
SELECT client_id, address, software, software_version, count(DISTINCT connection) FROM client_uses
GROUP BY client_id, address, software, software_version
"""
# Answers of those who had an error, by the topic's name where a message has taught it.
OUTCOMES = """
WITH named AS (SELECT outcomes.* REPLACE (coalesce(names.topic, outcomes.topic) AS topic) FROM outcomes
               LEFT JOIN (SELECT topic_id, min(topic) AS topic FROM topic_names GROUP BY topic_id) names
                 ON outcomes.topic = names.topic_id)
SELECT * FROM named WHERE (client_id, client_address, api, topic, partition) IN
  (SELECT (client_id, client_address, api, topic, partition) FROM named WHERE error != 0)
ORDER BY client_id, client_address, api, topic, partition, first_ns
"""
NAMED = """
SELECT batches.* REPLACE (coalesce(batches.topic, names.topic) AS topic) FROM {table} batches
LEFT JOIN (SELECT topic_id, min(topic) AS topic FROM topic_names GROUP BY topic_id) names USING (topic_id)
"""


class Tables:
    """Runs the report's queries over the Parquet files below a folder; close it when done.

    A table without files is empty.
    """

    def __init__(self, folder: str | Path) -> None:
        import duckdb

        # Its library complains on stderr about objects that the collector never looked at (see kcli.sql.engine).
        atexit.register(gc.unfreeze)
        self.duckdb, self.folder = duckdb, Path(folder)
        self.spill = tempfile.TemporaryDirectory(prefix="kcli-report-")
        config: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": self.spill.name}
        self.connection = duckdb.connect(":memory:", config=config)
        self.execute("SET TimeZone = 'UTC'")
        self.execute("SET enable_progress_bar = false")
        for macro in MACROS:
            self.execute(f"CREATE MACRO {macro}")
        for name in TABLES:
            self.open(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()
        del self.connection
        self.spill.cleanup()

    def open(self, name: str) -> None:
        """A table's files as a view; an empty table where there are none."""
        files = sorted(str(path) for path in (self.folder / name).rglob("*.parquet"))
        if files:
            listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            self.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet([{listed}], hive_partitioning = false)")
        else:
            self.fill(name, ())

    def fill(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """A table out of rows, each in the order of its columns."""
        import pyarrow

        schema = arrow_schema(name)
        columns = [*zip(*rows, strict=True)] or [()] * len(schema)
        arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        self.connection.register("rows", pyarrow.table(arrays, schema=schema))
        self.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM rows")
        self.connection.unregister("rows")

    def derive(self) -> None:
        """Make the tables that look across connections, and name topics by what all messages taught."""
        for name in ("client_uses", "outcomes", "topic_names"):
            self.open(name)
        connections = {tuple(row[:4]): row[4] for row in self.run(CONNECTIONS)[1]}
        self.replace("clients", [*client_rows(self.dicts(USES), connections)])
        by_client = groupby(self.dicts(OUTCOMES), key=lambda row: [row[name] for name in CHANGE_KEYS])
        self.replace("leader_changes", [row for _, group in by_client for row in changes(group)])
        self.execute(f"CREATE TABLE named AS {NAMED.format(table='record_batches')}")
        self.drop("record_batches")
        self.execute("ALTER TABLE named RENAME TO record_batches")

    def replace(self, name: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Have these rows as the table, whatever it was before."""
        self.drop(name)
        self.fill(name, rows)

    def drop(self, name: str) -> None:
        """Drop a table or view."""
        [[kind]] = self.run(f"SELECT table_type FROM information_schema.tables WHERE table_name = '{name}'")[1]
        self.execute(f"DROP {'VIEW' if kind == 'VIEW' else 'TABLE'} {name}")

    # As kcli.report.asking.Engine

    def prepare(self, name: str, sql: str) -> None:
        """Have the query's rows as a table of that name."""
        self.execute(f"CREATE TABLE {name} AS {sql}")

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """The names of the columns, and the rows."""
        made = self.execute(sql)
        return [each[0] for each in made.description], made.fetchall()

    def dicts(self, sql: str) -> Iterator[dict[str, Any]]:
        """The rows by column."""
        made = self.execute(sql)
        names = [each[0] for each in made.description]
        while rows := made.fetchmany(ROWS):
            yield from (dict(zip(names, row, strict=True)) for row in rows)

    def execute(self, sql: str) -> Any:
        """KeyboardInterrupt: Ctrl-C while DuckDB was busy."""
        try:
            return self.connection.execute(sql)
        except (self.duckdb.InterruptException, RuntimeError) as error:
            if isinstance(error, self.duckdb.InterruptException) or str(error) == "Query interrupted":
                raise KeyboardInterrupt from None
            raise

"""The pipeline's tables that look across connections, made in this process out of the same facts by the same code.

The facts of all captures go to a temporary folder, once for all tables; DuckDB sorts them, in bounded memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any

from kcli.capture.capture_file import CaptureFile, is_piped
from kcli.errors import InputError, all_of
from kcli.filelike import name_of
from kcli.pipeline.aggregates import SNAPSHOT_KEYS, WHO_ASKED, client_rows, snapshots
from kcli.pipeline.direct_decode import DirectDecode
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.leader_changes import CHANGE_KEYS, changes
from kcli.pipeline.lineage import lineage_rows, open_rows
from kcli.pipeline.session_table import ORDER, sessions
from kcli.pipeline.storage import StoredFile
from kcli.pipeline.tables import TABLES
from kcli.sql.scans import Source
from kcli.tables.definition import schema_of

__all__ = ["DERIVED", "Facts", "derived_source"]

Row = dict[str, Any]
ROWS = 2000  # in a record batch, at most
MEMORY = "512MiB"  # for sorting; what is more goes to the folder of the facts
NEEDED = frozenset({*FACTS, "undecodable"})
FETCHES = """
SELECT *, NULL AS event FROM fetch_frames
UNION ALL BY NAME
SELECT regexp_extract(connection, '^(.+?:[0-9]+)-', 1) AS server, connection,
       epoch_us(timestamp) * 1000 AS completed_ns, event
FROM undecodable WHERE event != 'unanswered-at-end' AND connection IS NOT NULL
"""
OUTCOMES = """
SELECT outcomes.* REPLACE (coalesce(known.topic, outcomes.topic) AS topic)
FROM outcomes LEFT JOIN known ON outcomes.topic = known.topic_id
"""
KNOWN = "SELECT topic_id, arg_min(topic, learnt_ns) AS topic FROM topic_names GROUP BY topic_id"


class Facts:
    """What the pipeline's workers leave of captures for the tables across connections, in a folder until `close`.

    options: ports, dialect, secrets and memory, as for `CaptureDecoder`.
    """

    def __init__(self, paths: Sequence[str], options: dict[str, Any]) -> None:
        self.paths, self.options = paths, options
        self.lock = Lock()
        self.lineage: list[tuple[Any, ...]] = []
        self.failures: list[InputError] = []

    @cached_property
    def folder(self) -> tempfile.TemporaryDirectory[str]:
        """Where they are, once the captures have been read."""
        made = tempfile.TemporaryDirectory(prefix="kcli-sql-facts-")
        files = tuple(StoredFile(path, size_of(path), 0) for path in self.paths)
        task = DirectDecode(files, (), open_file=CaptureFile)
        try:
            decoded, read = task.decode(made.name, self.options | {"wanted": NEEDED})
        except BaseException:
            made.cleanup()
            raise
        self.lineage = [*lineage_rows(1, read, [decoded]), *open_rows(1, [decoded])]
        self.failures = [InputError(each.problem) for each in read if each.problem]
        return made

    def lineage_rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows of `lineage`."""
        with self.lock:
            _ = self.folder
        yield from self.lineage

    def sorted(self, query: str, order: Sequence[str] = ()) -> Iterator[Row]:
        """The rows of a query over the facts by name, and over `known` (topic ids and names), sorted."""
        import duckdb

        with self.lock:
            folder = self.folder.name
        config: dict[str, Any] = {"memory_limit": MEMORY, "temp_directory": folder}
        with duckdb.connect(":memory:", config=config) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            for table in NEEDED:
                connection.execute(f"CREATE VIEW {table} AS {self.view(table, folder)}")
            connection.execute(f"CREATE VIEW known AS {KNOWN}")
            by = ", ".join(f"{name} NULLS FIRST" for name in order)
            reader = connection.sql(f"{query} ORDER BY {by}" if by else query).to_arrow_reader(ROWS)
            for batch in reader:
                yield from batch.to_pylist()

    def view(self, table: str, folder: str) -> str:
        """SQL of a table's files; of an empty one where there are none."""
        files = sorted(map(str, (Path(folder) / table).rglob("*.parquet")))
        if files:
            listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
            return f"SELECT * FROM read_parquet([{listed}], hive_partitioning = false)"
        columns = (FACTS.get(table) or TABLES[table]).columns
        return "SELECT " + ", ".join(f"NULL::{SQL_TYPES[each.kind]} AS {each.name}" for each in columns) + " LIMIT 0"

    def names(self) -> dict[str, str]:
        """Topic id -> name."""
        return {row["topic_id"]: row["topic"] for row in self.sorted("SELECT * FROM known")}

    def close(self) -> None:
        """Remove the folder."""
        with self.lock:
            if "folder" in self.__dict__:
                self.folder.cleanup()


SQL_TYPES = {
    "instant": "TIMESTAMPTZ", "string": "VARCHAR", "bool": "BOOL", "int16": "SMALLINT", "int32": "INT",
    "int64": "BIGINT", "float64": "DOUBLE", "binary": "BLOB",
}  # fmt: skip


def size_of(path: str) -> int:
    return 0 if is_piped(path) else Path(path).stat().st_size


def folded(
    facts: Facts, query: str, keys: Sequence[str], order: Sequence[str], make: Callable[[Iterator[Row]], Iterable[Any]]
) -> Iterator[tuple[Any, ...]]:
    """make(rows of one key, in order), for each key: as `kcli.pipeline.incremental_tables.fold` does with Spark."""
    for _, rows in groupby(facts.sorted(query, [*keys, *order]), key=itemgetter(*keys)):
        yield from make(rows)


def session_rows(facts: Facts) -> Iterator[tuple[Any, ...]]:
    make = partial(sessions, names=facts.names(), dialect=facts.options.get("dialect"))
    return folded(facts, FETCHES, ["server"], ORDER, make)


def change_rows(facts: Facts) -> Iterator[tuple[Any, ...]]:
    return folded(facts, f"SELECT * FROM ({OUTCOMES})", CHANGE_KEYS, ["first_ns"], changes)


def snapshot_rows(facts: Facts) -> Iterator[tuple[Any, ...]]:
    return folded(facts, "SELECT * FROM snapshot_parts", SNAPSHOT_KEYS, ["answered_ns"], snapshots)


def judged_clients(facts: Facts) -> Iterator[tuple[Any, ...]]:
    who = ", ".join(WHO_ASKED)
    counted = facts.sorted(f"SELECT {who}, count(DISTINCT connection) AS n FROM client_uses GROUP BY {who}")
    connections = {tuple(row[name] for name in WHO_ASKED): row["n"] for row in counted}
    sums = "sum(requests)::BIGINT AS requests, bool_or(free) AS free, bool_or(negotiates) AS negotiates"
    uses = f"SELECT {who}, api_key, api_version, {sums} FROM client_uses GROUP BY ALL"
    return client_rows(facts.sorted(uses), connections)


DERIVED: dict[str, Callable[[Facts], Iterator[tuple[Any, ...]]]] = {
    "fetch_sessions": session_rows,
    "clients": judged_clients,
    "leader_changes": change_rows,
    "quorum": snapshot_rows,
    "lineage": Facts.lineage_rows,
}


def derived_source(table: str, facts: Facts) -> Source:
    """The rows of one of DERIVED. InputError behind them for captures that are damaged."""

    def batches(_wanted: frozenset[str]) -> Iterator[Any]:
        import pyarrow

        schema = schema_of(TABLES[table].columns)
        names = ", ".join(dict.fromkeys(map(name_of, facts.paths)))
        rows = DERIVED[table](facts)
        while some := list(islice(rows, ROWS)):
            columns = zip(*some, strict=True)
            arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
            files = pyarrow.repeat(pyarrow.scalar(names, pyarrow.string()), len(some))
            yield pyarrow.record_batch(arrays, schema=schema).append_column("file", files)
        if facts.failures:
            raise all_of(facts.failures)

    return batches

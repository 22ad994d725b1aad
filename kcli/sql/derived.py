"""The pipeline's tables that relate several connections, made in this process from the same facts by the same code.

The facts of all captures are written to a temporary folder, once for all tables; DuckDB sorts them, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from kcli.capture.decoder import DecodeOptions, decode
from kcli.capture.filters import ALL
from kcli.capture.io.capture_file import CaptureFile, is_piped
from kcli.capture.nothing import NothingReadError, nothing_in
from kcli.capture.sinks import Sink
from kcli.errors import InputError, all_of
from kcli.filelike import name_of
from kcli.input_names import unicode_name
from kcli.pipeline.derived.file_views import view_of
from kcli.pipeline.derived.judged_tables import finding_rows
from kcli.pipeline.derived.local_facts import LocalFacts
from kcli.pipeline.derived.local_tables import judged_clients, leader_changes, quorum, sessions_of
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.lineage import lineage_rows, open_rows
from kcli.pipeline.packets.decoding import DecodingOptions
from kcli.pipeline.packets.direct_decode import DirectDecode
from kcli.pipeline.storage import StoredFile
from kcli.pipeline.tables import TABLES
from kcli.sql.scans import Source
from kcli.tables.arrays import batch_of_rows
from kcli.tables.call_views import CALL_VIEWS, call_view
from kcli.tables.definition import schema_of
from kcli.tables.duckdb_engine import QUERY_MEMORY
from kcli.tables.rule_facts import RULE_FACTS
from kcli.temporary import TemporaryFolder

Row = dict[str, Any]
ROWS = 2000  # in a record batch, at most
# All facts but those of tables that are views over exchanges here.
NEEDED = frozenset({*FACTS, "undecodable"}) - {*RULE_FACTS, "exchange_facts", "noted_exchanges"}


class Facts:
    """Facts of captures, as the pipeline's workers write them for tables that relate several connections. They stay in
    a folder until `close`.

    options: ports, dialect, secrets and memory, of DecodeOptions.
    """

    def __init__(self, paths: Sequence[str], options: dict[str, Any], needed: frozenset[str] = NEEDED) -> None:
        self.paths, self.options, self.needed = paths, options, needed
        self.lock = Lock()
        self.lineage: list[tuple[Any, ...]] = []
        self.failures: list[InputError] = []

    @cached_property
    def folder(self) -> TemporaryFolder:
        """The folder of the facts; the captures are read on first use."""
        made = TemporaryFolder("kcli-sql-facts-")
        files = tuple(StoredFile(path, size_of(path), 0) for path in self.paths)
        task = DirectDecode(files, open_file=CaptureFile)
        try:
            decoded, read = task.decode(made.name, DecodingOptions(wanted=self.needed, reading=self.options))
            self.lineage = [*lineage_rows(1, read, [decoded]), *open_rows(1, [decoded])]
            self.failures = [InputError(each.problem) for each in read if each.problem]
            if not decoded.exchanges and not self.failures:
                self.failures = nothing_there(self.paths, self.options)
        except BaseException:
            made.cleanup()
            raise
        return made

    def lineage_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of `lineage`."""
        with self.lock:
            _ = self.folder
        yield from self.lineage

    def rows(self, query: str) -> Iterator[Row]:
        """Yield the rows of a query over the facts and `known`, as dicts by column."""
        for batch in self.batches(query):
            yield from batch.to_pylist()

    def batches(self, query: str) -> Iterator[Any]:
        """Yield the result of a query over the facts and `known` as record batches."""
        views = self.views()
        with LocalFacts(views, self.folder.name, QUERY_MEMORY) as facts:
            yield from facts.batches(query)

    def views(self) -> dict[str, str]:
        """Return the SQL of each table of facts."""
        with self.lock:
            folder = self.folder.name
        return {table: view_of(table, folder) for table in self.needed}

    def close(self) -> None:
        """Remove the folder, if it was made."""
        with self.lock:
            if "folder" in self.__dict__:
                self.folder.cleanup()


def nothing_there(paths: Sequence[str], options: dict[str, Any]) -> list[InputError]:
    """Return the error for captures without an exchange, which are read once more to describe their content.

    [] where all their exchanges are outside --since and --until.
    """
    if any(map(is_piped, paths)):
        chosen = options.get("chosen", ALL)
        bounded = "" if chosen.takes_all else " between --since and --until"
        return [NothingReadError(f"no Kafka request in it{bounded}, nothing to judge")]
    found = nothing_in(decode(paths, Sink(), DecodeOptions(**options)))
    return [found] if found else []


def size_of(path: str) -> int:
    return 0 if is_piped(path) else Path(path).stat().st_size


def called(table: str, facts: Facts) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table of CALL_VIEWS as tuples."""
    for row in facts.rows(call_view(table)):
        yield tuple(in_microseconds(value) for value in row.values())


def in_microseconds(value: Any) -> Any:
    """Return a datetime as microseconds since 1970, as rows of tables have it; any other value unchanged."""
    return int(value.timestamp() * 1_000_000) if isinstance(value, datetime) else value


DERIVED: dict[str, Callable[[Facts], Iterator[tuple[Any, ...]]]] = {
    "fetch_sessions": lambda facts: sessions_of(facts.rows, facts.batches, facts.options.get("dialect")),
    "clients": lambda facts: judged_clients(facts.rows),
    "leader_changes": lambda facts: leader_changes(facts.rows),
    "quorum": lambda facts: quorum(facts.rows),
    "lineage": Facts.lineage_rows,
}
# The same for tables made from the facts that rules read.
JUDGED: dict[str, Callable[[Facts], Iterator[tuple[Any, ...]]]] = {
    **{table: partial(called, table) for table in CALL_VIEWS},
    "findings": lambda facts: finding_rows(facts.views()),
}


def derived_source(table: str, facts: Facts) -> Source:
    """Return the rows of a table of DERIVED or JUDGED. Raises InputError after the last row for damaged captures."""

    def batches(_wanted: frozenset[str]) -> Iterator[Any]:
        import pyarrow

        schema = schema_of(TABLES[table].columns)
        names = ", ".join(dict.fromkeys(unicode_name(name_of(each)) for each in facts.paths))
        rows = (DERIVED | JUDGED)[table](facts)
        found = False
        while some := list(islice(rows, ROWS)):
            found = True
            files = pyarrow.repeat(pyarrow.scalar(names, pyarrow.string()), len(some))
            yield batch_of_rows(some, schema).append_column("file", files)
        # Findings may say themselves that there is no Kafka to read.
        judged = table == "findings" and found
        failures = [each for each in facts.failures if not (judged and isinstance(each, NothingReadError))]
        if failures:
            raise all_of(failures)

    return batches

"""Each table of the pipeline as a data source: from captures, or from a folder that `kcli pipeline run` has written.

Exchanges, and tables that need only single ones, are made from captures in any number of tasks, which share the
connections. Tables that need several connections are made in one task, as by `kcli pipeline run --engine local`. In an
output folder each file is a task, in the version of the last run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kcli.errors import InputError, UsageError
from kcli.pipeline.entry import published
from kcli.pipeline.formats.runs import format_of
from kcli.pipeline.journal import Journal
from kcli.pipeline.schemas import spark_columns
from kcli.pipeline.sources.file_source import KcliSource, plain_arrays, shows_secrets
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.tables import RUNS, SHOWN
from kcli.tables.definition import Table, schema_of
from kcli.temporary import TemporaryFolder

BYTES = 1 << 25  # bytes of captures for one task
MOST = 16  # the most tasks of captures, without the option `shares`
ROWS = 20_000  # rows of a written file that are read at a time


@dataclass(frozen=True, slots=True)
class Share:
    """The connections of one share of captures."""

    uris: tuple[str, ...]
    number: int
    count: int


@dataclass(frozen=True, slots=True)
class Whole:
    """All connections of captures."""

    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table."""

    uri: str


class TableSource(KcliSource):
    """A row of the table, which subclasses name (`sources_of_tables`)."""

    table: Table

    @classmethod
    def name(cls) -> str:
        return f"kcli.{cls.table.name}"

    @property
    def folders(self) -> list[str]:
        """The output folders among the paths. Raises UsageError if there are other paths, too."""
        paths = self.paths()
        found = [path for path in paths if format_of(StoragePath(path).absolute) is not None]
        if found and len(found) < len(paths):
            raise UsageError(f"{self.name()}: {found[0]} holds tables, the other paths do not (read them apart)")
        return found

    def inputs(self) -> list[Any]:
        if folders := self.folders:
            stored = [Journal(folder).runs.stored() for folder in folders]
            return [TableFile(file.uri) for each in stored for file in each.get(self.table.name, ())]
        files = self.files()
        return self.tasks_of([file.uri for file in files], sum(file.size for file in files))

    def tasks_of(self, uris: Sequence[str], size: int) -> list[Any]:
        """Return the tasks of captures. size: of all, in bytes. Raises UsageError."""
        if self.table.name == RUNS.name:
            raise UsageError("kcli.runs is of a folder that `kcli pipeline run` has written")
        if not uris:
            return []
        if not self.table.dated:
            return [Whole(tuple(uris))]
        shares = int(self.options.get("shares", min(MOST, max(1, size // BYTES))))
        return [Share(tuple(uris), share, shares) for share in range(shares)]

    def batches(self, task: Any, wanted: Sequence[str], condition: Any) -> Iterator[Any]:
        if isinstance(task, TableFile):
            yield from written_batches(StoragePath(task.uri), self.table, wanted, condition)
        elif isinstance(task, Share):
            yield from self.decoded(task)
        else:
            yield from self.derived(task, wanted, condition)

    def decoded(self, task: Share) -> Iterator[Any]:
        """Yield the rows of a share of captures. Raises InputError."""
        from kcli.pipeline.packets.reading import Reading
        from kcli.pipeline.packets.shuffle import gather_share
        from kcli.pipeline.rows.origins import Origins
        from kcli.pipeline.rows.row_source import RowSource
        from kcli.pipeline.writing import whole_batch, written_schema
        from kcli.tables.arrays import batch_of_rows

        schema = written_schema(self.table.name)
        ready: list[Any] = []

        def put(table: str, row: tuple[Any, ...]) -> None:
            if table == self.table.name:
                ready.append(batch_of_rows([row + (None,) * (len(schema) - len(row))], schema))

        def put_batch(table: str, _day: int, batch: Any, _nameless: bool) -> None:
            if table == self.table.name:
                ready.append(plain_arrays(whole_batch(batch, schema)))

        origins = Origins(None, self.options.get("origin"))
        source = RowSource(put, frozenset({self.table.name}), put_batch, origins=origins, **self.reading)
        with TemporaryFolder("kcli-share-") as folder:
            staged, problems = gather_share(task.uris, task.number, task.count, folder)
            slices = [each.whole for each in staged]
            with contextlib.closing(Reading(source.engine, source.new_reader, slices)) as reading:
                origins.begin(reading.captures)
                reading.entered = source.enter
                for _ in reading.pieces():
                    yield from taken(ready)
            source.engine.finish()
            source.flush(last=True)
            yield from taken(ready)
        if problems and self.options.get("damage") == "fail":
            raise InputError(problems[0])

    def derived(self, task: Whole, wanted: Sequence[str], condition: Any) -> Iterator[Any]:
        """Yield the rows of a table that needs several connections. Raises InputError."""
        from kcli.pipeline.context import Options
        from kcli.pipeline.local_engine import LocalEngine
        from kcli.pipeline.run import run_pipeline

        with TemporaryFolder("kcli-tables-") as folder:
            made = run_pipeline(LocalEngine(), task.uris, Options(folder, table_format="parquet", **self.reading))
            for file in Journal(folder).runs.stored()[self.table.name]:
                yield from written_batches(StoragePath(file.uri), self.table, wanted, condition)
        if made.problems and self.options.get("damage") == "fail":
            raise InputError(made.problems[0])

    @property
    def reading(self) -> Mapping[str, Any]:
        """The options of reading captures."""
        ports = tuple(int(port) for port in self.options.get("port", "").split(",") if port)
        return {"ports": ports, "dialect": self.options.get("schema"), "secrets": shows_secrets(self.options)}

    # A stream reads new captures, or the rows of a folder's new runs.

    def position(self) -> dict[str, Any]:
        folders = self.folders
        if not folders:
            return super().position()
        if not self.table.dated:
            raise UsageError(f"{self.name()} is rewritten by every run: no stream has it (read it as it is)")
        return {"runs": {folder: Journal(folder).last for folder in folders}}

    def inputs_between(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
        if "runs" not in end:
            return super().inputs_between(start, end)
        before = start.get("runs", {})
        found: list[str] = []
        for folder, last in end["runs"].items():
            found += files_of_runs(Journal(folder), self.table.name, before.get(folder, 0), last)
        return [TableFile(uri) for uri in found]

    def tasks_of_new(self, uris: Sequence[str]) -> list[Any]:
        return self.tasks_of(uris, sum(StoragePath(uri).info().size for uri in uris))


def files_of_runs(journal: Journal, table: str, first: int, last: int) -> Iterator[str]:
    """Yield the files of a table from the runs after `first` up to `last`. Raises InputError if one of these replaces a
    run that was read before.
    """
    for entry in journal.entries:
        if not first < entry.run <= last:
            continue
        again = [run for run in entry.redone if run <= first]
        if again:
            text = f"run {entry.run} stands in place of run {again[0]}, which the stream has read"
            raise InputError(f"{text} (start again, with another checkpoint)", file=journal.output.uri)
        for where in entry.files:
            if where["table"] == table and not where["passing"]:
                yield (journal.output / published(entry.run, where)).uri


def written_batches(place: StoragePath, table: Table, wanted: Sequence[str], condition: Any) -> Iterator[Any]:
    """Yield the rows of a file for which a condition is true. Row groups without any are skipped."""
    import pyarrow.dataset

    schema = schema_of(table.columns)
    fragment = pyarrow.dataset.ParquetFileFormat().make_fragment(place.path, place.fs)
    scanner = fragment.scanner(schema=schema, columns=list(wanted), filter=condition, batch_size=ROWS)
    yield from scanner.to_batches()


def taken(batches: list[Any]) -> Iterator[Any]:
    """Yield the batches that are ready, and clear the list."""
    yield from batches
    batches.clear()


def sources_of_tables() -> list[type[TableSource]]:
    """Return a source class for each table."""
    made = []
    for table in SHOWN.values():
        members = {"table": table, "columns": spark_columns(table), "__doc__": table.text, "__module__": __name__}
        made.append(type(f"{table.name}_source", (TableSource,), members))
    return made

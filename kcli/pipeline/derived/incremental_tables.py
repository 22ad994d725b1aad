"""The tables about several connections, made from the facts of all runs, by Spark, sorted, in bounded memory.

A table is made key by key (the sessions of a server, the changes of a client for a partition). Only keys of which a run
adds or withdraws rows are made again; the rows of all other keys are copied from the run before.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.pipeline.context import Options
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.schemas import spark_columns
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import TableWriter, WrittenFile, as_stored, stored_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
Make = Callable[[Iterator[Row]], Iterable[tuple[Any, ...]]]

PUBLISHED = re.compile(r"(?:^|/)(\d{8})-[^/]*$")  # a file of a table or of facts, with the number of its run

Files = Callable[[str], list[str]]
Narrow = Callable[["DataFrame"], "DataFrame"]


@dataclass(frozen=True, slots=True)
class AsRead:
    """The options with which captures were read. sample: the fraction of their connections; None: all."""

    dialect: str | None = None
    sample: float | None = None

    @classmethod
    def of(cls, options: Options) -> AsRead:
        """Return the options with which a run reads captures."""
        return cls(options.dialect, options.sample)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of all runs, by table, and the folder for the files of this run. names: topic id -> name.

    fresh: the files that this run has made, and those of earlier runs that it withdraws; None: all is made again.
    before: the files of a derived table from the run before. renamed: topics have other names than in the run before.
    read: how this run reads captures.
    """

    spark: SparkSession
    files: Files
    folder: str
    names: dict[str, str]
    fresh: Files | None = None
    before: Files = field(default=lambda _: [])
    renamed: bool = False
    read: AsRead = AsRead()

    def frame(self, table: str) -> DataFrame | None:
        """Return all rows of a table; None if it has no file."""
        return self.rows_in(table, self.files(table))

    def rows_in(self, table: str, paths: Sequence[str]) -> DataFrame | None:
        """Return the rows of these files of a table; None if there are no files. Columns that an earlier release did
        not write are null.
        """
        schema = ", ".join(f"{name} {kind}" for name, kind in spark_columns((TABLES | FACTS)[table]))
        return self.spark.read.schema(schema).parquet(*map(spark_path, paths)) if paths else None

    def unsummed(self, facts: str) -> DataFrame | None:
        """Return the rows of `exchanges` from runs of an older kcli, which did not write these facts; None if there is
        no such run.
        """
        numbers = runs_of(self.files(facts))
        return self.rows_in("exchanges", [uri for uri in self.files("exchanges") if not runs_of([uri]) <= numbers])

    def only_fresh(self) -> RunFiles | None:
        """Return the same with only the fresh files; None if everything is made again."""
        return None if self.fresh is None else replace(self, files=self.fresh)


def runs_of(uris: Iterable[str]) -> set[str]:
    """Return the numbers of the earlier runs that wrote these files."""
    return {found[1] for uri in uris if (found := PUBLISHED.search(uri))}


def spark_path(uri: str) -> str:
    """Return a path or URI in the form that Hadoop's file systems need."""
    if uri.startswith("s3://"):
        return "s3a://" + uri.removeprefix("s3://").partition("?")[0]
    return uri if "://" in uri else f"file://{Path(uri).absolute()}"


def fold(
    gathered: RunFiles,
    build: Callable[[RunFiles], DataFrame | None],
    keys: Sequence[str],
    order: Sequence[str],
    make: Make,
    table: str,
    *,
    narrow: Narrow = lambda frame: frame,
) -> list[WrittenFile]:
    """Make the rows of a table by calling `make` with the rows of each key, in order; the keys are among the table's
    columns. Each key is processed in one task, which need not hold all its rows.

    build: makes the rows from `gathered` files. narrow: drops rows that do not matter, given all rows of a key.
    """
    frame = build(gathered)
    if frame is None:
        return []
    kept: list[WrittenFile] = []
    fresh = gathered.only_fresh()
    if fresh is not None:
        touched = touched_keys(build(fresh), keys)
        frame = among(frame, touched, keys, "left_semi")
        kept = keep(gathered, table, touched, keys)
    count = max(1, min(gathered.spark.sparkContext.defaultParallelism, 64))
    placed = narrow(frame).repartition(count, *keys).sortWithinPartitions(*keys, *order)
    return kept + written_by(placed, folding(gathered.folder, list(keys), make, table))


def touched_keys(frame: DataFrame | None, keys: Sequence[str]) -> DataFrame | None:
    """Return the keys in a frame, with a prefix to their names."""
    return None if frame is None else frame.select(*(frame[key].alias(f"touched_{key}") for key in keys)).distinct()


def among(frame: DataFrame, touched: DataFrame | None, keys: Sequence[str], how: str) -> DataFrame:
    """Return the rows with these keys ("left_semi"), or all others ("left_anti"). Null counts as a key."""
    if touched is None:
        return frame.limit(0) if how == "left_semi" else frame
    return frame.join(touched, [frame[key].eqNullSafe(touched[f"touched_{key}"]) for key in keys], how)


def keep(gathered: RunFiles, table: str, touched: DataFrame | None, keys: Sequence[str]) -> list[WrittenFile]:
    """Copy the rows of all keys that are not touched."""
    frame = gathered.rows_in(table, gathered.before(table))
    if frame is None:
        return []
    return copy_rows(gathered, table, among(frame, touched, keys, "left_anti").coalesce(1), "kept-")


Work = Callable[[Iterator[Any]], Iterator[Any]]


def folding(folder: str, keys: list[str], make: Make, table: str) -> Work:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        writer = TableWriter(folder, os.urandom(6).hex())
        rows = (row for batch in batches for row in batch.to_pylist())
        for _, group in groupby(rows, key=lambda row: [row[name] for name in keys]):
            for row in make(group):
                writer.put(table, row)
        yield packed(writer.close())

    return work


def copy_rows(gathered: RunFiles, table: str, frame: DataFrame, mark: str = "") -> list[WrittenFile]:
    """Write the rows of a frame as rows of a table. mark: a prefix for the names of the files."""
    return written_by(frame, copying(gathered.folder, table, mark))


def copying(folder: str, table: str, mark: str) -> Work:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        writer = TableWriter(folder, f"{mark}{os.urandom(6).hex()}")
        for batch in batches:
            writer.put_batch(table, -1, as_stored(batch, stored_schema(table)))
        yield packed(writer.close())

    return work


def packed(written: list[WrittenFile]) -> Any:
    import pyarrow

    return pyarrow.record_batch({"written": pyarrow.array([pickle.dumps(written)], pyarrow.binary())})


def written_by(frame: DataFrame, work: Work) -> list[WrittenFile]:
    done = frame.mapInArrow(work, "written binary").collect()
    return [each for row in done for each in pickle.loads(row["written"])]

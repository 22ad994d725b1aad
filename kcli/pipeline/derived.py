"""The tables that look across connections, made anew from what all runs have left: by Spark, sorted, in bounded
memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kcli.pipeline.writing import TableWriter, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Gathered", "derive", "fold"]

Row = dict[str, Any]
Make = Callable[[Iterator[Row]], Iterable[tuple[Any, ...]]]

FETCH_APIS = (1, 2, 3, 9)  # Fetch, and what tells of offsets and names: ListOffsets, Metadata, OffsetFetch


class Gathered:
    """The files of all runs, by table. names: topic id -> name."""

    def __init__(
        self, spark: SparkSession, files: Callable[[str], list[str]], folder: str, names: dict[str, str]
    ) -> None:
        self.spark, self.files, self.folder, self.names = spark, files, folder, names

    def frame(self, table: str) -> DataFrame | None:
        paths = self.files(table)
        return self.spark.read.parquet(*map(spark_path, paths)) if paths else None


def spark_path(uri: str) -> str:
    """As Hadoop's file systems name it."""
    if uri.startswith("s3://"):
        return "s3a://" + uri.removeprefix("s3://").partition("?")[0]
    return uri if "://" in uri else f"file://{Path(uri).absolute()}"


def derive(gathered: Gathered) -> list[Written]:
    """Every such table; empty ones have no file."""
    from kcli.pipeline import across

    written: list[Written] = []
    for table, make in across.MAKERS.items():
        written += make(gathered, table)
    return written


def fold(
    gathered: Gathered, frame: DataFrame, keys: Sequence[str], order: Sequence[str], make: Make, table: str
) -> list[Written]:
    """make(rows of one key, in order) -> rows of the table; each key is in one task, which need not hold all its
    rows."""
    import pickle

    folder, keys = gathered.folder, list(keys)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import os

        import pyarrow

        writer = TableWriter(folder, f"{os.urandom(6).hex()}")
        rows = (row for batch in batches for row in batch.to_pylist())
        for _, group in groupby(rows, key=lambda row: [row[name] for name in keys]):
            for row in make(group):
                writer.put(table, row)
        done = pickle.dumps(writer.close())
        yield pyarrow.record_batch({"written": pyarrow.array([done], pyarrow.binary())})

    count = max(1, min(gathered.spark.sparkContext.defaultParallelism, 64))
    placed = frame.repartition(count, *keys).sortWithinPartitions(*keys, *order)
    return [
        each for row in placed.mapInArrow(work, "written binary").collect() for each in pickle.loads(row["written"])
    ]

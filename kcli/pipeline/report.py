"""`kcli pipeline report`: asks the questions of an output folder's tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from kcli.errors import InputError
from kcli.finding import Finding
from kcli.pipeline.derived.incremental_tables import spark_path
from kcli.pipeline.journal import Journal
from kcli.pipeline.queries import QUESTIONS, Question
from kcli.pipeline.schemas import spark_columns
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.tables import FILED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST = 1000  # the most rows of an answer


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with the rows of its answer."""

    question: Question
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def opened(output: str) -> Journal:
    """Return the journal of an output folder. Raises InputError if it has no run."""
    journal = Journal(output)
    if not journal.entries:
        raise InputError("no tables of `kcli pipeline run` in it", file=output)
    return journal


def described(output: str) -> str:
    """Return the folder's name, with its sample of connections if it has one. Raises InputError if it has no run."""
    sample = opened(output).entries[-1].sample
    return output if sample is None else f"{output} (a sample of {sample:g} of the connections)"


def stored_bytes(output: str) -> int:
    """Return the total size of all tables in bytes. Raises InputError if the folder has no run."""
    stored = opened(output).runs.stored()
    return sum(file.size for files in stored.values() for file in files)


def rows_by_table(output: str) -> dict[str, int]:
    """Return {table: number of rows}. Raises InputError if the folder has no run."""
    import pyarrow.parquet

    stored = opened(output).runs.stored()
    return {
        name: sum(pyarrow.parquet.read_metadata(StoragePath(file.uri).path).num_rows for file in files)
        for name, files in stored.items()
    }


def stored_findings(output: str) -> Iterator[Finding]:
    """Yield the findings of the last run, the most important first. Raises InputError if the folder has no run."""
    import pyarrow.parquet

    files = [StoragePath(each.uri).path for each in opened(output).runs.stored().get("findings", ())]
    rows = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
    for row in sorted(rows, key=lambda row: int(row["rank"])):
        yield Finding.of_row(row)


def open_tables(spark: SparkSession, output: str) -> int:
    """Open the folder's tables as views by name, including empty ones. Returns the number of runs in it. Raises
    InputError if it has none.
    """
    journal = opened(output)
    stored = journal.runs.stored()
    for table in FILED.values():
        schema = ", ".join(f"`{name}` {kind}" for name, kind in spark_columns(table))
        files = [each.uri for each in stored.get(table.name, ())]
        frame = (
            spark.read.schema(schema).parquet(*map(spark_path, files)) if files else spark.createDataFrame([], schema)
        )
        frame.createOrReplaceTempView(table.name)
    return len(journal.entries)


def ask(spark: SparkSession) -> Iterator[Answered]:
    """Yield each question's answer, in order."""
    for question in QUESTIONS:
        frame = spark.sql(question.sql)
        rows = [tuple(row) for row in frame.limit(MOST).collect()]
        yield Answered(question, tuple(frame.columns), rows)


class SparkTables:
    """The engine of `kcli.report` over the tables that `open_tables` has opened. Leaving its block frees the kept
    rows.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.prepared: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for frame in self.prepared:
            frame.unpersist()

    def define(self, name: str, sql: str) -> None:
        """Define the query as a view with this name."""
        self.spark.sql(sql).createOrReplaceTempView(name)

    def prepare(self, name: str, sql: str) -> None:
        """Define the query as a view with this name, and keep its rows for later queries."""
        frame = self.spark.sql(sql).persist()
        frame.createOrReplaceTempView(name)
        self.prepared.append(frame)

    def run(self, sql: str) -> tuple[Sequence[str], Sequence[Sequence[Any]]]:
        """Run a query. Returns (names of the columns, rows)."""
        frame = self.spark.sql(sql)
        return frame.columns, [tuple(row) for row in frame.collect()]

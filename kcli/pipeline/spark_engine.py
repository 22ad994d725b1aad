"""The engine for fleets: Spark runs the tasks, and makes the tables that look across connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kcli.pipeline.context import RunContext
from kcli.pipeline.derived.aggregates import derive
from kcli.pipeline.derived.incremental_tables import Gathered
from kcli.pipeline.rows.naming import TopicNames, texts_of
from kcli.pipeline.spark import hand_out
from kcli.pipeline.writing import Written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkEngine:
    """See `kcli.pipeline.context.Engine`."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark

    @property
    def cores(self) -> int:
        """Return how many tasks Spark runs at a time."""
        return int(self.spark.sparkContext.defaultParallelism)

    @property
    def local(self) -> bool:
        """Return whether all tasks run on this machine."""
        return str(self.spark.sparkContext.master).startswith("local")

    def hand_out(self, tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None]) -> list[Any]:
        """Run the tasks in Spark's workers."""
        return hand_out(self.spark, tasks, work, done)

    def derive(self, context: RunContext, names: Mapping[str, str]) -> list[Written]:
        """Make the tables: keys that this run has not changed are copied."""
        journal = context.journal
        gathered = Gathered(self.spark, context.files, context.folder, dict(names), dialect=context.options.dialect)
        if journal.entries and not context.entry.redone:  # else what the last run left is out of date
            before = TopicNames(context).named_in(journal.permanent("topic_names") + journal.passed("topic_names"))
            gathered = replace(
                gathered,
                fresh=lambda table: journal.passed(table) + context.own_files(table),
                before=journal.passed,
                renamed=gathered.names != texts_of(before),
            )
        return derive(gathered)

"""The engine for fleets: Spark runs the tasks, and makes the tables that need several connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from kcli.pipeline.context import RunContext
from kcli.pipeline.derived.aggregates import derive
from kcli.pipeline.derived.facts_task import (
    FEW_ROWS,
    READ,
    FactsTask,
    facts_tasks,
    has_older_runs,
    hours_before,
    judging_task,
)
from kcli.pipeline.derived.incremental_tables import AsRead, RunFiles
from kcli.pipeline.rows.topic_name_fill import LearnedNames, texts_of
from kcli.pipeline.spark import hand_out
from kcli.pipeline.writing import WrittenFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FITTING_ROWS = 20_000_000  # of facts; more are processed in many tasks, and only those that a run has changed


class SparkEngine:
    """See `kcli.pipeline.context.RunEngine`."""

    def __init__(self, spark: SparkSession, fitting_rows: int = FITTING_ROWS) -> None:
        """Use a session. fitting_rows: the most rows of facts for a few tasks."""
        self.spark, self.fitting_rows = spark, fitting_rows

    @property
    def cores(self) -> int:
        """Return the number of tasks that Spark runs at a time."""
        return int(self.spark.sparkContext.defaultParallelism)

    @property
    def local(self) -> bool:
        """Return whether all tasks run on this machine."""
        return str(self.spark.sparkContext.master).startswith("local")

    def hand_out(self, tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None]) -> list[Any]:
        """Run the tasks in Spark's workers."""
        return hand_out(self.spark, tasks, work, done)

    def derive(self, context: RunContext, names: Mapping[str, str]) -> list[WrittenFile]:
        """Make the tables: by DuckDB in a few tasks if the facts of all runs are few enough, else by Spark's
        queries.
        """
        rows = sum(context.rows(table) for table in READ)
        read = AsRead.of(context.options)
        if rows > self.fitting_rows or has_older_runs(context.files):
            return self.derive_changed(context, names, read)
        count = 1 if rows < FEW_ROWS else self.cores
        return self.written(facts_tasks(context.files, context.folder, read, count, hours_before(context)))

    def derive_changed(self, context: RunContext, names: Mapping[str, str], read: AsRead) -> list[WrittenFile]:
        """Make the tables by Spark's queries, which copy the rows of keys that this run has not changed. One task makes
        the findings.
        """
        journal = context.journal
        gathered = RunFiles(self.spark, context.files, context.folder, dict(names), read=read)
        if journal.entries and not context.entry.redone:  # else the tables of the last run are out of date
            before = LearnedNames(context).named_in(journal.permanent("topic_names") + journal.passed("topic_names"))
            gathered = replace(
                gathered,
                fresh=lambda table: journal.passed(table) + context.own_files(table),
                before=journal.passed,
                renamed=gathered.names != texts_of(before),
            )
        return derive(gathered) + self.written([judging_task(context.files, context.folder, read)])

    def written(self, tasks: Sequence[FactsTask]) -> list[WrittenFile]:
        """Return the files that the tasks wrote."""
        return list(chain(*self.hand_out(tasks, FactsTask.write, lambda _done: None)))

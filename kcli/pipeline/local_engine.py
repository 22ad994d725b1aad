"""The engine for one machine: this process or forks of it run the tasks, and DuckDB makes the tables that need several
connections.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from kcli.errors import UsageError
from kcli.extras import require
from kcli.pipeline.context import RunContext
from kcli.pipeline.derived.facts_task import FEW_ROWS, PARTS, READ, FactsTask, facts_tasks, has_older_runs, hours_before
from kcli.pipeline.derived.incremental_tables import AsRead
from kcli.pipeline.forks import hand_out_forked
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import WrittenFile


class LocalEngine:
    """See `kcli.pipeline.context.RunEngine`."""

    cores = 1  # one task decodes, while a second thread writes its Parquet
    local = True

    def __init__(self, cores: int = 1) -> None:
        """Check that DuckDB is installed. Raises UsageError if it is missing. cores: for the tables that are made from
        the facts.
        """
        require("kcli pipeline run --engine local", "report")
        self.processes = cores if hasattr(os, "fork") else 1

    def hand_out(self, tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None]) -> list[Any]:
        """Run the tasks one after the other."""
        made = []
        for number, task in enumerate(tasks, start=1):
            made.append(work(task))
            done(number)
        return made

    def derive(self, context: RunContext, names: Mapping[str, str]) -> list[WrittenFile]:
        """Make all rows again from the facts of all runs. Raises UsageError if some of these are of an older kcli."""
        if has_older_runs(context.files):
            raise UsageError(f"{context.options.output}: holds runs of an older kcli (use --engine spark)")
        few = self.processes == 1 or sum(context.rows(table) for table in READ) < FEW_ROWS
        read = AsRead.of(context.options)
        tasks = facts_tasks(context.files, context.folder, read, 1 if few else len(PARTS), hours_before(context))
        if few:
            return tasks[0].write()
        import duckdb  # noqa: F401  once for all forks

        return [*chain(*hand_out_forked(tasks, FactsTask.write, lambda _done: None, self.processes))]


def cores_here() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_output(output: str) -> None:
    """Raise UsageError if DuckDB can't read files there."""
    if StoragePath(output).remote:
        raise UsageError(f"{output}: --engine local writes only to local folders (use --engine spark)")

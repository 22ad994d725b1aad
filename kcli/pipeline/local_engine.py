"""The engine for a laptop: this process runs the tasks, and DuckDB makes the tables that look across connections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kcli.errors import UsageError
from kcli.extras import require
from kcli.pipeline.context import RunContext
from kcli.pipeline.derived.facts_task import facts_tasks, has_older_runs, hours_before
from kcli.pipeline.derived.incremental_tables import AsRead
from kcli.pipeline.storage import Place
from kcli.pipeline.writing import Written


class LocalEngine:
    """See `kcli.pipeline.context.Engine`. One task runs at a time."""

    cores = 1
    local = True

    def __init__(self) -> None:
        """Check that DuckDB is there. Raises UsageError if it is missing."""
        require("kcli pipeline run --engine local", "report")

    def hand_out(self, tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None]) -> list[Any]:
        """Run the tasks one after the other."""
        made = []
        for number, task in enumerate(tasks, start=1):
            made.append(work(task))
            done(number)
        return made

    def derive(self, context: RunContext, names: Mapping[str, str]) -> list[Written]:
        """Make all rows anew, out of the facts of all runs."""
        if has_older_runs(context.files):
            raise UsageError(f"{context.options.output}: holds runs of an older kcli (use --engine spark)")
        read = AsRead.of(context.options)
        (task,) = facts_tasks(context.files, context.folder, read, hours=hours_before(context))
        return task.write()


def check_output(output: str) -> None:
    """Raise UsageError if DuckDB does not read what is written there."""
    if Place(output).remote:
        raise UsageError(f"{output}: --engine local writes to a folder of this machine (use --engine spark)")

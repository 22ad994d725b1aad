"""`kcli pipeline run`: new captures of a fleet into the tables of an output folder, by Spark, done once and whole."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kcli.pipeline.aggregates import derive
from kcli.pipeline.context import Options, Progress, RunContext
from kcli.pipeline.decoding import Decoded
from kcli.pipeline.holding import holding
from kcli.pipeline.incremental_tables import Gathered
from kcli.pipeline.journal import Entry, Journal
from kcli.pipeline.lineage import put_lineage
from kcli.pipeline.naming import Names, TopicNames
from kcli.pipeline.shuffle import ShuffledRange
from kcli.pipeline.stages import Stages
from kcli.pipeline.storage import StoredFile, gather

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(slots=True)
class Summary:
    """Counts of one run. problems: files that are no captures or damaged, reported when all else was read."""

    run: int = 0
    files: int = 0
    skipped: int = 0
    packets: int = 0
    exchanges: int = 0
    events: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def quiet(_what: str, _done: int, _total: int) -> None:
    return


def run_pipeline(
    spark: SparkSession, inputs: Sequence[str], options: Options, progress: Progress = quiet, *, held: bool = False
) -> Summary:
    """Read the captures behind `inputs` that no run has read yet.

    held: the caller holds the output (`kcli.pipeline.holding`). HeldError, InputError, OSError, UsageError.
    """
    with nullcontext() if held else holding(options.output):
        return run_held(spark, inputs, options, progress)


def run_held(spark: SparkSession, inputs: Sequence[str], options: Options, progress: Progress) -> Summary:
    journal = Journal(options.output)
    journal.recover()
    files = gather(list(inputs))
    fresh = journal.fresh(files)
    summary = run_files(spark, journal, fresh, options, progress) if fresh else Summary(journal.last)
    summary.skipped = len(files) - len(fresh)
    summary.problems += [f"{each.uri}: has grown since it was read, not read again" for each in journal.grown(files)]
    return summary


def run_files(
    spark: SparkSession,
    journal: Journal,
    fresh: Sequence[tuple[StoredFile, str]],
    options: Options,
    progress: Progress = quiet,
) -> Summary:
    """One run over these files: both stages, the tables across connections, and the journal's entry."""
    entry = journal.begin()
    entry.inputs = [
        {"uri": file.uri, "size": file.size, "changed": file.changed, "print": mark} for file, mark in fresh
    ]
    entry.drop = journal.passing()
    context = RunContext(spark, journal, entry, options, progress)
    names = TopicNames(context)
    scattered, decoded = Stages(context, names).read([file for file, _ in fresh])
    names.name(decoded)
    put_lineage(context, scattered, decoded)
    derive_tables(context, names)
    entry.stats["exchanges"] = sum(each.exchanges for each in decoded)
    journal.commit(entry)
    (journal.home / "staging").remove()
    return summed(entry, scattered, decoded)


def summed(entry: Entry, scattered: Sequence[ShuffledRange], decoded: Sequence[Decoded]) -> Summary:
    made = Summary(entry.run, len(entry.inputs))
    made.packets = sum(each.packets for each in scattered)
    made.exchanges = sum(each.exchanges + each.open_rows[0] for each in decoded)
    for where in entry.files:
        made.rows[where["table"]] = made.rows.get(where["table"], 0) + where["rows"]
    made.events = made.rows.get("undecodable", 0)
    made.problems = [each.problem for each in scattered if each.problem]
    return made


def derive_tables(context: RunContext, names: TopicNames) -> None:
    """The tables that look across connections. Only what this run has changed is made anew."""
    context.progress("sessions, leader changes, clients", 0, 1)
    journal = context.journal
    gathered = Gathered(
        context.spark, context.files, context.folder, texts_of(names.known), dialect=context.options.dialect
    )
    if journal.entries:
        before = names.named_in(journal.permanent("topic_names") + journal.passed("topic_names"))
        gathered = replace(
            gathered,
            fresh=lambda table: journal.passed(table) + context.own_files(table),
            before=journal.passed,
            renamed=gathered.names != texts_of(before),
        )
    context.entry.add(derive(gathered), passing=True)
    context.progress("sessions, leader changes, clients", 1, 1)


def texts_of(names: Names) -> dict[str, str]:
    """Topic id -> name."""
    return {topic_id: name for topic_id, (name, _) in names.items()}

"""`kcli pipeline run`: read new captures of a fleet into the tables of an output folder, each once and whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from kcli.errors import UsageError
from kcli.pipeline.context import Options, Progress, RunContext, RunEngine
from kcli.pipeline.entry import Entry
from kcli.pipeline.fact_tables import facts_mark
from kcli.pipeline.journal import Journal, fingerprint, unfounded_notes
from kcli.pipeline.lineage import put_lineage
from kcli.pipeline.output_lock import holding
from kcli.pipeline.packets.decoding import Decoded
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.redo import LateError, Marked, Task, again, first_times, from_run_on, is_late, since, unchanged
from kcli.pipeline.rows.topic_name_fill import LearnedNames, texts_of
from kcli.pipeline.stages import Stages
from kcli.pipeline.storage import StoragePath, StoredFile, gather
from kcli.pipeline.tables import RECORDS, TABLES
from kcli.pipeline.totals import totals_of
from kcli.pipeline.writing import NO_DAY, WrittenFile, empty_file

AS_READ = ("ports", "dialect", "secrets", "memory", "key_logs", "origin", "sample")  # options that rows depend on


@dataclass(slots=True)
class Summary:
    """Counts of one run. waiting: of the exchanges, those that wait for an answer; a later run counts them again.
    problems: files that are no captures or damaged, reported after all others are read. redone:
    runs that were done again, see `kcli.pipeline.redo`; notes: those that could not be. totals: see
    `kcli.pipeline.totals`; None if there was nothing to read. sample: the share of the connections that were read;
    None: all.
    """

    run: int = 0
    files: int = 0
    skipped: int = 0
    packets: int = 0
    exchanges: int = 0
    waiting: int = 0
    events: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    redone: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    totals: dict[str, Any] = field(default_factory=dict)
    sample: float | None = None

    def add(self, made: Summary) -> None:
        """Add a later run's."""
        self.run, self.sample = made.run, made.sample
        for name in ("files", "packets", "exchanges", "events"):
            setattr(self, name, getattr(self, name) + getattr(made, name))
        self.exchanges -= self.waiting
        self.waiting = made.waiting
        for table, rows in made.rows.items():
            self.rows[table] = self.rows.get(table, 0) + rows
        self.problems += made.problems
        self.redone += made.redone
        self.notes += [note for note in made.notes if note not in self.notes]


def quiet(_what: str, _done: int, _total: int) -> None:
    """Take progress and show none."""
    return


def run_pipeline(
    engine: RunEngine, inputs: Sequence[str | StoredFile], options: Options, progress: Progress = quiet
) -> Summary:
    """Read the captures behind `inputs` that no run has read yet. Raises HeldError, InputError, OSError, UsageError."""
    with holding(options.output):
        return run_held(engine, inputs, options, progress)


def run_held(
    engine: RunEngine, inputs: Sequence[str | StoredFile], options: Options, progress: Progress = quiet
) -> Summary:
    """Do the same for a caller that holds the output (`kcli.pipeline.output_lock`)."""
    journal = Journal(options.output, options.table_format)
    journal.recover()
    options = with_sample(journal, with_records(journal, options))
    files = gather(inputs)
    fresh = journal.fresh(files)
    grown, runs, problems = changed_files(journal, files)
    new = [*fresh, *grown]
    task = again(journal, from_run_on(journal, runs), new) if grown else Task(fresh)
    if grown and not task.redone:
        problems += task.notes
        task = Task(fresh)
    summary = Summary(journal.last)
    if task.files:
        try:
            summary = run_files(engine, journal, task, options, progress)
        except LateError as late:
            journal = Journal(options.output, options.table_format)
            journal.recover()
            first = min((late.firsts[file.uri] for file, _ in new if file.uri in late.firsts), default=0)
            earlier = max(since(journal, first), from_run_on(journal, runs), key=len)
            task = again(journal, earlier, new)
            summary = run_files(engine, journal, task, options, progress, final=True)
    summary.skipped = len(files) - len(fresh)
    summary.notes += unfounded_notes(journal)
    summary.problems += problems
    return summary


def with_records(journal: Journal, options: Options) -> Options:
    """Return the options with the last run's about records, if it has made records and these name none. The option of
    secrets stays this run's.
    """
    last = journal.entries[-1].options if journal.entries else {}
    if options.records or not last.get("records"):
        return options
    payloads = last["payloads"] and replace(last["payloads"], secrets=options.secrets)
    return replace(options, records=True, payloads=payloads)


def with_sample(journal: Journal, options: Options) -> Options:
    """Return the options with the sample that the folder is of.

    Raises UsageError if this run asks for another, or for none.
    """
    if options.sample is not None and not 0 < options.sample <= 1:
        raise UsageError(f"--sample {options.sample:g}: a share of the connections expected (more than 0, at most 1)")
    if not journal.entries:
        return replace(options, sample=None) if options.sample == 1 else options
    existing = journal.entries[-1].sample
    if options.sample not in (None, existing or 1):
        of = "all connections" if existing is None else f"a sample of {existing:g}"
        raise UsageError(f"--sample {options.sample:g}: {options.output} holds {of} (another --output, or without it)")
    return replace(options, sample=existing)


def as_read(options: Options) -> dict[str, Any]:
    """Return the options that rows depend on, as the journal keeps them: without passwords."""
    made = {name: getattr(options, name) for name in AS_READ}
    if options.records:
        payloads = options.payloads
        made |= {"records": True, "payloads": None if payloads is None else asdict(payloads.storable)}
    return made


def changed_files(journal: Journal, files: Sequence[StoredFile]) -> tuple[list[Marked], list[int], list[str]]:
    """Return the captures that have grown since a run read them, these runs, and the problems of captures that have
    changed in another way.
    """
    grown, runs, problems = list[Marked](), list[int](), list[str]()
    for file, run, read in journal.touched(files):
        same = file.size >= read["size"] and unchanged(read) is not None
        if same and file.size > read["size"]:
            grown.append((file, fingerprint(file)))
            runs.append(run)
        elif not same:
            problems.append(f"{file.uri}: has changed since it was read, not read again")
    return grown, runs, problems


def run_files(
    engine: RunEngine,
    journal: Journal,
    task: Task,
    options: Options,
    progress: Progress = quiet,
    *,
    final: bool = False,
) -> Summary:
    """Run the pipeline over these files: both stages, the tables across connections, and the journal's entry.

    Raises LateError if it has packets of connections that earlier runs have read further, unless it is final.
    """
    files = [file for file, _ in task.files]
    entry = journal.begin(task.redone)
    entry.inputs = [
        {"uri": file.uri, "size": file.size, "changed": file.changed, "print": mark} for file, mark in task.files
    ]
    entry.forgotten = list(task.forgotten)
    context = RunContext(engine, journal, entry, options, progress)
    names = LearnedNames(context)
    stages = Stages(context, names)
    scattered, decoded = stages.read(files)
    firsts = first_times(scattered)
    if not final and is_late(context, firsts, stages.untouched):
        raise LateError(firsts)
    names.name(decoded)
    put_lineage(context, scattered, decoded)
    derive_tables(context, names)
    entry.add(write_empty(context))
    summary = summed(entry, scattered, decoded, task)
    entry.stats |= {
        "exchanges": summary.exchanges, "waiting": summary.waiting, "ended": datetime.now(UTC).isoformat(),
        "options": as_read(options), "facts": facts_mark(),
    }  # fmt: skip
    summary.sample = options.sample
    if options.totals:
        summary.totals = totals_of(context, scattered, decoded)
    journal.commit(entry)
    (journal.home / "staging").remove()
    return summary


def write_empty(context: RunContext) -> list[WrittenFile]:
    """Give each table that has no file one without rows, so that every reader finds it."""
    wanted = [*(TABLES.values() if context.journal.runs.bare else ()), *([RECORDS] if context.options.records else ())]
    bare = [table for table in wanted if not context.files(table.name)]
    made = [WrittenFile(each.name, NO_DAY if each.dated else None, f"{each.name}/empty.parquet", 0) for each in bare]
    for each in made:
        (StoragePath(context.folder) / each.path).write(empty_file(each.table))
    return made


def summed(entry: Entry, scattered: Sequence[ShuffledRange], decoded: Sequence[Decoded], task: Task) -> Summary:
    made = Summary(entry.run, len(entry.inputs), redone=list(entry.redone), notes=list(task.notes))
    made.packets = sum(each.packets for each in scattered)
    made.waiting = sum(each.open_rows[0] for each in decoded)
    made.exchanges = sum(each.exchanges for each in decoded) + made.waiting
    for where in entry.files:
        made.rows[where["table"]] = made.rows.get(where["table"], 0) + where["rows"]
    made.events = made.rows.get("undecodable", 0)
    made.problems = [each.problem for each in scattered if each.problem]
    made.problems += sorted({problem for each in decoded for problem in each.problems})
    return made


def derive_tables(context: RunContext, names: LearnedNames) -> None:
    """Make the tables that look across connections."""
    context.progress("sessions, leader changes, clients", 0, 1)
    context.entry.add(context.engine.derive(context, texts_of(names.known)), passing=True)
    context.progress("sessions, leader changes, clients", 1, 1)

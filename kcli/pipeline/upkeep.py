"""Upkeep of an output folder: forgets captures, merges small files, and removes files that nothing refers to."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kcli.errors import InputError, UsageError
from kcli.input_names import RUNS_FOLDER
from kcli.pipeline.context import Options, Progress, RunEngine
from kcli.pipeline.entry import COMPACTED, published
from kcli.pipeline.journal import Journal
from kcli.pipeline.redo import again, from_run_on
from kcli.pipeline.run import Summary, quiet, run_files
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import WrittenFile, stored_columns, written_schema
from kcli.tables.parquet import parquet_writer

FACTS = f"{RUNS_FOLDER}/facts"
RETAINED = 168  # hours: a week, Delta's default


def forget(
    engine: RunEngine, output: str, runs: Sequence[int], files: Sequence[str], progress: Progress = quiet
) -> tuple[int, Summary]:
    """Remove captures from the tables, by their runs and their paths; these runs are done again without them.

    Returns (number of captures, summary of the run that replaces them). The caller holds the output. Raises UsageError
    if there is no such run or capture; raises InputError if another capture, which has to be read again, is gone.
    """
    journal = Journal(output)
    journal.recover()
    known = [entry.run for entry in journal.entries]
    read = {each["uri"]: entry.run for entry in journal.entries for each in entry.inputs}
    for run in runs:
        if run not in known:
            raise UsageError(f"{output}: no run {run} (there are: {', '.join(map(str, known))})")
    named = [StoragePath(file).absolute.uri for file in files]
    for file in named:
        if file not in read:
            raise UsageError(f"{file}: no run has read it")
    chosen = {uri for uri, run in read.items() if run in runs} | set(named)
    options = Options(output, **journal.entries[-1].options)
    task = again(journal, from_run_on(journal, [*runs, *(read[file] for file in named)]), [], without=sorted(chosen))
    if not task.redone:
        raise InputError(task.notes[0])
    lost = [each for entry in task.redone for each in entry.inputs if each["uri"] in chosen]
    task = replace(task, forgotten=[*task.forgotten, *lost])
    return len(lost), run_files(engine, journal, task, options, progress, final=True)


@dataclass(frozen=True, slots=True)
class Compacted:
    """The number of files before and after compacting."""

    before: int
    after: int


def compact(output: str) -> Compacted:
    """Merge all files of a table and day into one; the run that does so replaces all before it. The caller holds the
    output.
    """
    journal = Journal(output)
    journal.recover()
    entries = list(journal.entries)
    groups = grouped(journal)
    before = sum(map(len, groups.values()))
    if before == len(groups):
        return Compacted(before, before)
    entry, marks = journal.begin(entries), {other.stats.get("facts") for other in entries}
    entry.inputs = [each for other in entries for each in other.inputs]
    entry.forgotten = [each for other in entries for each in other.forgotten]
    entry.stats = entries[-1].stats | {
        "exchanges": sum(other.stats["exchanges"] for other in entries)
        - sum(other.stats.get("waiting", 0) for other in entries[:-1]),
        "ended": datetime.now(UTC).isoformat(),
        "facts": marks.pop() if len(marks) == 1 else None,
        COMPACTED: True,
    }  # fmt: skip
    for (table, day, passing), uris in groups.items():
        path = f"{table}/{f'date={day}/' if day else ''}{'open' if passing else 'whole'}.parquet"
        rows = merge(uris, StoragePath(journal.folder(entry)) / path, table)
        entry.add([WrittenFile(table, day, path, rows)], passing=passing)
    for carried in entries[-1].carry:
        name = carried.rpartition("/")[2].partition("-")[2]
        (StoragePath(journal.folder(entry)) / name).write((journal.output / carried).read())
        entry.keep([WrittenFile("", None, name, 0)])
    journal.commit(entry)
    return Compacted(before, len(groups))


def grouped(journal: Journal) -> dict[tuple[str, str | None, bool], list[str]]:
    """Return {(table, day, whether the next run replaces them): URIs} of the files of tables and facts."""
    found: dict[tuple[str, str | None, bool], list[str]] = {}
    for entry, where in journal.live():
        if where["table"]:
            key = where["table"], where["day"], where["passing"]
            found.setdefault(key, []).append((journal.output / published(entry.run, where)).uri)
    return found


def merge(uris: Sequence[str], target: StoragePath, table: str) -> int:
    """Write the rows of a table's files into one, a row group at a time. Returns the number of rows."""
    import pyarrow.parquet

    schema = written_schema(table)
    rows = 0
    with target.create() as file, parquet_writer(file, schema) as writer:
        for uri in uris:
            with StoragePath(uri).open() as opened:
                source = pyarrow.parquet.ParquetFile(opened)
                for number in range(source.num_row_groups):
                    group = with_columns(source.read_row_group(number), schema)
                    writer.write_table(group)
                    rows += group.num_rows
    return rows


def with_columns(rows: Any, schema: Any) -> Any:
    """Return rows with the table's present columns; those that an older release has not written are null."""
    import pyarrow

    columns = [
        rows.column(field.name) if field.name in rows.schema.names else pyarrow.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pyarrow.table(stored_columns(columns, schema), schema=schema)


def vacuum(output: str, hours: int = RETAINED) -> list[str]:
    """Remove the files that no run refers to, and those of runs that died. Returns their URIs.

    hours: for how long readers can hold an older version of a Delta table. The caller holds the output.
    """
    journal = Journal(output)
    journal.recover()
    kept = {(journal.output / published(entry.run, where)).uri for entry, where in journal.live()}
    kept |= {(journal.output / path).uri for entry in journal.entries for path in entry.carry}
    folders = [FACTS, f"{RUNS_FOLDER}/carried"]
    found = [each.uri for folder in folders for each in (journal.output / folder).listed() if each.uri not in kept]
    for uri in found:
        StoragePath(uri).remove()
    return found + journal.runs.vacuum(kept, hours)

"""Writes the tables as Delta tables, with a table `runs` that has, for each run, the version of every table.

    DIR/<table>/_delta_log/...        the valid files of the table, version by version
    DIR/runs/...                      one row for each run, written last: a run counts once its row is there

Delta can't commit to several tables at once. A run moves its files to their places, where no reader looks for them yet,
then commits to one table after the other, and to `runs` at the end. Readers of several tables use the versions in
`runs`. If a run dies on the way, the next run rolls the tables back. Replaced files stay for readers of an older
version, until `kcli pipeline vacuum`.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from kcli.calendar import EPOCH
from kcli.errors import InputError
from kcli.extras import require
from kcli.input_names import RUNS_FOLDER
from kcli.jsontext import dumps, loads
from kcli.pipeline.entry import COMPACTED, Entry
from kcli.pipeline.formats.delta_log import DeltaLog, location
from kcli.pipeline.storage import StoragePath, StoredFile
from kcli.pipeline.tables import FILED, RECORDS, RUNS
from kcli.tables.arrays import batch_of_rows
from kcli.tables.definition import schema_of
from kcli.version import __version__

LATER = ("sample",)  # columns of `runs` that an older kcli did not write
MANY = 32  # files of `runs` at which they are joined into one
KEPT = ("folder", "files", "carry", "forgotten")  # members of an entry in the column `state`, with statistics


class DeltaRuns:
    """Runs in Delta tables, see `kcli.pipeline.formats.runs.Runs`."""

    bare = False

    def __init__(self, output: StoragePath) -> None:
        """Open the tables. Raises UsageError if deltalake is missing, or can't use this place."""
        require("tables as Delta tables", "delta")
        location(output)
        self.output = output
        self.rows: list[dict[str, Any]] = []
        self.versions: dict[str, int] = {}

    @cached_property
    def runs(self) -> DeltaLog:
        """The table `runs`."""
        return DeltaLog(self.output / RUNS.name, RUNS)

    @cached_property
    def logs(self) -> dict[str, DeltaLog]:
        """The other tables, as they were when they were first needed: a commit fails if the table has changed since."""
        return {name: DeltaLog(self.output / name, table) for name, table in FILED.items()}

    def read(self) -> list[Entry]:
        """Read the table `runs`. Raises InputError if kcli did not write it."""
        found = [row for file in self.runs.listed() for row in rows_in(StoragePath(file.uri))]
        made = [(entry_of(row, self.runs.place.uri), row) for row in found]
        made.sort(key=lambda each: each[0].run)
        self.rows = [row for _, row in made]
        self.versions = versions_of(self.rows[-1], self.runs.place.uri) if made else {}
        return [entry for entry, _ in made]

    def tried(self) -> int:
        """Return the greatest number of a run that has committed to any table."""
        return max(each.transaction for each in (self.runs, *self.logs.values()))

    def settle(self, entry: Entry, live: Mapping[str, Sequence[str]]) -> None:
        """Commit to each table which files it has. While there is no run, no table is made."""
        last = self.rows[-1]["run"] if self.rows else 0
        if entry.run:
            self.runs.make()
        for name, log in self.logs.items():
            if entry.run and (name != RECORDS.name or live.get(name)):
                log.make()
            if entry.run > last:
                log.set_to(live.get(name, ()), entry.run, changes=COMPACTED not in entry.stats)
            elif log.handle is not None and log.version != self.versions.get(name):  # a run died after its commit
                log.set_to(live.get(name, ()))

    def commit(self, entry: Entry, publish: Callable[[Entry], None]) -> None:
        """Commit to the tables, then to `runs`. Files that were only for the next run are removed at once."""
        publish(entry)
        row = row_of(entry, {name: log.version for name, log in self.logs.items() if log.handle is not None})
        files = self.runs.files
        whole = COMPACTED in entry.stats or len(files) >= MANY
        rows, files = ([*self.rows, row], {}) if whole else ([row], files)
        file = f"{entry.run:08d}-{os.urandom(4).hex()}.parquet"
        write_rows(self.runs.place / file, rows)
        self.runs.set_to([*files, file], entry.run)
        for path in entry.drop:
            if path.startswith(f"{RUNS_FOLDER}/"):
                (self.output / path).remove()

    def stored(self) -> dict[str, list[StoredFile]]:
        """Return the files of the versions that the last run recorded."""
        self.read()
        at = {name: DeltaLog(self.output / name, FILED[name], each) for name, each in self.versions.items()}
        return {name: log.listed() for name, log in (at | {RUNS.name: self.runs}).items()}

    def vacuum(self, kept: Collection[str], hours: int) -> list[str]:
        """Remove the files that no version of a table had in the last `hours` hours."""
        return [file for log in (self.runs, *self.logs.values()) for file in log.vacuum(hours)]


def row_of(entry: Entry, versions: Mapping[str, int]) -> dict[str, Any]:
    """Return the row of `runs` for a run."""
    stats = dict(entry.stats)
    return {
        "run": entry.run, "ended": microseconds(stats.pop("ended")), "exchanges": stats.pop("exchanges"),
        "captures": len(entry.inputs), "kcli": __version__, "sample": entry.sample, "in_place_of": dumps(entry.redone),
        "inputs": dumps(entry.inputs), "versions": dumps(versions),
        "state": dumps({name: getattr(entry, name) for name in KEPT} | {"stats": stats}),
    }  # fmt: skip


def microseconds(text: str) -> int:
    """Return an ISO 8601 time as microseconds since 1970."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def time_text(us: int) -> str:
    """Return microseconds since 1970 as ISO 8601."""
    return (EPOCH + timedelta(microseconds=us)).isoformat()


def entry_of(row: Mapping[str, Any], uri: str) -> Entry:
    """Return the run of a row. Raises InputError if kcli did not write it."""
    try:
        state = loads(row["state"], what="the state of a run")
        entry = Entry(row["run"], redone=loads(row["in_place_of"]), inputs=loads(row["inputs"]), **state)
        entry.stats |= {"ended": time_text(row["ended"]), "exchanges": row["exchanges"]}
    except (TypeError, KeyError, AttributeError, OverflowError, InputError) as error:
        raise InputError(f"not the runs of kcli pipeline: {error}", file=uri) from None
    return entry


def versions_of(row: Mapping[str, Any], uri: str) -> dict[str, int]:
    """Return the versions of the tables that a row contains, without tables that only a later kcli knows. Raises
    InputError if it contains none.
    """
    versions = loads(row["versions"], what="the versions of a run")
    if not isinstance(versions, dict) or not all(
        isinstance(each, int) and 0 <= each < 1 << 63 for each in versions.values()
    ):
        raise InputError("not the runs of kcli pipeline: no versions of tables", file=uri)
    return {name: version for name, version in versions.items() if name in FILED}


def write_rows(place: StoragePath, rows: list[dict[str, Any]]) -> None:
    """Write a file of `runs`."""
    import pyarrow
    import pyarrow.parquet

    with place.create() as file:
        schema = schema_of(RUNS.columns)
        made = batch_of_rows([[row[name] for name in schema.names] for row in rows], schema)
        pyarrow.parquet.write_table(pyarrow.Table.from_batches([made]), file)


def rows_in(place: StoragePath) -> list[dict[str, Any]]:
    """Return the rows of a file of `runs`. Raises InputError if kcli did not write it."""
    import pyarrow
    import pyarrow.parquet

    schema = schema_of(RUNS.columns)
    try:
        with place.open() as file:
            found = pyarrow.parquet.ParquetFile(file).read(schema.names)
        for field in schema:
            if field.name in LATER and field.name not in found.schema.names:
                found = found.append_column(field, pyarrow.nulls(len(found), field.type))
        found = found.select(schema.names).cast(schema)
        times = found.column("ended").cast(pyarrow.int64()).to_pylist()  # pyarrow would import pandas to make times
        rows: list[dict[str, Any]] = found.drop_columns(["ended"]).to_pylist()
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        raise InputError(f"not the runs of kcli pipeline: {error}", file=place.uri) from None
    return [row | {"ended": us} for row, us in zip(rows, times, strict=True)]

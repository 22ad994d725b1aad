"""The contents of an output folder, run by run. A run is complete or absent, and is done once.

    DIR/_kcli/runs/00000001-x/...     files of the present run; files that a run left when it died are removed
    DIR/_kcli/facts/...               rows of connections from which some tables are made again
    DIR/_kcli/carried/...             connections that were open at the end of a run
    DIR/<table>/date=.../*.parquet    files of tables; Spark and Arrow pass over names with "_" in front

The table format determines how runs are kept, and which files readers see (`kcli.pipeline.formats`).
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kcli.input_names import RUNS_FOLDER
from kcli.pipeline.entry import Entry, published
from kcli.pipeline.fact_tables import facts_mark
from kcli.pipeline.formats.runs import runs_of
from kcli.pipeline.storage import StoragePath, StoredFile

PRINTED = 1 << 16  # bytes at each end of a file that identify it
TIMELY = 1  # seconds; times that differ by less are equal, because stores round them
STATES = 16  # runs with kept open connections, so that later captures can be read again


def fingerprint(file: StoredFile) -> str:
    """Return a hash of a file's size and its first and last bytes, so that the same capture under another name has the
    same. "" for a vouched file, which is not opened.
    """
    if file.vouched:
        return ""
    digest = hashlib.blake2b(str(file.size).encode(), digest_size=16)
    with StoragePath(file.uri).open() as opened:
        digest.update(bytes(opened.read(min(PRINTED, file.size))))
        if file.size > PRINTED:
            last = max(PRINTED, file.size - PRINTED)
            opened.seek(last)
            digest.update(bytes(opened.read(file.size - last)))
    return digest.hexdigest()


class Journal:
    """The journal of an output folder. Raises InputError if it can't be read.

    history: all runs; entries: those that no later run replaces
    """

    def __init__(self, output: str, table_format: str | None = None) -> None:
        """Open the journal of an output folder. table_format: delta or parquet; None: that of the existing tables."""
        self.output = StoragePath(output).absolute
        self.home = self.output / RUNS_FOLDER
        self.runs = runs_of(self.output, table_format)
        self.history = self.runs.read()
        redone = {run for entry in self.history for run in entry.redone}
        self.entries = [entry for entry in self.history if entry.run not in redone]

    @property
    def last(self) -> int:
        """The number of the last run; 0 without any."""
        return self.history[-1].run if self.history else 0

    def recover(self) -> None:
        """Bring the tables to the state of the last run, and remove the files of an unfinished run."""
        if self.entries:
            self.publish(self.entries[-1])
        else:
            self.runs.settle(Entry(0, ""), {})
        (self.home / "runs").remove()
        (self.home / "staging").remove()

    def begin(self, redone: Sequence[Entry] = ()) -> Entry:
        """Return a new entry, with a folder for the run's files. redone: the last runs, which it replaces."""
        run = max(self.last, self.runs.tried()) + 1
        entry = Entry(run, f"{RUNS_FOLDER}/runs/{run:08d}-{os.urandom(4).hex()}", redone=[each.run for each in redone])
        if redone:
            entry.drop = [published(each.run, where) for each in redone for where in each.files]
            self.entries = [each for each in self.entries if each not in redone]
        else:
            entry.drop = self.passing()
        # With each run the open connections of one more run are dropped; those of earlier ones were dropped before.
        entry.drop += [path for each in self.entries[-STATES - 1 : -STATES] for path in each.carry]
        return entry

    def unfounded(self) -> dict[str, list[int]]:
        """Return the numbers of runs of another kcli, by what they lack: all facts of their exchanges, or some. Tables
        that are made of facts lack their captures, or some of what these have.
        """
        found: dict[str, list[int]] = {"no": [], "other": []}
        for entry in self.entries:
            tables = {each["table"] for each in entry.files if each["rows"]}
            if entry.inputs and "exchanges" in tables and entry.stats.get("facts") != facts_mark():
                found["other" if "exchange_facts" in tables else "no"].append(entry.run)
        return found

    def is_state_kept(self, entry: Entry) -> bool:
        """Return whether a run's open connections are still kept."""
        return all((self.output / path).exists() for path in entry.carry)

    def folder(self, entry: Entry) -> str:
        """Return the URI of the folder of a run in progress."""
        return (self.output / entry.folder).uri

    def fresh(self, files: Iterable[StoredFile]) -> list[tuple[StoredFile, str]]:
        """Return (file, fingerprint) of the files that no run has read, each once."""
        inputs = [each for entry in self.entries for each in (*entry.inputs, *entry.forgotten)]
        known = {each["uri"] for each in inputs}
        prints = {each["print"] for each in inputs}
        found = []
        for file in files:
            if file.uri in known:
                continue
            mark = fingerprint(file)
            if not mark or mark not in prints:
                prints.add(mark)
                found.append((file, mark))
        return found

    def touched(self, files: Iterable[StoredFile]) -> list[tuple[StoredFile, int, dict[str, Any]]]:
        """Return (file, its run, its item in that run's inputs) of files whose size or time has changed since they were
        read.
        """
        read = {each["uri"]: (entry.run, each) for entry in self.entries for each in entry.inputs}
        again = [(file, *read[file.uri]) for file in files if file.uri in read]
        return [
            (file, run, then)
            for file, run, then in again
            if then["size"] != file.size or abs(then["changed"] - file.changed) >= TIMELY
        ]

    def passing(self) -> list[str]:
        """Return the published paths that the next run replaces. The open connections from which it continues are kept
        for some runs.
        """
        last = self.entries[-1:]
        files = [(entry.run, where) for entry in last for where in entry.files if where["passing"] and where["table"]]
        return [published(run, where) for run, where in files]

    def passed(self, table: str) -> list[str]:
        """Return URIs of the published files of a table that the next run replaces."""
        last = self.entries[-1:]
        names = [published(e.run, each) for e in last for each in e.files if each["passing"] and each["table"] == table]
        return [(self.output / name).uri for name in names]

    def lasting(self, entry: Entry, table: str) -> list[str]:
        """Return URIs of the published files of a table that a run has written and the next does not replace."""
        files = [each for each in entry.files if each["table"] == table and not each["passing"]]
        return [(self.output / published(entry.run, each)).uri for each in files]

    def staying(self, entry: Entry) -> list[dict[str, Any]]:
        """Return the items of the files that a run has published and no later one has replaced."""
        return [where for where in entry.files if entry is self.entries[-1] or not where["passing"]]

    def permanent(self, table: str) -> list[str]:
        """Return URIs of the published files of a table that the next run does not replace."""
        return [uri for entry in self.entries for uri in self.lasting(entry, table)]

    def rows(self, table: str) -> int:
        """Return the number of rows in the files of `permanent`."""
        files = [where for entry in self.entries for where in entry.files if not where["passing"]]
        return sum(where["rows"] for where in files if where["table"] == table)

    def live(self) -> Iterator[tuple[Entry, dict[str, Any]]]:
        """Yield (run, item) of the published files."""
        for entry in self.entries:
            for where in self.staying(entry):
                yield entry, where

    def commit(self, entry: Entry) -> None:
        """Commit a run. From then on it is done."""
        self.entries.append(entry)
        self.history.append(entry)
        self.runs.commit(entry, self.publish)

    def publish(self, entry: Entry) -> None:
        """Move a run's files to their places, and show them to readers. A repetition changes nothing."""
        folder = self.output / entry.folder
        for where in entry.files:
            (folder / where["path"]).move(self.output / published(entry.run, where))
        shown: dict[str, list[str]] = {}
        for other, where in self.live():
            table, _, path = published(other.run, where).partition("/")
            shown.setdefault(table, []).append(path)
        self.runs.settle(entry, shown)
        folder.remove()


def unfounded_notes(journal: Journal) -> list[str]:
    """Return the notes on runs of another kcli, if there are any."""
    lack = {"no": "lack their captures", "other": "may lack some of what their captures have"}
    remedy = "to have it, read all captures into another --output"
    return [
        f"{journal.output.uri}: run{'s' * (len(runs) > 1)} {', '.join(map(str, runs))} of another kcli kept {which} "
        f"facts: findings, hourly, members, transactions and other tables {lack[which]} ({remedy})"
        for which, runs in journal.unfounded().items()
        if runs
    ]

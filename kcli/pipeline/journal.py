"""What an output folder holds, run by run: a journal, so that a run is there whole or not at all, and done once.

    DIR/_kcli/journal/00000001.json   one file a run, written at once when all its files are there
    DIR/_kcli/runs/00000001-x/...     files of a run that is under way; without a journal entry, left by one that died
    DIR/_kcli/facts/...               rows of connections from which some tables are made anew
    DIR/<table>/date=.../*.parquet    what readers see; Spark and Arrow pass over names with "_" in front

A run writes its files into its own folder, then its journal entry, and only then are the files moved to their places
and those that they replace removed. Both can be done again after a crash, and are, when the folder is opened next.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kcli.errors import InputError
from kcli.jsontext import dumps, loads
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.storage import Place, StoredFile
from kcli.pipeline.tables import TABLES
from kcli.pipeline.writing import Written

HOME = "_kcli"
UNDER_WAY = "under-way"  # the file of the connections that are still open
PRINTED = 1 << 16  # bytes at each end of a file by which it is known from others
STATES = 16  # runs whose open connections are kept, so that what came after them can be read again


def fingerprint(file: StoredFile) -> str:
    """Of a file's size and its first and last bytes: the same capture under another name has the same."""
    digest = hashlib.blake2b(str(file.size).encode(), digest_size=16)
    with Place(file.uri).open() as opened:
        digest.update(bytes(opened.read(min(PRINTED, file.size))))
        if file.size > PRINTED:
            last = max(PRINTED, file.size - PRINTED)
            opened.seek(last)
            digest.update(bytes(opened.read(file.size - last)))
    return digest.hexdigest()


@dataclass(slots=True)
class Entry:
    """One run. files: where each stands in the run's folder; passing: those that the next run replaces.

    drop: published paths that this run replaces. redone: numbers of the runs whose captures it has read again, in place
    of which it stands. forgotten: captures that are not to be read any more.
    """

    run: int
    folder: str
    inputs: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    carry: list[str] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    redone: list[int] = field(default_factory=list)
    forgotten: list[dict[str, Any]] = field(default_factory=list)

    @property
    def clock(self) -> int:
        """Return the time (ns) up to which packets were read, by this run or before it."""
        return int(self.stats["clock"])

    @property
    def options(self) -> dict[str, Any]:
        """Return how its captures were read: what `kcli.pipeline.context.Options` is given; none of an older kcli."""
        said = self.stats.get("options", {})
        return {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}

    def add(self, written: Iterable[Written], *, passing: bool = False) -> None:
        """Note files that were written. passing: the next run replaces them."""
        for each in written:
            where = {"table": each.table, "day": each.day, "path": each.path, "rows": each.rows, "passing": passing}
            self.files.append(where)

    def keep(self, folder: str, state: bytes, count: int = 0) -> None:
        """Write the connections that are still open into the run's folder, for the next run. count: how many, where
        that is known."""
        (Place(folder) / UNDER_WAY).write(state)
        self.add([Written("", None, UNDER_WAY, count)], passing=True)
        self.carry = [published(self.run, self.files[-1])]

    def as_dict(self) -> dict[str, Any]:
        """The entry as the journal's JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}


def published(run: int, where: dict[str, Any]) -> str:
    """Where a file goes, below the output folder."""
    name = where["path"].rpartition("/")[2]
    if where["table"] in FACTS:
        return f"{HOME}/facts/{where['table']}/{run:08d}-{name}"
    if where["table"] not in TABLES:
        return f"{HOME}/carried/{run:08d}-{name}"
    day = f"date={where['day']}/" if where["day"] else ""
    return f"{where['table']}/{day}{run:08d}-{name}"


class Journal:
    """The journal of an output folder, brought up to date. InputError where it can't be read.

    history: all runs; entries: those that no later one stands in place of.
    """

    def __init__(self, output: str) -> None:
        self.output = Place(output).absolute
        self.home = self.output / HOME
        self.history = [
            self.read(each.uri)
            for each in (self.home / "journal").listed()
            if each.uri.partition("?")[0].endswith(".json")
        ]
        redone = {run for entry in self.history for run in entry.redone}
        self.entries = [entry for entry in self.history if entry.run not in redone]

    def read(self, uri: str) -> Entry:
        """An entry out of its file. InputError: it is none."""
        try:
            return Entry(**loads(Place(uri).read(), what="a journal entry"))
        except (TypeError, InputError) as error:
            raise InputError(f"not a journal entry of kcli pipeline: {error}", file=uri) from None

    @property
    def last(self) -> int:
        """The number of the last run; 0: there was none."""
        return self.history[-1].run if self.history else 0

    def recover(self) -> None:
        """Finish publishing the last run if it died meanwhile, and remove what an unfinished one has left."""
        if self.entries:
            self.publish(self.entries[-1])
        (self.home / "runs").remove()
        (self.home / "staging").remove()

    def begin(self, redone: Sequence[Entry] = ()) -> Entry:
        """Return a new entry, with a folder for the run's files.

        redone: the last runs, which it stands in place of: from here on as if they had never been.
        """
        run = self.last + 1
        entry = Entry(run, f"{HOME}/runs/{run:08d}-{os.urandom(4).hex()}", redone=[each.run for each in redone])
        if redone:
            entry.drop = [published(each.run, where) for each in redone for where in each.files]
            self.entries = [each for each in self.entries if each not in redone]
        else:
            entry.drop = self.passing()
        # One run falls out of those whose state stays; what earlier ones left went with the runs since.
        entry.drop += [path for each in self.entries[-STATES - 1 : -STATES] for path in each.carry]
        return entry

    def is_state_kept(self, entry: Entry) -> bool:
        """Return whether a run's open connections are still there."""
        return all((self.output / path).exists() for path in entry.carry)

    def folder(self, entry: Entry) -> str:
        """The URI of the folder of a run that is under way."""
        return (self.output / entry.folder).uri

    def fresh(self, files: Iterable[StoredFile]) -> list[tuple[StoredFile, str]]:
        """Those of the files that no run has read, each once, with their fingerprints."""
        inputs = [each for entry in self.entries for each in (*entry.inputs, *entry.forgotten)]
        known = {each["uri"] for each in inputs}
        prints = {each["print"] for each in inputs}
        found = []
        for file in files:
            if file.uri in known:
                continue
            mark = fingerprint(file)
            if mark not in prints:
                prints.add(mark)
                found.append((file, mark))
        return found

    def resized(self, files: Iterable[StoredFile]) -> list[tuple[StoredFile, int, dict[str, Any]]]:
        """Return the files that were read before and have another size now, each with its run and what was read."""
        read = {each["uri"]: (entry.run, each) for entry in self.entries for each in entry.inputs}
        again = [(file, *read[file.uri]) for file in files if file.uri in read]
        return [(file, run, then) for file, run, then in again if then["size"] != file.size]

    def passing(self) -> list[str]:
        """Published files that the next run replaces; what it goes on from stays for a while."""
        last = self.entries[-1:]
        files = [(entry.run, where) for entry in last for where in entry.files if where["passing"] and where["table"]]
        return [published(run, where) for run, where in files]

    def passed(self, table: str) -> list[str]:
        """URIs of the published files of a table that the next run replaces."""
        last = self.entries[-1:]
        names = [published(e.run, each) for e in last for each in e.files if each["passing"] and each["table"] == table]
        return [(self.output / name).uri for name in names]

    def files_of(self, entry: Entry, table: str) -> list[str]:
        """Return the URIs of the published files of a table that a run has written, and no later one replaced."""
        return [
            (self.output / published(entry.run, each)).uri for each in self.staying(entry) if each["table"] == table
        ]

    def staying(self, entry: Entry) -> list[dict[str, Any]]:
        """Return the files that a run has published, and no later one replaced."""
        return [where for where in entry.files if entry is self.entries[-1] or not where["passing"]]

    def permanent(self, table: str) -> list[str]:
        """URIs of the published files of a table that stay, whatever the next run brings."""
        return [
            (self.output / published(entry.run, where)).uri
            for entry in self.entries
            for where in entry.files
            if where["table"] == table and not where["passing"]
        ]

    def commit(self, entry: Entry) -> None:
        """From here on the run is done."""
        place = self.home / "journal" / f"{entry.run:08d}.json"
        if place.exists():
            raise InputError(
                f"run {entry.run} is there already: did another `kcli pipeline run` write here?", file=place.uri
            )
        place.write(dumps(entry.as_dict()).encode())
        self.entries.append(entry)
        self.history.append(entry)
        self.publish(entry)

    def publish(self, entry: Entry) -> None:
        """Move a run's files to their places, and remove those that they replace. Doing so again changes nothing."""
        folder = self.output / entry.folder
        for where in entry.files:
            (folder / where["path"]).move(self.output / published(entry.run, where))
        for path in entry.drop:
            (self.output / path).remove()
        folder.remove()

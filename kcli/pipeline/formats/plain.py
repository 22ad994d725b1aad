"""Writes the tables as plain Parquet files, with a journal of the runs, so that a run is either complete or absent.

    DIR/_kcli/journal/00000001.json   one file for each run, written in one step when all its files exist
    DIR/<table>/date=.../*.parquet    the files that readers see

A run's entry in the journal is written first. Then its files are moved to their places, and the files they replace are
removed. Both steps can be repeated after a crash, and are repeated when the folder is next opened. Readers that have a
table open meanwhile fail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from kcli.errors import InputError
from kcli.input_names import RUNS_FOLDER
from kcli.jsontext import dumps, loads
from kcli.pipeline.entry import Entry
from kcli.pipeline.storage import StoragePath, StoredFile, split_query
from kcli.pipeline.tables import FILED

JOURNAL = "journal"


class PlainRuns:
    """Runs in plain Parquet files, see `kcli.pipeline.formats.runs.Runs`."""

    bare = True

    def __init__(self, output: StoragePath) -> None:
        self.output = output
        self.place = output / RUNS_FOLDER / JOURNAL

    def read(self) -> list[Entry]:
        """Read the journal. Raises InputError if an entry can't be read."""
        return [entry_in(each.uri) for each in self.place.listed() if is_named(each, ".json")]

    def tried(self) -> int:
        """Return 0: a run that died has left nothing under its number."""
        return 0

    def commit(self, entry: Entry, publish: Callable[[Entry], None]) -> None:
        """Write the journal's entry, then publish the run's files. Raises InputError if the run exists already."""
        place = self.place / f"{entry.run:08d}.json"
        if place.exists():
            raise InputError(
                f"run {entry.run} exists already: did another `kcli pipeline run` write here?", file=place.uri
            )
        place.write(dumps(entry.as_dict()).encode())
        publish(entry)

    def settle(self, entry: Entry, live: Mapping[str, Sequence[str]]) -> None:
        """Remove the files that the run replaces."""
        for path in entry.drop:
            (self.output / path).remove()

    def stored(self) -> dict[str, list[StoredFile]]:
        """List the tables' folders."""
        folders = {name: (self.output / name).listed() for name in FILED}
        return {name: [each for each in files if is_named(each, ".parquet")] for name, files in folders.items()}

    def vacuum(self, kept: Collection[str], hours: int) -> list[str]:
        """Remove all files in the tables' folders that are not in `kept`."""
        found = [each.uri for name in FILED for each in (self.output / name).listed() if each.uri not in kept]
        for uri in found:
            StoragePath(uri).remove()
        return found


def is_named(file: StoredFile, end: str) -> bool:
    """Return whether a file's name ends with `end`."""
    return split_query(file.uri)[0].endswith(end)


def entry_in(uri: str) -> Entry:
    """Return the entry in a file. Raises InputError if it can't be read."""
    try:
        return Entry(**loads(StoragePath(uri).read(), what="a journal entry"))
    except (TypeError, KeyError, AttributeError, InputError) as error:
        raise InputError(f"not a journal entry of kcli pipeline: {error}", file=uri) from None

"""The runs of an output folder, in the format it has."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from kcli.errors import InputError, UsageError
from kcli.input_names import DELTA_LOG, RUNS_FOLDER
from kcli.jsontext import dumps, loads
from kcli.pipeline.entry import Entry
from kcli.pipeline.storage import StoragePath, StoredFile, split_query
from kcli.pipeline.tables import FILED, RUNS

DELTA, PARQUET = "delta", "parquet"

Live = Mapping[str, Sequence[str]]  # paths of the tables' files below their folders, by table
JOURNAL = "journal"


class Runs(Protocol):
    """Stores the runs of an output folder, and shows their files to readers."""

    bare: bool  # whether a table without files does not exist as a table

    def read(self) -> list[Entry]:
        """Return all runs, in order."""

    def tried(self) -> int:
        """Return the greatest number that a run had, also one that died."""

    def settle(self, entry: Entry, live: Live) -> None:
        """Show readers the files of all runs up to this one. Repeating it changes nothing."""

    def commit(self, entry: Entry, publish: Callable[[Entry], None]) -> None:
        """Store a run and publish its files; it counts only after that."""

    def stored(self) -> dict[str, list[StoredFile]]:
        """Return the files that readers see, by table."""

    def vacuum(self, kept: Collection[str], hours: int) -> list[str]:
        """Remove, and return, files of the tables that are no longer valid. If readers can still have them open, only
        those that have not been valid for `hours` hours. kept: URIs of the valid files.
        """


def runs_of(output: StoragePath, wanted: str | None = None) -> Runs:
    """Return the runs of an output folder. wanted: its format; None: the format of the tables that exist, otherwise
    plain Parquet. Raises UsageError if the existing tables have another format.
    """
    existing = format_of(output)
    if wanted is not None and existing not in (None, wanted):
        raise UsageError(f"{output.uri}: holds tables as {existing}, not {wanted} (take --table-format {existing})")
    if (wanted or existing) != DELTA:
        return PlainRuns(output)
    from kcli.pipeline.formats.delta import DeltaRuns

    return DeltaRuns(output)


def chosen_format(output: str, wanted: str | None) -> str:
    """Return the format for the tables of a folder: the one wanted, otherwise that of the existing tables, otherwise
    Delta. Raises UsageError if the folder can't have it.
    """
    place = StoragePath(output).absolute
    made = wanted or format_of(place) or DELTA
    runs_of(place, made)
    return made


def format_of(output: StoragePath) -> str | None:
    """Return the format of the tables in a folder; None if there are none."""
    if (output / RUNS.name / DELTA_LOG).exists():
        return DELTA
    return PARQUET if (output / RUNS_FOLDER / JOURNAL).exists() else None


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

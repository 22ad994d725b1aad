"""The runs of an output folder, in the format it has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from kcli.errors import UsageError
from kcli.input_names import DELTA_LOG, RUNS_FOLDER
from kcli.pipeline.entry import Entry
from kcli.pipeline.formats.plain import JOURNAL, PlainRuns
from kcli.pipeline.storage import StoragePath, StoredFile
from kcli.pipeline.tables import RUNS

DELTA, PARQUET = "delta", "parquet"

Live = Mapping[str, Sequence[str]]  # paths of the tables' files below their folders, by table


class Runs(Protocol):
    """Stores the runs of an output folder, and shows their files to readers."""

    @property
    def bare(self) -> bool:
        """Return whether a table without files does not exist as a table."""

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
    there = format_of(output)
    if wanted is not None and there not in (None, wanted):
        raise UsageError(f"{output.uri}: holds tables as {there}, not {wanted} (take --table-format {there})")
    if (wanted or there) != DELTA:
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

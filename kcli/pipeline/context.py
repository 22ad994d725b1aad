"""Holds what every part of a run needs: the engine, the journal and its entry, the options, the progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kcli.capture.decoder import MEMORY
from kcli.payloads.options import PayloadOptions
from kcli.pipeline.entry import Entry
from kcli.pipeline.journal import Journal
from kcli.pipeline.storage import StoragePath
from kcli.pipeline.writing import WrittenFile

Progress = Callable[[str, int, int], None]  # (name of the step, number of its finished tasks, number of its tasks)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run.

    ports, dialect: as for `kcli decode pcap`
    shares: number of tasks that share the connections; range_bytes: of a file for one task to read; window_bytes: of
      packets for a task that decodes a part of one connection; 0: by size and cores
    secrets: show them; memory: bytes that a task may hold of connections; key_logs: files with the secrets of TLS
      connections, which the driver reads
    table_format: delta or parquet; None: that of the existing tables, else parquet
    origin: a regular expression with groups `host` and `cluster`, which finds these in captures' paths
    records: make the table `records`; payloads: how its keys and values are decoded; None: they are not
    totals: sum the run up (`kcli.pipeline.totals`); sample: the share of the connections that are read, always the same
      ones; None: all
    """

    output: str
    ports: tuple[int, ...] = ()
    dialect: str | None = None
    shares: int = 0
    range_bytes: int = 0
    window_bytes: int = 0
    secrets: bool = False
    memory: int = MEMORY
    key_logs: tuple[str, ...] = ()
    table_format: str | None = None
    origin: str | None = None
    records: bool = False
    payloads: PayloadOptions | None = None
    totals: bool = False
    sample: float | None = None


class RunEngine(Protocol):
    """Runs the tasks of a run, and makes the tables that need several connections."""

    @property
    def cores(self) -> int:
        """Return the number of tasks that run at a time."""

    @property
    def local(self) -> bool:
        """Return whether all tasks run on this machine."""

    def hand_out(self, tasks: Sequence[Any], work: Callable[[Any], Any], done: Callable[[int], None]) -> list[Any]:
        """Return work(task) of each task, in order. done: called with the number of finished tasks. Raises InputError
        from a task.
        """

    def derive(self, context: RunContext, names: Mapping[str, str]) -> list[WrittenFile]:
        """Write the tables that need several connections, with the rows of this run. names: {topic id: name}."""


class RunContext:
    """One run in progress. folder: the URI of the folder with its files until it is committed."""

    def __init__(self, engine: RunEngine, journal: Journal, entry: Entry, options: Options, progress: Progress) -> None:
        self.engine, self.journal, self.entry, self.options, self.progress = engine, journal, entry, options, progress
        self.folder = journal.folder(entry)
        self.staging = (journal.home / "staging").uri

    @property
    def cores(self) -> int:
        """Return the number of tasks that run at a time."""
        return self.engine.cores

    @property
    def local(self) -> bool:
        """Return whether all tasks run on this machine."""
        return self.engine.local

    def hand_out(self, step: str, tasks: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
        """Return work(task) of each task, in the tasks' order. Raises InputError from a task."""
        self.progress(step, 0, len(tasks))
        results = self.engine.hand_out(tasks, work, lambda done: self.progress(step, done, len(tasks)))
        self.progress(step, len(tasks), len(tasks))
        return results

    def uri(self, path: str) -> str:
        """Return the URI of a file of this run, by its path below `folder`."""
        return (StoragePath(self.folder) / path).uri

    def files(self, table: str) -> list[str]:
        """Return URIs of a table's files: those of earlier runs that stay, and this run's."""
        return self.journal.permanent(table) + self.own_files(table)

    def rows(self, table: str) -> int:
        """Return the number of rows in the files of a table."""
        own: int = sum(where["rows"] for where in self.own(table))
        return self.journal.rows(table) + own

    def own_files(self, table: str) -> list[str]:
        """Return URIs of the files that this run has written for a table."""
        return [self.uri(where["path"]) for where in self.own(table)]

    def own(self, table: str) -> list[dict[str, Any]]:
        """Return the entry's items for the files that this run has written for a table."""
        return [where for where in self.entry.files if where["table"] == table]

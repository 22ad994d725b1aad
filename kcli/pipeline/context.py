"""What every part of a run needs: Spark, the journal and its entry, the options, and who hears how far it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kcli.capture.decoder import MEMORY
from kcli.pipeline.journal import Entry, Journal
from kcli.pipeline.spark import hand_out
from kcli.pipeline.storage import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str, int, int], None]  # the step, its tasks that are done, all its tasks


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run.

    ports, dialect: as of `kcli decode pcap`. shares: how many tasks share the connections. range_bytes: of a file that
    one task reads; window_bytes: of the packets of a task that decodes a part of one connection. 0: by size and cores.
    secrets: show them. memory: bytes that a task may hold of connections. key_logs: files with the
    secrets of TLS connections, which the driver reads.
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


class RunContext:
    """One run that is under way. folder: the URI below which its files are written until it is committed."""

    def __init__(
        self, spark: SparkSession, journal: Journal, entry: Entry, options: Options, progress: Progress
    ) -> None:
        self.spark, self.journal, self.entry, self.options, self.progress = spark, journal, entry, options, progress
        self.folder = journal.folder(entry)
        self.staging = (journal.home / "staging").uri

    @property
    def cores(self) -> int:
        """Tasks that Spark runs at a time."""
        return int(self.spark.sparkContext.defaultParallelism)

    @property
    def local(self) -> bool:
        """Whether all tasks run on this machine."""
        return str(self.spark.sparkContext.master).startswith("local")

    def hand_out(self, step: str, tasks: Sequence[Any], work: Callable[[Any], Any]) -> list[Any]:
        """work(task) of each task, in Spark's workers; results in the tasks' order. InputError from a task."""
        self.progress(step, 0, len(tasks))
        results = hand_out(self.spark, tasks, work, lambda done: self.progress(step, done, len(tasks)))
        self.progress(step, len(tasks), len(tasks))
        return results

    def uri(self, path: str) -> str:
        """The URI of a file of this run, by its path below `folder`."""
        return (Place(self.folder) / path).uri

    def files(self, table: str) -> list[str]:
        """URIs of a table's files: those that earlier runs have written for good, and this run's."""
        return self.journal.permanent(table) + self.own_files(table)

    def own_files(self, table: str) -> list[str]:
        """URIs of the files that this run has written for a table."""
        return [self.uri(where["path"]) for where in self.entry.files if where["table"] == table]

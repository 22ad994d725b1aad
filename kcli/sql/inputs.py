"""Sorts the inputs of `kcli sql` by kind: captures, log segments, snapshots and written tables."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kcli.errors import InputError
from kcli.file_kinds import PARQUET as PARQUET_START
from kcli.filelike import CAPTURE_SUFFIXES, PACKED_SUFFIXES
from kcli.input_names import DELTA_LOG, RUNS_FOLDER, STDIN
from kcli.pipeline.tables import RUNS
from kcli.records.recognition import LOOKED_AT, is_metadata, starts_log
from kcli.topic_names import CLUSTER_METADATA, partition_of

SEGMENT, SNAPSHOT, PARQUET = ".log", ".checkpoint", ".parquet"


@dataclass(slots=True)
class Inputs:
    """Paths by the kind of their contents. written: (table, file); if table is None, the file's columns determine
    it.
    """

    captures: list[str] = field(default_factory=list)
    segments: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    written: list[tuple[str | None, str]] = field(default_factory=list)

    @property
    def others(self) -> list[str]:
        """The inputs that are no captures."""
        return [*self.segments, *self.metadata, *(path for _, path in self.written)]

    def add(self, path: str) -> None:
        """Add a file. One of an unknown kind counts as a capture, whose reader reports the fault."""
        name = Path(path).name
        if path == STDIN:
            self.captures.append(path)
        elif name.endswith(SNAPSHOT):
            self.metadata.append(path)
        elif name.endswith(SEGMENT):
            topic, _ = partition_of(Path(path).absolute().parent.name)
            (self.metadata if topic == CLUSTER_METADATA else self.segments).append(path)
        elif name.endswith(PARQUET):
            self.written.append((None, path))
        else:
            self.add_by_start(path, start_of(path))

    def add_by_start(self, path: str, start: bytes) -> None:
        """Add a file by its first bytes, if its name does not tell the kind."""
        if start.startswith(PARQUET_START):
            self.written.append((None, path))
        elif starts_log(start):
            (self.metadata if is_metadata(start) else self.segments).append(path)
        else:
            self.captures.append(path)


def sort_inputs(paths: Sequence[str]) -> Inputs:
    """Sort files and folders. Raises OSError if one is missing, InputError for a folder without anything to read."""
    for path in paths:
        if path != STDIN:
            os.stat(path)  # noqa: PTH116  # of Path, an empty name is the current folder's
    made = Inputs()
    for path in dict.fromkeys(paths):
        if path == STDIN or not Path(path).is_dir():
            made.add(path)
        elif not add_folder(made, Path(path)):
            raise InputError("holds no capture, log segment, snapshot or Parquet table", file=path)
    return made


def add_folder(made: Inputs, folder: Path) -> bool:
    """Add the files below a folder that are readable by their names, or the tables if it is an output of the pipeline;
    return whether there are any.
    """
    if (folder / DELTA_LOG).is_dir() and holds_delta(folder.parent):
        made.written += [each for each in delta_files(folder.parent) if each[0] == folder.name]
        return True
    if holds_delta(folder):
        made.written += delta_files(folder)
        return True
    if (folder / RUNS_FOLDER).is_dir():
        for table in sorted(each for each in folder.iterdir() if each.is_dir() and each.name != RUNS_FOLDER):
            made.written += [(table.name, str(file)) for file in sorted(table.rglob(f"*{PARQUET}"))]
        return True
    found = False
    for path in files_below(folder):
        if is_readable(path.name):
            made.add(str(path))
            found = True
    return found


def holds_delta(folder: Path) -> bool:
    """Return whether a folder is an output of the pipeline with Delta tables."""
    return (folder / RUNS_FOLDER).is_dir() and (folder / RUNS.name / DELTA_LOG).is_dir()


def delta_files(output: Path) -> Iterator[tuple[str, str]]:
    """Yield (table, file) of the pipeline's Delta tables, in the versions that its last run recorded."""
    from kcli.pipeline.formats.runs import runs_of
    from kcli.pipeline.storage import StoragePath

    for table, files in sorted(runs_of(StoragePath(str(output))).stored().items()):
        for file in files:
            yield table, file.uri


def files_below(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def is_readable(name: str) -> bool:
    """Return whether a file of a folder is read, by its suffix, which may precede that of gzip or zstd."""
    for end in PACKED_SUFFIXES:
        name = name.removesuffix(end)
    return name.endswith((*CAPTURE_SUFFIXES, SEGMENT, SNAPSHOT, PARQUET))


def start_of(path: str) -> bytes:
    """Return the first bytes of a regular file; b"" for anything else, such as a pipe."""
    if not Path(path).is_file():
        return b""
    with Path(path).open("rb") as file:
        return file.read(LOOKED_AT)


def is_read_once(start: bytes) -> bool:
    """Return whether a file with these first bytes can be read from standard input. Only a capture can, as it is read
    in order.
    """
    return not (start.startswith(PARQUET_START) or starts_log(start))

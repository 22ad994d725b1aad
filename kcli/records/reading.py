"""The batches of log segments, for programs and notebooks."""

import io
from collections.abc import Iterator
from pathlib import Path

from kcli.core.records import batches as core
from kcli.errors import InputError, all_of, unreadable
from kcli.file_kinds import recognized
from kcli.filelike import Files, Stream, files_of, name_of
from kcli.input_names import STDIN
from kcli.records.batches import Batch
from kcli.records.damage import stretches
from kcli.records.segments import base_offset_of
from kcli.whole_file import WholeFile


def read_segment(files: Files) -> Iterator[Batch]:
    """Return the record batches of log segments, magic 0 to 2, one file after another.

    files: a path, a file opened in binary mode, or several of these; "-" is standard input. A directory stands for its
    .log files, by offset. Memory holds about a megabyte, and the batches that the caller keeps.
    A batch with a wrong checksum is yielded with `crc_valid` False. An incomplete batch at the end, as in a log that is
    being written, ends the file without an error.
    Raises InputError for damaged files, other kinds of files, and files that can't be opened, after all readable ones.
    """
    return batches_of(files_of(files, "read_segment"))


def batches_of(files: list[str | Stream]) -> Iterator[Batch]:
    failures: list[InputError] = []
    for each in files:
        for file in logs_of(each, failures):
            try:
                with opened(file) as raw:
                    yield from batches_in(raw, name_of(file), failures)
            except OSError as error:
                failures.append(unreadable(error, name_of(file)))
            except InputError as error:
                failures.append(error)
    if failures:
        raise all_of(failures)


def logs_of(file: str | Stream, failures: list[InputError]) -> list[str | Stream]:
    """Return the file itself, or the segments of a directory by offset."""
    if isinstance(file, Stream) or file == STDIN or not Path(file).is_dir():
        return [file]
    logs = sorted(Path(file).glob("*.log"), key=lambda path: (base_offset_of(path.name), path.name))
    if not logs:
        failures.append(InputError("no log segment (*.log) in this directory", file=file))
    return [str(path) for path in logs]


def opened(file: str | Stream) -> io.RawIOBase:
    if isinstance(file, Stream):
        return file
    return io.FileIO(0, closefd=False) if file == STDIN else WholeFile(file)


def batches_in(raw: io.RawIOBase, name: str, failures: list[InputError]) -> Iterator[Batch]:
    """Yield the batches of a stream. Damage is skipped, and added to `failures` at the end as one error with the first
    position. A file of another kind ends the reading.
    """
    first, more = "", 0
    for chunk, start, stop, damage in stretches(lambda into, _position: raw.readinto(into) or 0, kept=True):
        data = memoryview(chunk.data)
        rows, _status, _stopped = core.frames(data[:stop], start)
        for row in rows:
            yield Batch(data, row, chunk.base)
        if damage is None or damage.lawful:
            continue
        if not chunk.base + damage.start and (kind := recognized(data[: chunk.size], certain=True)):
            failures.append(InputError(f"no record batches ({kind})", file=name))
            return
        if first:
            more += 1
        else:
            size = damage.end - damage.start
            first = f"{damage.reason} (at {chunk.base + damage.start:#x}; {size:,} bytes passed over)"
    if first:
        failures.append(InputError(f"{first} (and {more} more places)" if more else first, file=name))

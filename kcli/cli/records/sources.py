"""Sources of `kcli records`: captures, log segments, standard input; each record with its place."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.kafka.record_fields import CapturedField, RecordSink
from kcli.capture.nothing import require_exchanges
from kcli.cli.options.capture_files import is_capture, starts_capture
from kcli.cli.options.file_type import refuse_other_files
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.streams import standard_input
from kcli.core.records import batches as core
from kcli.errors import InputError, UsageError
from kcli.filelike import name_of
from kcli.records.batches import Batch
from kcli.records.damage import stretches
from kcli.records.rows import batch_rows, field_rows
from kcli.records.unfolding import Unfolding
from kcli.schemas.apikeys import PRODUCE
from kcli.topic_names import partition_of

MOST_PROBLEMS = 20
NS_MS = 1_000_000
Row = dict[str, Any]


@dataclass(slots=True)
class Problems:
    """Errors of reading: the first, and how many there are."""

    failures: list[InputError] = field(default_factory=list)
    count: int = 0

    def add(self, error: InputError) -> None:
        """Take one more."""
        self.count += 1
        if len(self.failures) < MOST_PROBLEMS:
            self.failures.append(error)


def record_rows(
    files: Sequence[str],
    problems: Problems,
    moved: Callable[[int], None],
    topics: dict[str, None],
    topic: str | None,
    partition: int | None,
    options: DecodeOptions,
    quiet: bool = False,
) -> Iterator[Row]:
    """Yield the records of all files, captures first: they are read as one, in order of time.

    topics: takes those that captures have records of. topic, partition: of captures alone, as segments have one each,
    whose records have times of their own. Raises UsageError if exchanges are chosen, and there is a log segment, which
    has none.
    """
    chosen, secrets = options.chosen, options.secrets
    captures, segments = list[str](), list[str]()
    for file in files:
        try:
            kinds = [(name, holds_capture(name)) for name in members(file)]
            segments_alone = (name for name, capture in kinds if not capture)
            refuse_other_files(segments_alone, "neither a capture nor record batches")
        except OSError as error:
            problems.add(InputError(error.strerror or str(error), file=name_of(file)))
            continue
        except InputError as error:
            problems.add(error)
            continue
        for name, capture in kinds:
            (captures if capture else segments).append(name)
    if segments and not chosen.is_times:
        raise UsageError(f"{name_of(segments[0])}: a log segment; the options that choose exchanges are for captures")
    if captures:
        sink = RecordSink(topic, partition)
        sink.topics = topics
        source = CaptureDecoder(captures, sink, options)
        yield from capture_rows(source, problems, moved)
    for name in segments:
        rows = segment_rows(name, problems, secrets, moved, quiet)
        yield from rows if chosen.takes_all else (row for row in rows if chosen.in_time(row["timestamp"] * NS_MS))


def inputs_of(files: Sequence[str]) -> list[str]:
    """Return the files, and those in directories, that must not be written to."""
    made = [*files]
    for file in files:
        with contextlib.suppress(InputError, OSError):
            made += members(file)
    return made


def captures_of(files: Sequence[str]) -> list[str]:
    """Return the captures among the files, and in directories; standard input as "-"."""
    with contextlib.suppress(InputError, OSError):
        return [name for file in files for name in members(file) if name == "-" or is_capture(Path(name))]
    return []


def members(file: str) -> list[str]:
    """Return the file itself; of a directory its captures and log segments, and those below."""
    if file == "-" or not Path(file).is_dir():
        return [file]
    inside = [path for path in sorted(Path(file).rglob("*")) if path.is_file()]
    found = [str(path) for path in inside if path.suffix == ".log" or is_capture(path)]
    if not found:
        raise InputError("no capture and no log segment (*.log) in this directory", file=file)
    return found


def holds_capture(file: str) -> bool:
    return starts_capture(standard_input().peek(4)[:4]) if file == "-" else is_capture(Path(file))


def capture_rows(source: CaptureDecoder[RecordSink], problems: Problems, moved: Callable[[int], None]) -> Iterator[Row]:
    """Yield the records in captures, in order; those of an exchange unfold within one budget."""
    try:
        for captured, unfold in source.sink.unfolded(moved):
            yield from captured_rows(captured, problems, source.bodies.secrets, unfold)
        require_exchanges(source)
    except InputError as error:
        problems.add(error)


def captured_rows(
    captured: CapturedField, problems: Problems, secrets: bool, unfold: Unfolding | None = None
) -> Iterator[Row]:
    """Yield the records of one field."""
    exchange, file, found = captured
    place: Row = {"topic": found.label, "partition": found.partition}
    seen = {
        "api": exchange.api_name,
        "client_id": exchange.client_id,
        "connection": exchange.connection,
        "file": file,
    }
    wrong: list[str] = []
    rows = field_rows(
        found.data,
        wrong,
        base_offset=found.base_offset,
        append_time=found.append_time,
        produced=exchange.api_key == PRODUCE,
        aborted=found.aborted,
        secrets=secrets,
        unfold=unfold,
    )
    for row in rows:
        yield place | row | seen
    for text in wrong:
        where = f"{exchange.api_name} {exchange.correlation_id} of {exchange.connection}"
        problems.add(InputError(f"{where}: {found.label}[{found.partition}]: {text}", file=file))


def segment_rows(
    file: str, problems: Problems, secrets: bool, moved: Callable[[int], None], quiet: bool = False
) -> Iterator[Row]:
    """Yield the records of a log segment, or of batches alone; the segment's directory names its topic
    and partition.
    """
    topic, partition = partition_of("" if file == "-" else Path(file).absolute().parent.name)
    place: Row = {"topic": topic, "partition": partition}
    seen = {"api": None, "client_id": None, "connection": None, "file": name_of(file)}
    empty = True
    try:
        with io.FileIO(0, closefd=False) if file == "-" else io.FileIO(file) as raw:
            read = standard_input().readinto1 if file == "-" else raw.readinto
            for chunk, start, stop, damage in stretches(lambda into, _at: read(into) or 0, kept=True):
                data = memoryview(chunk.data)
                for frame in core.frames(data[:stop], start)[0]:
                    wrong: list[str] = []
                    batch = Batch(data, frame, chunk.base)
                    for row in batch_rows(batch, wrong, secrets):
                        yield place | row | seen
                    for text in wrong:
                        problems.add(
                            InputError(f"in the batch at {batch.file_position:#x}: {text}", file=name_of(file))
                        )
                if damage is not None and not (damage.lawful and chunk.base + damage.start):
                    size = damage.end - damage.start
                    where = f"(at {chunk.base + damage.start:#x}; {size:,} bytes passed over)"
                    problems.add(InputError(f"{damage.reason} {where}", file=name_of(file)))
                moved(stop - start)
                empty = False
            if empty:
                warn(f"{name_of(file)}: no record batches (empty)", quiet)
    except OSError as error:
        problems.add(InputError(error.strerror or str(error), file=name_of(file)))

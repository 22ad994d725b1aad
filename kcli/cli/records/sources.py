"""Sources of `kcli records`: captures, log segments, standard input; each record with its place."""

import contextlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kcli.calendar import NS_IN_MS
from kcli.capture.decoder import CaptureDecoder, DecodeOptions
from kcli.capture.filters import ALL, Filter
from kcli.capture.io.capture_files import is_capture, starts_capture
from kcli.capture.kafka.record_fields import CapturedField, RecordSink
from kcli.capture.nothing import require_exchanges
from kcli.cli.options.file_type import refuse_other_files
from kcli.cli.options.filter import say_nameless
from kcli.cli.terminal.console import warn
from kcli.cli.terminal.streams import standard_input
from kcli.core.records import batches as core
from kcli.errors import InputError, UsageError, unreadable
from kcli.filelike import name_of
from kcli.records.batches import Batch
from kcli.records.damage import stretches
from kcli.records.rows import batch_rows, field_rows
from kcli.records.unfolding import Unfolding
from kcli.schemas.apikeys import PRODUCE
from kcli.topic_names import partition_of
from kcli.whole_file import WholeFile

MOST_PROBLEMS = 20
Row = dict[str, Any]


@dataclass(slots=True)
class Problems:
    """Errors of reading: the first, and how many there are."""

    failures: list[InputError] = field(default_factory=list)
    count: int = 0

    def add(self, error: InputError) -> None:
        """Note one more problem."""
        self.count += 1
        if len(self.failures) < MOST_PROBLEMS:
            self.failures.append(error)


@dataclass(slots=True)
class RecordGroup:
    """Records with a common place: a field of an exchange, or a piece of a segment. place, seen: their common columns,
    before and after the record's own. data: their batches. unfold: decompresses. next_offset: of the first, below 0:
    they have none; None: those of their batches. timestamp: of all; None: their own. is_plain: each batch is decoded by
    itself, and none is left out by its time.
    """

    place: Row
    seen: Row
    data: memoryview
    unfold: Unfolding
    problems: Problems
    secrets: bool
    next_offset: int | None = None
    timestamp: int | None = None
    is_plain: bool = True

    def offset_at(self, count: int) -> int | None:
        """Return `next_offset` after `count` records."""
        return self.next_offset if self.next_offset is None or self.next_offset < 0 else self.next_offset + count

    def rows(self, at: int = 0, count: int = 0) -> Iterator[Row]:
        """Make rows of the batches from position `at` in the data on. count: the number of records before that
        position.
        """
        raise NotImplementedError


def record_groups(
    files: Sequence[str],
    problems: Problems,
    moved: Callable[[int], None],
    sink: RecordSink,
    options: DecodeOptions,
    quiet: bool = False,
) -> Iterator[RecordGroup]:
    """Yield the records of all files, captures first: they are read as one, in order of time. topics: receives the
    topics of captured records. topic, partition: for captures alone, as segments have one each, and records with times
    of their own. Raises UsageError if exchanges are chosen, and there is a log segment, which has none.
    """
    chosen, secrets = options.chosen, options.secrets
    captures, segments = list[str](), list[str]()
    for file in files:
        try:
            kinds = [(name, holds_capture(name)) for name in members(file)]
            segments_alone = (name for name, capture in kinds if not capture)
            refuse_other_files(segments_alone, "neither a capture nor record batches")
        except OSError as error:
            problems.add(unreadable(error, name_of(file)))
            continue
        except InputError as error:
            problems.add(error)
            continue
        for name, capture in kinds:
            (captures if capture else segments).append(name)
    if segments and not chosen.is_times:
        raise UsageError(f"{name_of(segments[0])}: a log segment; the options that choose exchanges are for captures")
    if captures:
        source = CaptureDecoder(captures, sink, options)
        yield from capture_groups(source, problems, moved)
        say_nameless(source, sink.topic, quiet=quiet)
    for name in segments:
        yield from segment_groups(name, problems, secrets, moved, chosen, quiet)


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
    """Return the file itself; of a directory its captures and log segments, and those below. Raises InputError."""
    if file == "-" or not Path(file).is_dir():
        return [file]
    inside = [path for path in sorted(Path(file).rglob("*")) if path.is_file()]
    found = [str(path) for path in inside if path.suffix == ".log" or is_capture(path)]
    if not found:
        raise InputError("no capture and no log segment (*.log) in this directory", file=file)
    return found


def holds_capture(file: str) -> bool:
    return starts_capture(standard_input().peek(4)[:4]) if file == "-" else is_capture(Path(file))


def capture_groups(
    source: CaptureDecoder[RecordSink], problems: Problems, moved: Callable[[int], None]
) -> Iterator[RecordGroup]:
    """Yield the records in captures, in order; those of an exchange unfold within one budget."""
    try:
        for captured, unfold in source.sink.unfolded(moved):
            yield captured_group(captured, problems, source.bodies.secrets, unfold)
        require_exchanges(source)
    except InputError as error:
        problems.add(error)


@dataclass(slots=True)
class CapturedGroup(RecordGroup):
    """The records of one field."""

    captured: CapturedField | None = None

    def rows(self, at: int = 0, count: int = 0) -> Iterator[Row]:
        assert self.captured is not None
        exchange, file, found = self.captured
        wrong: list[str] = []
        rows = field_rows(
            found.data[at:],
            wrong,
            base_offset=None if found.base_offset is None else found.base_offset + count,
            append_time=found.append_time,
            produced=exchange.api_key == PRODUCE,
            aborted=found.aborted,
            secrets=self.secrets,
            unfold=self.unfold,
            start=at,
        )
        for row in rows:
            yield self.place | row | self.seen
        for text in wrong:
            where = f"{exchange.api_name} {exchange.correlation_id} of {exchange.connection}"
            self.problems.add(InputError(f"{where}: {found.label}[{found.partition}]: {text}", file=file))


def captured_group(captured: CapturedField, problems: Problems, secrets: bool, unfold: Unfolding) -> CapturedGroup:
    """Return the records of one field."""
    exchange, file, found = captured
    seen = {
        "api": exchange.api_name,
        "client_id": exchange.client_id,
        "connection": exchange.connection,
        "file": file,
    }
    place: Row = {"topic": found.label, "partition": found.partition}
    made = CapturedGroup(place, seen, found.data, unfold, problems, secrets, captured=captured)
    if exchange.api_key == PRODUCE:
        made.next_offset = -1 if found.base_offset is None else found.base_offset
    made.timestamp, made.is_plain = found.append_time, not found.aborted
    return made


@dataclass(slots=True)
class SegmentGroup(RecordGroup):
    """The records of a piece of a log segment. base: its position in the file. chosen: has the range of wanted
    times.
    """

    base: int = 0
    chosen: Filter = ALL

    def rows(self, at: int = 0, _count: int = 0) -> Iterator[Row]:
        for frame in core.frames(self.data, at)[0]:
            wrong: list[str] = []
            batch = Batch(self.data, frame, self.base)
            for row in batch_rows(batch, wrong, self.secrets):
                if self.chosen.takes_all or self.chosen.in_time(row["timestamp"] * NS_IN_MS):
                    yield self.place | row | self.seen
            for text in wrong:
                error = InputError(f"in the batch at {batch.file_position:#x}: {text}", file=self.seen["file"])
                self.problems.add(error)


def segment_groups(
    file: str,
    problems: Problems,
    secrets: bool,
    moved: Callable[[int], None],
    chosen: Filter = ALL,
    quiet: bool = False,
) -> Iterator[RecordGroup]:
    """Yield the records of a log segment, or of batches alone; the segment's directory names its topic
    and partition.
    """
    topic, partition = partition_of("" if file == "-" else Path(file).absolute().parent.name)
    place: Row = {"topic": topic, "partition": partition}
    seen = {"api": None, "client_id": None, "connection": None, "file": name_of(file)}
    empty, unfold = True, Unfolding()
    try:
        with io.FileIO(0, closefd=False) if file == "-" else WholeFile(file) as raw:
            read = standard_input().readinto1 if file == "-" else raw.readinto
            for chunk, start, stop, damage in stretches(lambda into, _at: read(into) or 0, kept=True):
                data = memoryview(chunk.data)[start:stop]
                made = SegmentGroup(place, seen, data, unfold, problems, secrets, base=chunk.base + start)
                made.chosen, made.is_plain = chosen, chosen.takes_all
                yield made
                if damage is not None and not (damage.lawful and chunk.base + damage.start):
                    size = damage.end - damage.start
                    where = f"(at {chunk.base + damage.start:#x}; {size:,} bytes passed over)"
                    problems.add(InputError(f"{damage.reason} {where}", file=name_of(file)))
                moved(stop - start)
                empty = False
            if empty:
                warn(f"{name_of(file)}: no record batches (empty)", quiet)
    except OSError as error:
        problems.add(unreadable(error, name_of(file)))
    except InputError as error:
        problems.add(error)

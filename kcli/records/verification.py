"""Verifies a log segment: checksums, offsets, records, and the files beside it against the log.

Findings have the form of `kcli snapshot verify`: severity ("error", or "note" for unusual but valid contents), rule,
file, offset (bytes in the file) and message.
"""

import bisect
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.core.records import batches as core
from kcli.errors import DecodeError, InputError
from kcli.records.batches import Batch
from kcli.records.chunks import ReadInto
from kcli.records.control import control_fault
from kcli.records.damage import Damage, stretches
from kcli.records.segments import base_offset_of, row_size


class LogFinding(NamedTuple):
    """A finding on a log or a file beside it; see the top of this module. offset: bytes in the file."""

    severity: str
    rule: str
    file: str
    offset: int
    message: str


@dataclass(slots=True)
class LogFacts:
    """The facts of a log against which the files beside it are checked: lists with an item for each batch, by
    position.
    """

    positions: list[int] = field(default_factory=list)
    base_offsets: list[int] = field(default_factory=list)
    last_offsets: list[int] = field(default_factory=list)
    max_timestamps: list[int] = field(default_factory=list)
    aborted: dict[tuple[int, int], int] = field(default_factory=dict)  # {(producer id, offset of the marker): position}
    epochs: dict[int, int] = field(default_factory=dict)  # {leader epoch: first offset}
    producers: dict[int, tuple[int, int]] = field(default_factory=dict)  # {producer id: (epoch, last offset)}
    codecs: Counter[str] = field(default_factory=Counter)  # {codec: number of batches}
    size: int = 0
    records: int = 0

    @property
    def batches(self) -> int:
        """Return the number of batches that were read."""
        return len(self.positions)

    @property
    def next_offset(self) -> int:
        """Return the offset after the last record; 0 for an empty log."""
        return self.last_offsets[-1] + 1 if self.last_offsets else 0

    def add(self, batch: Batch, position: int, first: int) -> None:
        """Add a batch at a byte position. first: the offset of its first record."""
        self.positions.append(position)
        self.base_offsets.append(first)
        self.last_offsets.append(batch.last_offset)
        self.codecs[batch.compression] += 1
        latest = self.max_timestamps[-1] if self.max_timestamps else -1
        self.max_timestamps.append(max(latest, batch.max_timestamp))
        if batch.magic >= 2:
            self.epochs.setdefault(batch.partition_leader_epoch, first)
            if batch.producer_id >= 0:
                self.producers[batch.producer_id] = batch.producer_epoch, batch.last_offset


def verify_log(read: ReadInto, name: str, facts: LogFacts) -> Iterator[LogFinding]:
    """Verify a log, and fill `facts`: each batch is decoded and its records are checked against its header."""
    for chunk, start, stop, damage in stretches(read):
        rows, _status, _stopped = core.frames(memoryview(chunk.data)[:stop], start)
        for row in rows:
            yield from verify_batch(Batch(memoryview(chunk.data), row), chunk.base + row[0], name, facts)
        facts.size = chunk.base + stop
        if damage is not None:
            yield damage_finding(damage, chunk.base, name)


def damage_finding(damage: Damage, base: int, name: str) -> LogFinding:
    """Return the finding for damage. A batch that is cut at the end of a log comes from a crash; a starting broker cuts
    it off.
    """
    rule = "cut-batch" if damage.lawful else "no-batch"
    severity = "note" if damage.lawful else "error"
    return LogFinding(severity, rule, name, base + damage.start, damage.reason)


def verify_batch(batch: Batch, position: int, name: str, facts: LogFacts) -> Iterator[LogFinding]:
    """Yield findings on a batch that Kafka would refuse, and note in `facts` what later batches and the files beside
    the log are checked against.

    position: of the batch in the file
    """

    def error(rule: str, message: str) -> LogFinding:
        return LogFinding("error", rule, name, position, message)

    if not batch.crc_valid:
        yield error(
            "checksum", f"the batch with offsets {batch.base_offset} to {batch.last_offset} has a wrong checksum"
        )
    if batch.magic > 2:
        yield error("magic", f"magic {batch.magic}: 0, 1 or 2 expected")
    offsets: list[int] = []
    try:
        for record in batch.records():
            offsets.append(record.offset)
            if batch.is_control:
                note_marker(batch, record.key, record.offset, position, facts)
                if fault := control_fault(record.key, record.value):
                    yield error("control-record", f"Kafka can't read the record at offset {record.offset}: {fault}")
    except DecodeError as problem:
        yield error("records", f"{problem.path}: {problem.reason}")
    except InputError as problem:
        yield error("records", str(problem))
    facts.records += len(offsets)
    first = offsets[0] if offsets and batch.magic < 2 else batch.base_offset
    yield from verify_offsets(batch, offsets, error)
    previous = facts.last_offsets[-1] if facts.last_offsets else base_offset_of(name) - 1
    if first <= previous:
        limit_text = "the offsets before it reach" if facts.last_offsets else "the file's name says that all are above"
        yield error("offset-order", f"a batch begins at offset {first}, {limit_text} {previous}")
    facts.add(batch, position, first)


def note_marker(batch: Batch, key: bytes | None, offset: int, position: int, facts: LogFacts) -> None:
    if key is not None and key[2:4] == b"\0\0":
        facts.aborted[batch.producer_id, offset] = position


def verify_offsets(batch: Batch, offsets: list[int], error: Any) -> Iterator[LogFinding]:
    for before, offset in itertools.pairwise(offsets):
        if offset <= before:
            yield error("record-order", f"offset {offset} behind {before} in one batch")
            break
    if offsets and ((offsets[0] < batch.base_offset and batch.magic >= 2) or offsets[-1] > batch.last_offset):
        span = f"{batch.base_offset} to {batch.last_offset}"
        yield error("record-range", f"records with offsets {offsets[0]} to {offsets[-1]} in a batch that says {span}")


def verify_companion(kind: str, rows: Iterable[dict[str, Any]], name: str, facts: LogFacts) -> Iterator[LogFinding]:
    """Verify a file beside the log. rows: from `segments.read_rows`."""
    place, before, size = 0, None, row_size(kind)
    try:
        for number, row in enumerate(rows):
            place = size * number
            for rule, message in CHECKS[kind](row, before, facts, name):
                yield LogFinding("error", rule, name, place, f"entry {number}: {message}")
            before = row
    except DecodeError as problem:
        yield LogFinding("error", "form", name, problem.offset, str(problem))


Problems = Iterator[tuple[str, str]]
Row = dict[str, Any]


def check_index(row: Row, before: Row | None, facts: LogFacts, _name: str) -> Problems:
    """Check an index entry. Readers search its offset and later ones from its position on, so that none of these may be
    before it.
    """
    offset, position = row["offset"], row["position"]
    if before is not None and (offset <= before["offset"] or position <= before["position"]):
        yield "index-order", f"offset {offset} at {position} behind offset {before['offset']} at {before['position']}"
    place = bisect.bisect_left(facts.positions, position)
    if place == len(facts.positions) or facts.positions[place] != position:
        yield "index-astray", f"offset {offset} at position {position}, where no batch begins"
    elif place and facts.last_offsets[place - 1] >= offset:
        yield "index-astray", f"offset {offset} at position {position}, but the batch before has it"
    elif facts.base_offsets[place] > offset:
        begins = facts.base_offsets[place]
        yield "index-astray", f"offset {offset} at position {position}, where a batch begins with offset {begins}"
    elif offset >= facts.next_offset:
        yield "index-astray", f"offset {offset}, the log ends before {facts.next_offset}"


def check_timeindex(row: Row, before: Row | None, facts: LogFacts, _name: str) -> Problems:
    """Check a time index entry. Readers search later timestamps from its offset on, so that none of these may be before
    it.
    """
    timestamp, offset = row["timestamp"], row["offset"]
    if before is not None and (timestamp <= before["timestamp"] or offset < before["offset"]):
        was = f"{before['timestamp']} at offset {before['offset']}"
        yield "index-order", f"timestamp {timestamp} at offset {offset} behind timestamp {was}"
    place = bisect.bisect_left(facts.last_offsets, offset)
    if place == len(facts.last_offsets):
        yield "index-astray", f"offset {offset}, the log ends before {facts.next_offset}"
    elif place and facts.max_timestamps[place - 1] > timestamp:
        later = facts.max_timestamps[place - 1]
        yield "index-astray", f"timestamp {timestamp} at offset {offset}, but {later} lies before it"
    elif facts.max_timestamps[place] < timestamp:
        yield "index-astray", f"timestamp {timestamp} at offset {offset}, the log has none so late up to there"


def check_txnindex(row: Row, before: Row | None, facts: LogFacts, _name: str) -> Problems:
    first, last, producer = row["firstOffset"], row["lastOffset"], row["producerId"]
    if before is not None and last <= before["lastOffset"]:
        yield "index-order", f"last offset {last} behind {before['lastOffset']}"
    if first > last:
        yield "index-astray", f"first offset {first} above last offset {last}"
    elif (producer, last) not in facts.aborted:
        yield "index-astray", f"producer {producer} has no abort marker at offset {last}"


def check_producer(row: Row, _before: Row | None, _facts: LogFacts, name: str) -> Problems:
    if row["lastOffset"] >= base_offset_of(name):
        yield (
            "producer-offset",
            f"producer {row['producerId']}: last offset {row['lastOffset']} is not below the file's name",
        )


def check_epoch(row: Row, before: Row | None, facts: LogFacts, _name: str) -> Problems:
    if before is not None and (row["epoch"] <= before["epoch"] or row["startOffset"] < before["startOffset"]):
        yield "epoch-order", f"epoch {row['epoch']} from offset {row['startOffset']} does not rise"
    first = facts.epochs.get(row["epoch"])
    if first is not None and first < row["startOffset"]:
        yield "epoch-astray", f"epoch {row['epoch']} from offset {row['startOffset']}, the log has it from {first}"


CHECKS = {
    "index": check_index,
    "timeindex": check_timeindex,
    "txnindex": check_txnindex,
    "snapshot": check_producer,
    "leader-epoch-checkpoint": check_epoch,
}

"""Records as rows of JSON, with their offsets in a partition; batches are decompressed one at a time."""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from kcli.core.records.batches import LENGTH_END
from kcli.jsontext import loads
from kcli.records.batches import Batch, scan
from kcli.records.damage import Damage
from kcli.records.entries import entry_size
from kcli.records.text import Findings, batches_json
from kcli.records.unfolding import Unfolding

ABORT = "ABORT"
Row = dict[str, Any]


def batch_rows(
    batch: Batch, problems: list[str], secrets: bool = False, unfold: Unfolding | None = None
) -> Iterator[Row]:
    """Yield a batch's records: offset, timestamp, key, value, headers; of a control record also its fields as
    `_control`.

    problems: gets the faults of the batch; secrets: show them; unfold: as for `batches_json`
    """
    findings = Findings()
    for made in loads(batches_json(batch.bytes, "full", findings, secrets, unfold=unfold)):
        for record in made.get("records") or ():
            row = {name: record.get(name) for name in ("offset", "timestamp", "key", "value", "headers")}
            row["headers"] = row["headers"] or []
            if batch.is_control:
                row["_control"] = record.get("_control") or {}
            yield row
    problems += [f"{path}: {reason}" if path else reason for _, path, reason, _ in findings.problems]
    if findings.wrong_checksums:
        problems.append("a batch has a wrong checksum")


def field_rows(  # noqa: PLR0913
    data: memoryview,
    problems: list[str],
    *,
    base_offset: int | None = None,
    append_time: int | None = None,
    produced: bool = False,
    aborted: Iterable[tuple[int, int]] = (),
    secrets: bool = False,
    unfold: Unfolding | None = None,
    start: int = 0,
) -> Iterator[Row]:
    """Yield the records of a records field. start: the position of `data` in it, for the texts of problems.

    produced: the field is a producer's, whose offsets count from 0; the rows' offsets count from `base_offset`, or are
    None without it. append_time: the timestamp of all records, in ms. aborted: (first offset, producer id) of aborted
    transactions, ascending; their records get `"aborted": true`, by the rule of Kafka's consumer (CompletedFetch).
    unfold: as for `batches_json`.
    """
    damages: list[Damage] = []
    transactions = AbortedTransactions(aborted)
    count = 0
    for batch in scan(data, damages=damages):
        if not produced and damages and is_cut(data, damages[-1].start):
            break  # a batch after the cut begins inside the cut one
        transactions.begin(batch)
        for row in batch_rows(batch, problems, secrets, unfold):
            if produced:
                row["offset"] = None if base_offset is None else base_offset + count
                count += 1
            if append_time is not None:
                row["timestamp"] = append_time
            transactions.mark(batch, row)
            yield row
    for damage in damages:
        if not produced and is_cut(data, damage.start):
            return
        if not damage.lawful:
            problems.append(f"at {start + damage.start:#x}: {damage.reason}")


class AbortedTransactions:
    """Marks the rows of aborted transactions. aborted: (first offset, producer id), ascending."""

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        self.later, self.open = deque(aborted), set[int]()  # open: producer ids

    def begin(self, batch: Batch) -> None:
        """Begin the transactions whose first offset is in or before a batch."""
        while self.later and self.later[0][0] <= batch.last_offset:
            self.open.add(self.later.popleft()[1])

    def mark(self, batch: Batch, row: Row) -> None:
        """Mark a row of an open transaction; a row with its marker ends it."""
        if batch.is_control and row["_control"].get("type") == ABORT:
            self.open.discard(batch.producer_id)
        elif batch.is_transactional and batch.producer_id in self.open:
            row["aborted"] = True


def is_cut(data: memoryview, at: int) -> bool:
    """Return whether the field ends within the batch at `at`, because a broker cuts the last batch at the requested
    size.
    """
    left = len(data) - at
    return left < LENGTH_END or entry_size(data, at) > left


class SeenOffsets:
    """The offsets seen of each partition, as ranges (a log needs one). After `most` ranges no more are remembered."""

    def __init__(self, most: int = 100_000) -> None:
        self.starts: dict[object, list[int]] = {}
        self.ends: dict[object, list[int]] = {}
        self.left = most

    def add(self, partition: object, offset: int) -> bool:
        """Add an offset. Returns whether it is new."""
        starts, ends = self.starts.setdefault(partition, []), self.ends.setdefault(partition, [])
        at = bisect_right(starts, offset)
        if at and offset < ends[at - 1]:
            return False
        before, behind = at > 0 and ends[at - 1] == offset, at < len(starts) and starts[at] == offset + 1
        if before and behind:
            ends[at - 1] = ends.pop(at)
            del starts[at]
            self.left += 1
        elif before:
            ends[at - 1] += 1
        elif behind:
            starts[at] = offset
        elif self.left:
            starts.insert(at, offset)
            ends.insert(at, offset + 1)
            self.left -= 1
        return True

"""Records that a program appends to an embedded broker or reads from it without a Kafka client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kcli.broker.storage.incoming import read_incoming
from kcli.client.producing.partitioner import Partitioner
from kcli.errors import UsageError
from kcli.records.batches import Batch, scan
from kcli.records.builder import NewRecord, build_batch

if TYPE_CHECKING:
    from kcli.broker.broker import Broker
    from kcli.broker.partition import Partition, Topic

LONGEST = 64 << 20
FIELDS = ("key", "value", "headers", "timestamp", "partition")
# A value, a (key, value) pair, or a mapping with some of FIELDS.
RecordLike = str | bytes | tuple[str | bytes | None, str | bytes | None] | Mapping[str, Any] | None


class StoredRecord(NamedTuple):
    """A record in a topic. timestamp: ms since 1970; headers: (key, value) pairs."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def append(broker: Broker, topic: Topic, records: Iterable[RecordLike], partition: int | None) -> list[tuple[int, int]]:
    """Append records; return (partition, offset) of each. Raises UsageError for anything that is no record.

    partition: for records without one of their own. None: the key chooses, as in Java's producer; records without a
    key go to one partition.
    """
    chooser = Partitioner(len(topic.partitions), 1)
    rows: dict[int, list[NewRecord]] = {}
    places: list[tuple[int, int]] = []
    for each in records:
        fields = fields_of(each)
        key = bytes_of("key", fields.get("key"))
        index = fields.get("partition", partition)
        index = chooser.choose(key) if index is None else index
        if not isinstance(index, int):
            raise UsageError(f"partition: a number or None expected, not {type(index).__name__}")
        if topic.partition(index) is None:
            raise UsageError(f"topic {topic.name}: no partition {index}: it has {len(topic.partitions)}")
        rows_of_index = rows.setdefault(index, [])
        places.append((index, len(rows_of_index)))
        now = fields.get("timestamp", broker.now())
        if not isinstance(now, int):
            raise UsageError(f"timestamp: a number expected, not {type(now).__name__}")
        rows_of_index.append(
            (now, key, bytes_of("value", fields.get("value")), headers_of(fields.get("headers") or ()))
        )
    bases = {index: write(broker, topic.partitions[index], part) for index, part in rows.items()}
    return [(index, bases[index] + at) for index, at in places]


def write(broker: Broker, partition: Partition, records: Sequence[NewRecord]) -> int:
    """Append records to a partition as one batch; return the offset of the first."""
    batches = read_incoming(build_batch(records), LONGEST)
    base = partition.made_log().append(batches, partition.epoch)
    broker.replicas.appended(partition, sum(len(each.data) for each in batches))
    return base


def fields_of(record: RecordLike) -> Mapping[str, Any]:
    if isinstance(record, Mapping):
        if strange := next((name for name in record if name not in FIELDS), None):
            raise UsageError(f"a record has no {strange!r}; there are {', '.join(FIELDS)}")
        return record
    if isinstance(record, tuple):
        if len(record) != 2:
            raise UsageError(f"a key and a value expected, not {len(record)} of them")
        return {"key": record[0], "value": record[1]}
    return {"value": record}


def headers_of(headers: Any) -> list[tuple[bytes, bytes | None]]:
    """Return the headers of a record as (key, value) pairs, from a mapping or pairs. Raises UsageError for others."""
    pairs = (
        list(headers.items() if isinstance(headers, Mapping) else headers)
        if isinstance(headers, Iterable)
        else [headers]
    )
    if not all(isinstance(each, list | tuple) and len(each) == 2 and isinstance(each[0], str) for each in pairs):
        raise UsageError("headers: names with values expected")
    return [(bytes_of("headers", name) or b"", bytes_of("headers", value)) for name, value in pairs]


def bytes_of(name: str, value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{name}: half a character (a lone surrogate) is no text: {value!a}") from None
    raise UsageError(f"{name}: text, bytes or None expected, not {type(value).__name__}")


def read(topic: Topic, partition: int | None, *, committed: bool) -> list[StoredRecord]:
    """Return the records of a topic or of one partition, ordered by partition and offset. committed: without records of
    open and aborted transactions. Raises UsageError if there is no such partition.
    """
    if partition is not None and topic.partition(partition) is None:
        raise UsageError(f"topic {topic.name}: no partition {partition}: it has {len(topic.partitions)}")
    wanted = topic.partitions if partition is None else [topic.partitions[partition]]
    return [record for each in wanted for record in records_of(each, committed=committed)]


def records_of(partition: Partition, *, committed: bool) -> Iterator[StoredRecord]:
    """Yield the records of a partition."""
    log = partition.log
    if log is None:
        return
    stable = partition.last_stable_offset if committed else log.end_offset
    aborted = list(log.aborted(0, log.end_offset)) if committed else []
    for segment in log.segments:
        for batch in scan(segment.slice(0, segment.size).read(), damages=[]):
            if not batch.is_control and not any(each.has(batch) for each in aborted):
                yield from rows_of(partition, batch, log.start_offset, stable)


def rows_of(partition: Partition, batch: Batch, start: int, end: int) -> Iterator[StoredRecord]:
    for each in batch.records():
        if start <= each.offset < end:
            yield StoredRecord(partition.index, each.offset, each.timestamp, each.key, each.value, each.headers)

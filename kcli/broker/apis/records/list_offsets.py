"""ListOffsets v0-v11 (KIP-79, KIP-207, KIP-320, KIP-734, KIP-405, KIP-1005, KIP-1075).

For a timestamp: the first record at or after it. For a negative number: -1 the latest offset (the last stable offset
for read_committed), -2 the earliest, -3 the record with the largest timestamp, -4 the earliest local offset, -5 the
latest tiered one, -6 the earliest that is not tiered yet. In v0 the response has a list of offsets, the newest first:
the log's end and the segments' first offsets.
"""

from collections import Counter
from typing import Any

from kcli.broker.acceptance import isolation_refusal
from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.broker.storage.headers import StoredBatch
from kcli.broker.storage.log import Log
from kcli.broker.storage.segment import Segment
from kcli.errors import InputError
from kcli.records.batches import scan
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import OffsetTime

NONE = (-1, -1)
# The first version with each of the newer special timestamps.
SINCE = {
    OffsetTime.MAX_TIMESTAMP: 7,
    OffsetTime.EARLIEST_LOCAL: 8,
    OffsetTime.LATEST_TIERED: 9,
    OffsetTime.EARLIEST_PENDING: 11,
}


def handle(request: Request) -> dict[str, Any]:
    named = Counter(
        (each["name"], part["partitionIndex"]) for each in request.body["topics"] for part in each["partitions"]
    )
    repeated = {place for place, count in named.items() if count > 1}
    if refused := isolation_refusal(request.body):
        return request.each_partition("name", lambda request, name, wanted: failed(wanted, refused.error))
    return request.each_partition("name", lambda request, name, wanted: checked(request, name, wanted, repeated))


def checked(request: Request, name: str, wanted: dict[str, Any], repeated: set[tuple[str, int]]) -> dict[str, Any]:
    """Make a partition's row; with an error if the request names the partition twice, or has a special timestamp that
    its version lacks.
    """
    timestamp = wanted["timestamp"]
    if (name, wanted["partitionIndex"]) in repeated:
        return failed(wanted, "INVALID_REQUEST")
    if timestamp < OffsetTime.EARLIEST and request.version < SINCE.get(timestamp, 1 << 15):
        return failed(wanted, "UNSUPPORTED_VERSION")
    return row(request, name, wanted)


def failed(wanted: dict[str, Any], error: str) -> dict[str, Any]:
    """Return a partition's row with an error. error: its name."""
    return {"partitionIndex": wanted["partitionIndex"], "timestamp": -1, "offset": -1, "errorCode": error_code(error)}


def row(request: Request, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    partition, code = request.led_partition(name, wanted["partitionIndex"], wanted.get("currentLeaderEpoch", -1))
    made: dict[str, Any] = {"partitionIndex": wanted["partitionIndex"], "timestamp": -1, "offset": -1}
    made["errorCode"] = code
    if partition is None or code:
        return made
    if request.version == 0:
        return made | {"oldStyleOffsets": old_style(partition, wanted["timestamp"], wanted["maxNumOffsets"])}
    timestamp, offset = find(partition, wanted["timestamp"], request.reads_committed)
    epoch = partition.epoch if offset < 0 or partition.log is None else partition.log.epochs.epoch_of(offset)
    # The end offset has no batch yet, so that it is in the leader's current epoch.
    epoch = partition.epoch if offset == partition.end_offset else epoch
    return made | {"timestamp": timestamp, "offset": offset, "leaderEpoch": epoch if offset >= 0 else -1}


def find(partition: Partition, timestamp: int, committed: bool) -> tuple[int, int]:
    """Return the (timestamp, offset) for a timestamp; (-1, -1) if there is no such record."""
    if timestamp == OffsetTime.LATEST:
        return -1, partition.last_stable_offset if committed else partition.end_offset
    if timestamp < 0 and timestamp != OffsetTime.MAX_TIMESTAMP:
        return -1, by_tier(partition, timestamp)
    log = partition.log
    if log is None:
        return NONE
    if timestamp == OffsetTime.MAX_TIMESTAMP:
        return latest_record(log)
    found = log.first_at(timestamp)
    return record_in(*found, timestamp, log.start_offset) if found is not None else NONE


def by_tier(partition: Partition, which: int) -> int:
    """Return an offset that depends on which segments are tiered (KIP-405), -1 if there is none. A topic without tiered
    storage has all its segments here, and none that is to be copied.
    """
    log = partition.log
    if which == OffsetTime.EARLIEST_PENDING and not partition.topic.configs.tiered:
        return -1
    if log is None or which == OffsetTime.EARLIEST:
        return partition.start_offset if which != OffsetTime.LATEST_TIERED else -1
    if which == OffsetTime.EARLIEST_LOCAL:
        return log.local_start_offset
    copied = log.last_copied_offset
    return copied if which == OffsetTime.LATEST_TIERED else max(copied + 1, log.start_offset)


def latest_record(log: Log) -> tuple[int, int]:
    segment = max(log.segments, key=lambda each: each.max_timestamp)
    if segment.max_timestamp < 0:
        return NONE
    found = segment.first_at(segment.max_timestamp)
    return record_in(segment, found, segment.max_timestamp, 0) if found is not None else NONE


def record_in(segment: Segment, place: StoredBatch, timestamp: int, start: int) -> tuple[int, int]:
    """Return (timestamp, offset) of the first record of a batch that is at or after the timestamp and the start offset.
    If the batch can't be read: the largest timestamp and the first offset by its header.
    """
    try:
        for batch in scan(segment.slice(place.position, place.size).read(), damages=[]):
            for record in batch.records():
                if record.timestamp >= timestamp and record.offset >= start:
                    return record.timestamp, record.offset
    except InputError:
        pass
    return place.max_timestamp, max(place.base_offset, start)


def old_style(partition: Partition, timestamp: int, most: int) -> list[int]:
    """Return the offsets of a v0 response, descending: the log's end and the first offsets of its segments. For a
    timestamp: only the first offsets of segments that begin at or before it. most: how many offsets.
    """
    log = partition.log
    bases = [max(each.base_offset, log.start_offset) for each in log.segments] if log is not None else [0]
    if timestamp == OffsetTime.EARLIEST:
        return bases[:1][:most]
    offsets = [*bases, partition.end_offset] if partition.end_offset > bases[-1] else bases
    if timestamp >= 0 and log is not None:
        offsets = [base for base, each in zip(bases, log.segments, strict=True) if each.first_timestamp <= timestamp]
    return offsets[::-1][: max(0, most)]

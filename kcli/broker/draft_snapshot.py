"""Fetch v12 as the draft of KIP-630 has it (dialect kip-630-draft): other names, another way to point to a snapshot.

Where Apache's v12 names a snapshot's end offset, the draft names the last offset in it (SnapshotOffsetAndEpoch), and
where to go on fetching once it is there (NextOffsetAndEpoch).
"""

from __future__ import annotations

from typing import Any

from kcli.broker.fetching import Records
from kcli.broker.partition_reads import PartitionRead
from kcli.broker.request import Request

__all__ = ["draft_partition", "is_draft"]

VERSION = 12
FIELD = "topics"


def is_draft(request: Request) -> bool:
    """Whether a Fetch is answered in the draft's form: its topics have another name."""
    if request.route.dialect is None or request.version != VERSION:
        return False
    return any(each.name == FIELD for each in request.route.response.grammar.fields)


def draft_partition(index: int, read: PartitionRead, records: Records, committed: bool) -> dict[str, Any]:
    result = read.result
    aborted = [{"producerId": each.producer_id, "firstOffset": each.first_offset} for each in read.aborted]
    row: dict[str, Any] = {
        "partitionIndex": index,
        "errorCode": result.error,
        "highWatermark": result.high_watermark,
        "lastStableOffset": result.last_stable_offset,
        "logBeginOffset": result.log_start_offset,
        "aborted": aborted if committed else None,
        "preferredReadReplica": -1,
        "records": records.field(read.records),
    }
    if read.partition is not None and read.partition.topic.name in read.partition.topic.owner.hidden:
        row["currentLeader"] = {"leaderId": read.partition.leader, "leaderEpoch": read.partition.epoch}
    if read.snapshot is not None:
        end, epoch = read.snapshot
        row["snapshotOffsetAndEpoch"] = {"fetchOffset": end - 1, "fetchOffsetEpoch": epoch}
        row["nextOffsetAndEpoch"] = {"nextFetchOffset": end, "nextFetchOffsetEpoch": epoch}
    elif read.diverging is not None:
        epoch, end = read.diverging
        row["nextOffsetAndEpoch"] = {"nextFetchOffset": end, "nextFetchOffsetEpoch": epoch}
    return row

"""Fetch v12 and FetchSnapshot v0 of the draft of KIP-630 (dialect kip-630-draft).

* Fetch: Apache's v12 has a snapshot's end offset. The draft has the last offset in it (SnapshotOffsetAndEpoch), and the
  offset from which to fetch after the snapshot (NextOffsetAndEpoch).
* FetchSnapshot: Apache's has the size of the whole file. The draft has a flag for more bytes (`continue`), and
  OFFSET_OUT_OF_RANGE for a position beyond the file.
"""

from collections.abc import Awaitable, Mapping
from typing import Any

from kcli.broker.apis.cluster import fetch_snapshot
from kcli.broker.apis.records import fetch
from kcli.broker.fetch.fetching import by_topic
from kcli.broker.fetch.partition_reads import PartitionRead
from kcli.broker.fetch.records_slot import RecordsSlots
from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.broker.response import Answer
from kcli.schemas.errors import error_code
from kcli.sessions.values import FetchResponse
from kcli.snapshots.reading.names import SnapshotId

# Fields of Apache's partition rows: the draft's names of those that it renames, and those that it lacks.
NAMES = {"abortedTransactions": "aborted", "logStartOffset": "logBeginOffset"}
APACHES = frozenset(["divergingEpoch", "snapshotId"])


def handle_fetch(request: Request) -> Answer | Awaitable[Answer]:
    return fetch.fetch_with(request, fetch_rows, nothing={"topics": []})


def fetch_rows(request: Request, response: FetchResponse, reads: fetch.Reads, slots: RecordsSlots) -> dict[str, Any]:
    committed = request.reads_committed
    version = request.version
    rows = ((key, fetch_row(version, key[1], reads[key], slots, committed)) for key in response.partitions)
    return {"topics": by_topic("name", rows)}


def fetch_row(version: int, index: int, read: PartitionRead, slots: RecordsSlots, committed: bool) -> dict[str, Any]:
    """Return a partition's row: Apache's, with the draft's names and its fields for the next fetch."""
    made = fetch.partition_row(version, index, read, slots, committed)
    row = {NAMES.get(name, name): value for name, value in made.items() if name not in APACHES}
    if read.partition is not None and read.partition.is_hidden:
        row["currentLeader"] = read.partition.current_leader
    if read.snapshot is not None:
        end, epoch = read.snapshot
        row["snapshotOffsetAndEpoch"] = {"fetchOffset": end - 1, "fetchOffsetEpoch": epoch}
        row["nextOffsetAndEpoch"] = {"nextFetchOffset": end, "nextFetchOffsetEpoch": epoch}
    elif read.diverging is not None:
        epoch, end = read.diverging
        row["nextOffsetAndEpoch"] = {"nextFetchOffset": end, "nextFetchOffsetEpoch": epoch}
    return row


def handle_fetch_snapshot(request: Request) -> Answer:
    return fetch_snapshot.answer(request, "partitionIndex", snapshot_row)


def snapshot_row(
    request: Request, partition: Partition | None, partition_row: Mapping[str, Any], slots: RecordsSlots
) -> dict[str, Any]:
    index, position = partition_row["partitionIndex"], partition_row["position"]
    row = {"partitionIndex": index, "continue": False, "position": position, "bytes": b""}
    if partition is None:
        return row | {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION")}
    if partition.leader != request.node.id:
        return row | {"errorCode": error_code("NOT_LEADER_OR_FOLLOWER")}
    # The draft's offset is the last one in the snapshot; Apache's, like the file's name, has the first one after it.
    named = partition_row["snapshotOffsetAndEpoch"]
    wanted = SnapshotId(named["offset"] + 1, named["offsetEpoch"])
    # At least one byte, or a client that fetches while `continue` is set would never end.
    size, piece, fault = fetch_snapshot.piece_of(request, wanted, position, max(partition_row["maxBytes"], 1))
    if piece is None:
        return row | {"errorCode": error_code("OFFSET_OUT_OF_RANGE" if fault == "POSITION_OUT_OF_RANGE" else fault)}
    return row | {"errorCode": 0, "continue": position + piece.size < size, "bytes": slots.field(piece)}

"""FetchSnapshot v0-v1 (KIP-630, KIP-853) of the metadata log.

* The response has at most `maxBytes` bytes of the snapshot's file from `position` on, regardless of record boundaries.
* SNAPSHOT_NOT_FOUND for an unknown snapshot id, POSITION_OUT_OF_RANGE beyond the file, INCONSISTENT_CLUSTER_ID for
  another cluster id. The leader's epoch is checked.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kcli.broker.fetch.records_slot import RecordsSlots
from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.broker.response import Answer
from kcli.broker.storage.segment import Slice
from kcli.schemas.errors import error_code
from kcli.snapshots.reading.names import SnapshotId

# Makes a partition's row of the response. Arguments: the request, the partition (None if it is not the metadata log's),
# its row in the request, and the response's slots for records.
Row = Callable[[Request, Partition | None, Mapping[str, Any], RecordsSlots], dict[str, Any]]


def handle(request: Request) -> Answer:
    cluster_id = request.body.get("clusterId")
    if cluster_id not in (None, request.services.cluster_id):
        return {"errorCode": error_code("INCONSISTENT_CLUSTER_ID"), "topics": []}
    return answer(request, "partition", row)


def answer(request: Request, index: str, row: Row) -> Answer:
    """Make the whole response. index: the name of the request's field with a partition's index; row: makes a
    partition's row.
    """
    if code := request.fault():
        return {"errorCode": code, "topics": []}
    slots = RecordsSlots()
    topics = [
        {
            "name": topic["name"],
            "partitions": [
                row(request, metadata_partition(request, topic["name"], each[index]), each, slots)
                for each in topic["partitions"]
            ],
        }
        for topic in request.body["topics"]
    ]
    return request.api.encode_with({"throttleTimeMs": 0, "errorCode": 0, "topics": topics}, slots.filled)


def metadata_partition(request: Request, name: str, index: int) -> Partition | None:
    """Return the metadata log's partition, the only one with snapshots; None for any other name or index."""
    return request.topics.find((name, index)) if name in request.topics.hidden else None


def row(
    request: Request, partition: Partition | None, partition_row: Mapping[str, Any], slots: RecordsSlots
) -> dict[str, Any]:
    wanted = SnapshotId(partition_row["snapshotId"]["endOffset"], partition_row["snapshotId"]["epoch"])
    made = {"index": partition_row["partition"], "snapshotId": {"endOffset": wanted.end_offset, "epoch": wanted.epoch}}
    made |= {"size": 0, "position": partition_row["position"], "unalignedRecords": b""}
    if partition is None:
        return made | {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION")}
    made["currentLeader"] = partition.current_leader
    if code := check_epoch(request, partition, partition_row["currentLeaderEpoch"]):
        return made | {"errorCode": code}
    size, piece, fault = piece_of(request, wanted, partition_row["position"], request.body["maxBytes"])
    if fault:
        return made | {"errorCode": error_code(fault)}
    return made | {"errorCode": 0, "size": size, "unalignedRecords": slots.field(piece)}


def check_epoch(request: Request, partition: Partition, epoch: int) -> int:
    if partition.leader != request.node.id:
        return error_code("NOT_LEADER_OR_FOLLOWER")
    if epoch != partition.epoch and epoch >= 0:
        return error_code("FENCED_LEADER_EPOCH" if epoch < partition.epoch else "UNKNOWN_LEADER_EPOCH")
    return 0


def piece_of(request: Request, wanted: SnapshotId, position: int, most: int) -> tuple[int, Slice | None, str]:
    """Return the size of the whole file in bytes, its slice from `position` on, and an error's name, "" for none.

    most: the slice's largest size in bytes.
    """
    found = request.metadata.snapshots.slice(wanted, position, most)
    if found is None:
        return 0, None, "SNAPSHOT_NOT_FOUND"
    piece, size = found
    if not 0 <= position < size:
        return 0, None, "POSITION_OUT_OF_RANGE"
    return size, piece, ""

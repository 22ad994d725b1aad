"""FetchSnapshot v0-v1 (KIP-630, KIP-853) of the metadata log, and the KIP's draft (dialect kip-630-draft, v0).

* The bytes of a snapshot's file from a position on, at most so many; they begin and end anywhere.
* SNAPSHOT_NOT_FOUND for an id that is not there, POSITION_OUT_OF_RANGE beyond the file (the draft:
  OFFSET_OUT_OF_RANGE), INCONSISTENT_CLUSTER_ID for another cluster's, and the leader's epoch is checked.
* The draft says whether to go on (`continue`) where Apache's tells the whole size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.records_slot import SLOT, fill_slots
from kcli.broker.request import Answer, Lazy, Request
from kcli.broker.topics import Partition
from kcli.snapshots.names import SnapshotId

NO_LIMIT = (1 << 31) - 1


def handle(request: Request) -> Answer:
    code = request.fault() or check_cluster(request)
    if code:
        return {"errorCode": code, "topics": []}
    pieces: list[Lazy] = []
    draft = is_draft(request)
    left = request.body.get("maxBytes", NO_LIMIT)
    topics = [{"name": name, "partitions": rows} for name, rows in by_topic(request, pieces, left, draft)]
    value: dict[str, Any] = {"throttleTimeMs": 0, "errorCode": 0, "topics": topics}
    return fill_slots(request.route.response.write(value), pieces, request.route.flexible)


def is_draft(request: Request) -> bool:
    return request.route.dialect is not None and all(
        each.name != "clusterId"
        for each in (*request.route.request.grammar.fields, *request.route.request.grammar.tagged)
    )


def check_cluster(request: Request) -> int:
    cluster_id = request.body.get("clusterId")
    return error_code("INCONSISTENT_CLUSTER_ID") if cluster_id not in (None, request.broker.cluster_id) else 0


def by_topic(
    request: Request, pieces: list[Lazy], left: int, draft: bool
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    for topic in request.body["topics"]:
        rows = []
        for each in topic["partitions"]:
            row = (
                draft_row(request, topic["name"], each, pieces)
                if draft
                else final_row(request, topic["name"], each, pieces, left)
            )
            rows.append(row)
        yield topic["name"], rows


def metadata_partition(request: Request, name: str, index: int) -> Partition | None:
    """Only the metadata log has snapshots."""
    return request.broker.topics.find((name, index)) if name in request.broker.topics.hidden else None


def final_row(request: Request, name: str, asked: Mapping[str, Any], pieces: list[Lazy], left: int) -> dict[str, Any]:
    partition = metadata_partition(request, name, asked["partition"])
    wanted = SnapshotId(asked["snapshotId"]["endOffset"], asked["snapshotId"]["epoch"])
    row = {"index": asked["partition"], "snapshotId": {"endOffset": wanted.end_offset, "epoch": wanted.epoch}}
    row |= {"size": 0, "position": asked["position"], "unalignedRecords": b""}
    if partition is None:
        return row | {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION")}
    row["currentLeader"] = {"leaderId": partition.leader, "leaderEpoch": partition.epoch}
    if code := check_epoch(request, partition, asked["currentLeaderEpoch"]):
        return row | {"errorCode": code}
    size, fault = add_piece(request, wanted, asked["position"], left, pieces)
    if fault:
        return row | {"errorCode": error_code(fault)}
    return row | {"errorCode": 0, "size": size, "unalignedRecords": SLOT}


def check_epoch(request: Request, partition: Partition, epoch: int) -> int:
    if partition.leader != request.node.id:
        return error_code("NOT_LEADER_OR_FOLLOWER")
    if epoch != partition.epoch and epoch >= 0:
        return error_code("FENCED_LEADER_EPOCH" if epoch < partition.epoch else "UNKNOWN_LEADER_EPOCH")
    return 0


def add_piece(request: Request, wanted: SnapshotId, position: int, most: int, pieces: list[Lazy]) -> tuple[int, str]:
    """(size of the whole file, ""), or the error's name; the bytes are added to `pieces`."""
    found = request.broker.metadata.snapshots.slice(wanted, position, most)
    if found is None:
        return 0, "SNAPSHOT_NOT_FOUND"
    piece, size = found
    if not 0 <= position < size:
        return 0, "POSITION_OUT_OF_RANGE"
    pieces.append(piece)
    return size, ""


def draft_row(request: Request, name: str, asked: Mapping[str, Any], pieces: list[Lazy]) -> dict[str, Any]:
    index, position = asked["partitionIndex"], asked["position"]
    row = {"partitionIndex": index, "continue": False, "position": position, "bytes": b""}
    partition = metadata_partition(request, name, index)
    if partition is None:
        return row | {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION")}
    if partition.leader != request.node.id:
        return row | {"errorCode": error_code("NOT_LEADER_OR_FOLLOWER")}
    # The draft's offset is the last one in the snapshot, Apache's (and the file's) the first one that is not.
    named = asked["snapshotOffsetAndEpoch"]
    wanted = SnapshotId(named["offset"] + 1, named["offsetEpoch"])
    size, code = add_piece(request, wanted, position, asked["maxBytes"], pieces)
    if code:
        return row | {"errorCode": error_code("OFFSET_OUT_OF_RANGE" if code == "POSITION_OUT_OF_RANGE" else code)}
    goes_on = position + pieces[-1].size < size
    return row | {"errorCode": 0, "continue": goes_on, "bytes": SLOT}

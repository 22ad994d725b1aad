"""Fetch and FetchSnapshot for the metadata log: request bodies, and the contents of responses (KIP-630)."""

from collections.abc import Mapping
from typing import Any

from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE
from kcli.snapshots.reading.names import SnapshotId
from kcli.topic_names import CLUSTER_METADATA, METADATA_ID

TOPIC, TOPIC_ID = CLUSTER_METADATA, METADATA_ID

Body = dict[str, Any]


def find_body(version: int, leader_epoch: int, offset: int, fetched_epoch: int | None) -> Body:
    """Return the body of a Fetch of the metadata log. The offset is chosen so that the leader answers with a snapshot's
    id.

    fetched_epoch: the epoch of the record before the offset; None: the leader's
    """
    partition = {
        "partition": 0,
        "currentLeaderEpoch": leader_epoch,
        "fetchOffset": offset,
        "lastFetchedEpoch": leader_epoch if fetched_epoch is None else fetched_epoch,
        "logStartOffset": -1,
        "partitionMaxBytes": 0,
    }
    topic = {"topicId": TOPIC_ID} if version >= TOPIC_IDS_SINCE else {"topic": TOPIC}
    return {
        "replicaId": -1,
        "maxWaitMs": 0,
        "minBytes": 0,
        "maxBytes": 1,
        "isolationLevel": 0,
        "sessionId": 0,
        "sessionEpoch": -1,
        "topics": [topic | {"partitions": [partition]}],
        "forgottenTopicsData": [],
        "rackId": "",
    }


def download_body(snapshot: SnapshotId, leader_epoch: int, position: int, max_bytes: int) -> Body:
    """Return the body of a FetchSnapshot for a snapshot's bytes from a position on, at most `max_bytes` of them."""
    partition = {
        "partition": 0,
        "currentLeaderEpoch": leader_epoch,
        "snapshotId": {"endOffset": snapshot.end_offset, "epoch": snapshot.epoch},
        "position": position,
    }
    topics = [{"name": TOPIC, "partitions": [partition]}]
    return {"replicaId": -1, "maxBytes": max_bytes, "topics": topics}


def first_partition(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the first partition of a Fetch or FetchSnapshot response; None if it has none."""
    for topic in body.get("responses") or body.get("topics") or ():
        for partition in topic["partitions"]:
            found: Mapping[str, Any] = partition
            return found
    return None


def offered_id(partition: Mapping[str, Any]) -> SnapshotId | None:
    """Return the snapshot id in a partition of a response; None if there is none."""
    current = partition.get("snapshotId") or {}
    if current.get("endOffset", -1) < 0 or current.get("epoch", -1) < 0:
        return None
    return SnapshotId(current["endOffset"], current["epoch"])

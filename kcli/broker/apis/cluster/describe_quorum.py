"""DescribeQuorum v0-v2 (KIP-595, KIP-836 times, KIP-853 directories): the quorum of the metadata log.

Every node is a voter. A running node is caught up, as all nodes share the log; a stopped one has -1 as its log end
offset and times.
"""

from typing import Any

from kcli.broker.partition import NOT_HOSTED
from kcli.broker.request import Request
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.errors import error_code

UNKNOWN = error_code("UNKNOWN_TOPIC_OR_PARTITION")


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": "", "topics": [], "nodes": []}
    mine = request.metadata.partition
    topics, found = [], False
    for topic in request.body["topics"]:
        rows = []
        for each in topic["partitions"]:
            is_metadata_log = (topic["topicName"], each["partitionIndex"]) == (mine.topic.name, mine.index)
            rows.append(partition_row(request) if is_metadata_log else unknown(each["partitionIndex"]))
            found = found or is_metadata_log
        topics.append({"topicName": topic["topicName"], "partitions": rows})
    return {"errorCode": 0, "errorMessage": "", "topics": topics, "nodes": nodes(request) if found else []}


def unknown(index: int) -> dict[str, Any]:
    row: dict[str, Any] = {"partitionIndex": index, "errorCode": UNKNOWN, "errorMessage": NOT_HOSTED}
    return row | {"leaderId": 0, "leaderEpoch": 0, "highWatermark": 0, "currentVoters": [], "observers": []}


def partition_row(request: Request) -> dict[str, Any]:
    metadata, now = request.metadata, request.now()
    end = metadata.log.end_offset
    voters = [
        {
            "replicaId": each,
            "replicaDirectoryId": ZERO_UUID,
            "logEndOffset": end if each in request.controller.running else -1,
            "lastFetchTimestamp": now if each in request.controller.running else -1,
            "lastCaughtUpTimestamp": now if each in request.controller.running else -1,
        }
        for each in request.controller.node_ids
    ]
    return {
        "partitionIndex": metadata.partition.index,
        "errorCode": 0,
        "errorMessage": "",
        "leaderId": request.controller.id,
        "leaderEpoch": metadata.epoch,
        "highWatermark": end,
        "currentVoters": voters,
        "observers": [],
    }


def nodes(request: Request) -> list[dict[str, Any]]:
    """Return the rows of the voters' listeners: here controllers have the brokers' addresses."""
    return [
        {"nodeId": each["nodeId"], "listeners": [{"name": "CONTROLLER", "host": each["host"], "port": each["port"]}]}
        for each in request.endpoints()
    ]

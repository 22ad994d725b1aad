"""AlterPartitionReassignments v0-v1 (KIP-455): other replicas for a partition, at once, since all nodes share its log.

A leader that is none of the new replicas makes room for the first of them. Nothing is ever under way, so there is
nothing to cancel: null replicas are NO_REASSIGNMENT_IN_PROGRESS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.partition import Partition
from kcli.broker.request import Request


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "responses": []}
    wanted: dict[Partition, tuple[int, ...]] = {}
    rows = [
        {
            "name": topic["name"],
            "partitions": [
                {
                    "partitionIndex": each["partitionIndex"],
                    "errorCode": check(request, topic["name"], each, wanted),
                    "errorMessage": None,
                }
                for each in topic["partitions"]
            ],
        }
        for topic in request.body["topics"]
    ]
    request.controller.reassign(wanted)
    return {"errorCode": 0, "errorMessage": None, "responses": rows}


def check(request: Request, name: str, row: Mapping[str, Any], wanted: dict[Partition, tuple[int, ...]]) -> int:
    """Return what is wrong with a row, or add it to the wanted reassignments."""
    partition = request.topics.find((name, row["partitionIndex"]))
    if partition is None:
        return error_code("UNKNOWN_TOPIC_OR_PARTITION")
    replicas = row["replicas"]
    if replicas is None:
        return error_code("NO_REASSIGNMENT_IN_PROGRESS")
    if not replicas or len(set(replicas)) < len(replicas) or set(replicas) - set(request.controller.node_ids):
        return error_code("INVALID_REPLICA_ASSIGNMENT")
    wanted[partition] = tuple(replicas)
    return 0

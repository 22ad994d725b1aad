"""AlterPartitionReassignments v0-v1 (KIP-455): new replicas for a partition, at once, since all nodes share its log.

If the leader is not among the new replicas, the first of them becomes the leader. As no reassignment is ever in
progress, a request to cancel one (null replicas) gets NO_REASSIGNMENT_IN_PROGRESS.
"""

from collections.abc import Mapping
from typing import Any

from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError
from kcli.schemas.errors import error_code

FACTOR_MAY_CHANGE = "allowReplicationFactorChange"  # KIP-860


def handle(request: Request) -> dict[str, Any]:
    wanted: dict[Partition, tuple[int, ...]] = {}
    code = request.fault()
    rows = [
        {
            "name": topic["name"],
            "partitions": [
                {"partitionIndex": each["partitionIndex"]}
                # Java's admin client expects all rows also of a refused request.
                | (faulted(code) if code else checked(request, topic["name"], each, wanted))
                for each in topic["partitions"]
            ],
        }
        for topic in request.body["topics"]
    ]
    request.controller.reassign(wanted)
    allowed = request.body.get(FACTOR_MAY_CHANGE, True)
    return faulted(code) | {FACTOR_MAY_CHANGE: allowed, "responses": rows}


def faulted(code: int) -> dict[str, Any]:
    return {"errorCode": code, "errorMessage": None}


def checked(
    request: Request, name: str, row: Mapping[str, Any], wanted: dict[Partition, tuple[int, ...]]
) -> dict[str, Any]:
    """Add a row of the request to the wanted reassignments; return the row's error code and message."""
    try:
        check(request, name, row, wanted)
    except RefusedError as refused:
        return {"errorCode": error_code(refused.error), "errorMessage": str(refused) or None}
    return faulted(0)


def check(request: Request, name: str, row: Mapping[str, Any], wanted: dict[Partition, tuple[int, ...]]) -> None:
    """Add a row of the request to the wanted reassignments. Raises RefusedError if the row is invalid."""
    index, replicas, nodes = row["partitionIndex"], row["replicas"], set(request.controller.node_ids)
    partition = request.topics.find((name, index))
    if partition is None:
        missing = f"partition {name}:{index}" if name in request.topics.by_name else f"a topic named {name}"
        raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"Unable to find {missing}.")
    if replicas is None:
        raise RefusedError("NO_REASSIGNMENT_IN_PROGRESS", "")
    if not replicas or len(set(replicas)) < len(replicas) or set(replicas) - nodes:
        raise RefusedError(
            "INVALID_REPLICA_ASSIGNMENT", f"{replicas}: each once, of the nodes {sorted(nodes)}, expected"
        )
    if len(replicas) != len(partition.replicas) and not request.body.get(FACTOR_MAY_CHANGE, True):
        change = f"from {len(partition.replicas)} to {len(replicas)}"
        message = f"The replication factor is changed {change} but {FACTOR_MAY_CHANGE} is false."
        raise RefusedError("INVALID_REPLICATION_FACTOR", message)
    wanted[partition] = tuple(replicas)

"""AlterReplicaLogDirs v1-v2 (KIP-113): this broker has one log directory, so that it checks requests and moves nothing.

LOG_DIR_NOT_FOUND for another directory, REPLICA_NOT_AVAILABLE for a partition without a replica on this node
(ReplicaManager).
"""

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    refused = request.fault()
    topics: dict[str, list[dict[str, int]]] = {}
    for wanted in request.body["dirs"]:
        absent = 0 if wanted["path"] == str(request.topics.folder) else error_code("LOG_DIR_NOT_FOUND")
        for topic in wanted["topics"]:
            for index in topic["partitions"]:
                code = refused or absent or fault_of(request, topic["name"], index)
                topics.setdefault(topic["name"], []).append({"partitionIndex": index, "errorCode": code})
    return {"results": [{"topicName": name, "partitions": rows} for name, rows in topics.items()]}


def fault_of(request: Request, name: str, index: int) -> int:
    """Return the error code for a partition that has no replica on this node, 0 if it has one."""
    topic = request.topics.by_name.get(name)
    partition = topic.partition(index) if topic is not None else None
    if partition is None:
        return error_code("UNKNOWN_TOPIC_OR_PARTITION")
    return 0 if request.node.id in partition.replicas else error_code("REPLICA_NOT_AVAILABLE")

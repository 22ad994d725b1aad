"""DeleteRecords v0-v2 (KIP-107): it deletes the records before an offset; -1 means all records.

POLICY_VIOLATION for records of the metadata log that are not in a snapshot (KIP-630), and for topics whose
cleanup.policy lacks `delete`. INVALID_TOPIC_EXCEPTION for internal topics (Kafka's ReplicaManager).
"""

from typing import Any

from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

EVERYTHING = -1


def handle(request: Request) -> dict[str, Any]:
    made = request.each_partition("name", delete)
    request.topics.write_start_offsets()  # once, as the file has all partitions
    return made


def delete(request: Request, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    index, offset = wanted["partitionIndex"], wanted["offset"]
    row = {"partitionIndex": index, "lowWatermark": -1}
    partition = request.topics.find((name, index))
    if partition is None:
        missing = error_code("UNKNOWN_TOPIC_OR_PARTITION")
        return row | {"errorCode": request.denial(Resource.TOPIC, name) or missing}
    if code := request.fault(name, index):
        return row | {"errorCode": code}
    if partition.topic.internal:
        return row | {"errorCode": error_code("INVALID_TOPIC_EXCEPTION")}
    if partition.leader != request.node.id:
        return row | {"errorCode": error_code("NOT_LEADER_OR_FOLLOWER")}
    if partition.is_offline:
        return row | {"errorCode": error_code("KAFKA_STORAGE_ERROR")}
    offset = partition.end_offset if offset == EVERYTHING else offset
    if not 0 <= offset <= partition.end_offset:
        return row | {"errorCode": error_code("OFFSET_OUT_OF_RANGE")}
    if not may_go(request, partition, offset):
        return row | {"errorCode": error_code("POLICY_VIOLATION")}
    request.topics.delete_records(partition, offset)
    request.replicas.changed(partition)
    return row | {"lowWatermark": partition.start_offset, "errorCode": 0}


def may_go(request: Request, partition: Partition, offset: int) -> bool:
    metadata = request.metadata
    if partition is metadata.partition:
        return offset <= metadata.snapshots.may_begin_at()
    return partition.topic.configs.deletes

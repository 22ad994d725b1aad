"""The acknowledgements in ShareFetch and ShareAcknowledge, and the shared partitions that they refer to."""

from collections.abc import Iterable, Mapping
from typing import Any

from kcli.broker.apis.records.list_offsets import find as find_offset
from kcli.broker.partition import Key, Partition
from kcli.broker.request import Request
from kcli.broker.resource_configs import reset_duration
from kcli.broker.share.group import LONGEST_MEMBER, ShareGroup
from kcli.broker.share.partition import Acknowledgement, ShareLimits, SharePartition
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

EARLIEST = "earliest"


def limits_of(request: Request, group_id: str) -> ShareLimits:
    """Return the limits of a share group by its own configs, else by the broker's."""
    names = "record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"
    lock, deliveries, in_flight = (request.controller.group_number(group_id, f"share.{name}") for name in names)
    return ShareLimits(lock / 1000, deliveries, in_flight)


def find(request: Request, key: Key) -> Partition:
    """Return a partition that this node leads and the client may read. Raises RefusedError."""
    partition = request.topics.find(key, True)
    if partition is None:
        known = key[0] in request.topics.by_id
        raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION" if known else "UNKNOWN_TOPIC_ID", "no such partition")
    if request.denial(Resource.TOPIC, partition.topic.name):
        raise RefusedError("TOPIC_AUTHORIZATION_FAILED", "the client may not read the topic")
    if partition.leader != request.node.id:
        raise RefusedError("NOT_LEADER_OR_FOLLOWER", "this node does not lead the partition")
    return partition


def shared(request: Request, group: ShareGroup, key: Key, partition: Partition) -> SharePartition:
    """Return the state of a partition in a share group; a new one begins at the offset of `share.auto.offset.reset`."""
    found = group.partitions.get(key)
    if found is None:
        found = request.groups.share_from(group, key, partition, first_shared(request, group.id, partition))
    found.begin_at(partition.start_offset)
    return found


def first_shared(request: Request, group_id: str, partition: Partition) -> int:
    """Return the first offset by `share.auto.offset.reset`: the earliest one, that of a time ago, or the log's end."""
    reset = request.controller.group_config(group_id, "share.auto.offset.reset") or "latest"
    if reset == EARLIEST:
        return partition.start_offset
    duration = reset_duration(reset)
    _, offset = (-1, -1) if duration is None else find_offset(partition, request.now() - duration, False)
    return offset if offset >= 0 else partition.end_offset


def acknowledge(
    request: Request, group: ShareGroup, rows: Iterable[Mapping[str, Any]]
) -> dict[Key, tuple[int, str | None]]:
    """Apply the acknowledgements of a request; return (error code, message) by partition."""
    member, limits = request.body["memberId"], limits_of(request, group.id)
    made: dict[Key, tuple[int, str | None]] = {}
    for topic in rows:
        for each in topic["partitions"]:
            acknowledged = [
                Acknowledgement(one["firstOffset"], one["lastOffset"], one["acknowledgeTypes"])
                for one in each["acknowledgementBatches"]
            ]
            if not acknowledged:
                continue
            key = topic["topicId"], each["partitionIndex"]
            try:
                shared(request, group, key, find(request, key)).acknowledge(member, acknowledged, limits)
                made[key] = 0, None
            except RefusedError as refused:
                made[key] = error_code(refused.error), str(refused)
    return made


def checked_group(request: Request) -> ShareGroup:
    """Return the share group of a request; create it if needed. Raises RefusedError if the request names no group or
    member, or a group of another type.
    """
    group_id, member = request.body["groupId"], request.body["memberId"]
    if not group_id or not member:
        raise RefusedError("INVALID_REQUEST", "a group and a member expected")
    if len(member) > LONGEST_MEMBER:
        raise RefusedError("INVALID_REQUEST", f"a member id of at most {LONGEST_MEMBER} characters expected")
    return request.groups.share_group(group_id, joins=True)


def error_row(request: Request, key: Key, code: int, message: str | None) -> dict[str, Any]:
    """Make a partition's row with an error code and message, and for an error with the leader of a known partition."""
    partition = request.topics.find(key, True)
    row: dict[str, Any] = {"partitionIndex": key[1], "errorCode": code, "errorMessage": message}
    if code and partition is not None:
        row["currentLeader"] = partition.current_leader
    return row

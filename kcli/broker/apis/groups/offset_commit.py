"""OffsetCommit v0-v10 (KIP-211, KIP-320 leader epochs from v6, KIP-345, KIP-848; topic ids in v10).

* A member commits in its generation, except while an assignment is awaited (REBALANCE_IN_PROGRESS).
* Without a generation (below 0) a client that assigns partitions itself commits to a group without members.
* A member of a group that is not there: ILLEGAL_GENERATION, from v9 on GROUP_ID_NOT_FOUND.
* A member of the new protocol commits in its epoch, or in an earlier one what it had then already (KIP-1251):
  STALE_MEMBER_EPOCH, which clients know from v9 on.
* Kept in `__consumer_offsets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.groups.codes import ILLEGAL_GENERATION, REBALANCING
from kcli.broker.groups.committed import Committed
from kcli.broker.groups.consumer.assignors import Partition
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.group import Group
from kcli.broker.groups.state import State
from kcli.broker.request import Request
from kcli.broker.share.group import ShareGroup
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

NOT_FOUND_SINCE, TOPIC_IDS_SINCE = 9, 10
NOT_FOUND = error_code("GROUP_ID_NOT_FOUND")


def handle(request: Request) -> dict[str, Any]:
    return commit(request, request.fault() or check(request), by_id=request.version >= TOPIC_IDS_SINCE)


def commit(request: Request, code: int, *, by_id: bool, producer: tuple[int, int] | None = None) -> dict[str, Any]:
    """Commit a request's offsets, unless there is an error code for all of it. by_id: topics are named by id.

    producer: id and epoch of the transaction's producer
    """
    group_id, topics = request.body["groupId"], request.body["topics"]
    wanted: dict[tuple[str, int], Committed] = {}
    rows = [topic_row(request, each, code, wanted, by_id=by_id) for each in topics]
    if wanted:
        try:
            request.groups.commit(request.groups.get_or_make(group_id), wanted, producer)
        except OSError as error:
            request.services.note(f"group {group_id}: {error.strerror}")
            code = error_code("KAFKA_STORAGE_ERROR")
            rows = [topic_row(request, each, code, {}, by_id=by_id) for each in topics]
    return {"topics": rows}


def check(request: Request) -> int:
    """Return the error code of the whole request; 0 if offsets may be committed."""
    body = request.body
    generation, member_id = body.get("generationIdOrMemberEpoch", -1), body.get("memberId", "")
    if code := request.group_refusal(body["groupId"]):
        return code
    group = request.groups.get(body["groupId"])
    if group is None:
        return 0 if generation < 0 else NOT_FOUND if request.version >= NOT_FOUND_SINCE else ILLEGAL_GENERATION
    if generation < 0 and group.state is State.EMPTY and not isinstance(group, ShareGroup):
        return 0
    if isinstance(group, ShareGroup):
        return NOT_FOUND if request.version >= NOT_FOUND_SINCE else ILLEGAL_GENERATION
    if isinstance(group, ConsumerGroup):
        return new_member_fault(request, group, member_id, body.get("groupInstanceId"), generation)
    return check_member(group, member_id, body.get("groupInstanceId"), generation)


def new_member_fault(
    request: Request, group: ConsumerGroup, member_id: str, instance_id: str | None, epoch: int
) -> int:
    """Return why a member of the new protocol may not commit; 0: it may."""
    wanted = named_partitions(request, by_id=request.version >= TOPIC_IDS_SINCE)
    name = group.check(member_id, instance_id, epoch, wanted) or ("UNKNOWN_MEMBER_ID" if epoch < 0 else "")
    if name == "STALE_MEMBER_EPOCH" and request.version < NOT_FOUND_SINCE:
        name = "UNSUPPORTED_VERSION"
    return error_code(name) if name else 0


def named_partitions(request: Request, *, by_id: bool) -> list[Partition]:
    """Return the partitions that a request commits offsets of, as far as their topics are there."""
    made = []
    for each in request.body["topics"]:
        topic = request.topics.by_id.get(each["topicId"]) if by_id else request.topics.by_name.get(each["name"])
        if topic is not None:
            made += [(topic.id, row["partitionIndex"]) for row in each["partitions"]]
    return made


def check_member(group: Group, member_id: str, instance_id: str | None, generation: int) -> int:
    code = group.check(member_id, instance_id, generation)
    if code:
        return code
    group.touch(group.members[member_id])
    return REBALANCING if group.state is State.COMPLETING else 0


def topic_row(
    request: Request, topic: Mapping[str, Any], code: int, wanted: dict[tuple[str, int], Committed], *, by_id: bool
) -> dict[str, Any]:
    """Judge the offsets of a topic, add the good ones to `wanted`, and return the topic's row. code: an error of the
    whole group.
    """
    found = request.topics.by_id.get(topic["topicId"]) if by_id else request.topics.by_name.get(topic["name"])
    name = found.name if found is not None else topic.get("name", "")
    missing = error_code("UNKNOWN_TOPIC_ID" if by_id else "UNKNOWN_TOPIC_OR_PARTITION")
    missing = request.denial(Resource.TOPIC, name) or missing if name else missing
    rows = []
    for each in topic["partitions"]:
        index = each["partitionIndex"]
        fault = code or (
            missing if found is None or found.partition(index) is None else request.fault(found.name, index)
        )
        metadata = each["committedMetadata"] or ""
        if not fault and len(metadata.encode()) > request.configs.int("offset.metadata.max.bytes"):
            fault = error_code("OFFSET_METADATA_TOO_LARGE")
        if not fault and found is not None:
            epoch = each.get("committedLeaderEpoch", -1)
            wanted[found.name, index] = Committed(each["committedOffset"], epoch, metadata, request.now())
        rows.append({"partitionIndex": index, "errorCode": fault})
    return {name: topic[name] for name in ("name", "topicId") if name in topic} | {"partitions": rows}

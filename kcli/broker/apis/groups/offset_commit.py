"""OffsetCommit v0-v10 (KIP-211, KIP-320 leader epochs from v6, KIP-345, KIP-848; topic ids in v10).

* A member commits in its generation; REBALANCE_IN_PROGRESS while the group waits for the leader's assignment.
* A client that assigns its partitions itself has no generation (below 0). It can commit to a group without members.
* A member of an unknown group gets ILLEGAL_GENERATION, from v9 on GROUP_ID_NOT_FOUND.
* A member of KIP-848's protocol commits with its current epoch, or with an earlier one for partitions that it already
  owned then (KIP-1251), else STALE_MEMBER_EPOCH. Before v9 it gets UNSUPPORTED_VERSION.
* Offsets are stored in `__consumer_offsets`.
"""

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
    refusal = request.fault() or request.group_refusal(request.body["groupId"])
    return commit(request, refusal, 0 if refusal else check(request), by_id=request.version >= TOPIC_IDS_SINCE)


def commit(
    request: Request, refusal: int, code: int, *, by_id: bool, producer: tuple[int, int] | None = None
) -> dict[str, Any]:
    """Commit the offsets of a request and return the response. refusal: the error of the whole request; code: the
    group's, which partitions get that exist; 0 for none.

    by_id: topics are named by id. producer: (id, epoch) of the transaction's producer, None outside of a transaction.
    """
    group_id, topics = request.body["groupId"], request.body["topics"]
    wanted: dict[tuple[str, int], Committed] = {}
    rows = [topic_row(request, each, (refusal, code), wanted, by_id=by_id) for each in topics if each["partitions"]]
    if wanted:
        try:
            request.groups.commit(request.groups.get_or_make(group_id), wanted, producer)
        except OSError as error:
            request.services.note(f"group {group_id}: {error.strerror}")
            code = error_code("KAFKA_STORAGE_ERROR")
            rows = [topic_row(request, each, (0, code), {}, by_id=by_id) for each in topics]
    return {"topics": rows}


def check(request: Request) -> int:
    """Return the error code of the group; 0 if offsets may be committed."""
    body = request.body
    generation, member_id = body.get("generationIdOrMemberEpoch", -1), body.get("memberId", "")
    group = request.groups.get(body["groupId"])
    if group is None:
        return 0 if generation < 0 else NOT_FOUND if request.version >= NOT_FOUND_SINCE else ILLEGAL_GENERATION
    if generation < 0 and group.state is State.EMPTY and not isinstance(group, ShareGroup):
        return 0
    if isinstance(group, ShareGroup):
        return NOT_FOUND if request.version >= NOT_FOUND_SINCE else ILLEGAL_GENERATION
    if isinstance(group, ConsumerGroup):
        return new_member_fault(request, group, member_id, generation)
    return check_member(group, member_id, body.get("groupInstanceId"), generation)


def new_member_fault(request: Request, group: ConsumerGroup, member_id: str, epoch: int) -> int:
    """Return the error code of a member of KIP-848's protocol; 0 if it may commit."""
    wanted = named_partitions(request, by_id=request.version >= TOPIC_IDS_SINCE)
    member = group.members.get(member_id)
    if member is not None and not member.classic and request.version < NOT_FOUND_SINCE:
        return error_code("UNSUPPORTED_VERSION")
    name = group.check(member_id, epoch, wanted)
    return error_code(name) if name else 0


def named_partitions(request: Request, *, by_id: bool) -> list[Partition]:
    """Return (topic id, index) of the partitions in a request whose topics exist."""
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
    request: Request,
    topic: Mapping[str, Any],
    errors: tuple[int, int],
    wanted: dict[tuple[str, int], Committed],
    *,
    by_id: bool,
) -> dict[str, Any]:
    """Check the offsets of a topic, add the valid ones to `wanted`, and return the topic's row. errors: that of the
    whole request, and that of the group, which Kafka looks for only if a partition exists.
    """
    refusal, code = errors
    found = request.topics.by_id.get(topic["topicId"]) if by_id else request.topics.by_name.get(topic["name"])
    name = found.name if found is not None else topic.get("name", "")
    missing = error_code("UNKNOWN_TOPIC_ID" if by_id and found is None else "UNKNOWN_TOPIC_OR_PARTITION")
    missing = request.denial(Resource.TOPIC, name) or missing if name else missing
    rows = []
    for each in topic["partitions"]:
        index = each["partitionIndex"]
        exists = found is not None and found.partition(index) is not None
        fault = refusal or (code or request.fault(name, index) if exists else missing)
        metadata = each["committedMetadata"] or ""
        if not fault and len(metadata.encode()) > request.configs.int("offset.metadata.max.bytes"):
            fault = error_code("OFFSET_METADATA_TOO_LARGE")
        if not fault and found is not None:
            epoch = each.get("committedLeaderEpoch", -1)
            wanted[found.name, index] = Committed(each["committedOffset"], epoch, metadata, request.now())
        rows.append({"partitionIndex": index, "errorCode": fault})
    return {name: topic[name] for name in ("name", "topicId") if name in topic} | {"partitions": rows}

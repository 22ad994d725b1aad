"""OffsetFetch v0-v10 (KIP-447, KIP-709 several groups from v8 on, KIP-848; topic ids in v10).

Null topics mean all with committed offsets. A partition without a commit has offset -1. With requireStable (v7 on) the
offsets that an open transaction may change have UNSTABLE_OFFSET_COMMIT.
"""

from collections.abc import Mapping
from typing import Any

from kcli.broker.groups.committed import Committed
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

GROUPS_SINCE, TOPIC_IDS_SINCE = 8, 10
NOTHING = Committed(-1, -1, "", -1)
UNSTABLE = Committed(-1, -1, "", 0)


def handle(request: Request) -> dict[str, Any]:
    if request.version >= GROUPS_SINCE:
        return {"groups": [{"groupId": each["groupId"]} | group_row(request, each) for each in request.body["groups"]]}
    return group_row(request, request.body)


def group_row(request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
    group = request.groups.get(wanted["groupId"])
    offsets = group.offsets if group is not None else {}
    if group is not None and group.pending_offsets and request.body.get("requireStable"):
        offsets = offsets | {place: UNSTABLE for places in group.pending_offsets.values() for place in places}
    if code := request.fault() or request.group_refusal(wanted["groupId"]):
        return {"topics": [], "errorCode": code}
    if isinstance(group, ConsumerGroup):
        member_id, epoch = wanted.get("memberId"), wanted.get("memberEpoch", -1)
        name = "" if member_id is None and epoch < 0 else group.check(member_id or "", epoch)
        if name:
            return {"topics": [], "errorCode": error_code(name)}
    wanted_topics = wanted["topics"]
    if wanted_topics is None:
        offsets = {place: each for place, each in offsets.items() if not request.denial(Resource.TOPIC, place[0])}
    topics = (
        everything(request, offsets)
        if wanted_topics is None
        else [topic_row(request, each, offsets) for each in wanted_topics]
    )
    return {"topics": topics, "errorCode": 0}


def everything(request: Request, offsets: Mapping[tuple[str, int], Committed]) -> list[dict[str, Any]]:
    by_topic: dict[str, list[int]] = {}
    for topic, index in offsets:
        by_topic.setdefault(topic, []).append(index)
    return [
        topic_row(request, naming(request, name) | {"partitionIndexes": rows}, offsets)
        for name, rows in by_topic.items()
    ]


def naming(request: Request, name: str) -> dict[str, Any]:
    if request.version < TOPIC_IDS_SINCE:
        return {"name": name}
    return {"topicId": request.topics.by_name[name].id}


def topic_row(
    request: Request, wanted: Mapping[str, Any], offsets: Mapping[tuple[str, int], Committed]
) -> dict[str, Any]:
    """Return a topic's row with the committed offsets. An offset is -1 if there is no commit, and has an error if an
    open transaction may change it.
    """
    name = wanted["name"] if "name" in wanted else request.topic_name(wanted["topicId"])
    code = 0 if name or "name" in wanted else error_code("UNKNOWN_TOPIC_ID")
    rows = []
    for index in wanted["partitionIndexes"]:
        fault = code or request.fault(name, index)
        each = NOTHING if fault else offsets.get((name, index), NOTHING)
        if each is UNSTABLE:
            fault = error_code("UNSTABLE_OFFSET_COMMIT")
        rows.append(
            {
                "partitionIndex": index,
                "committedOffset": each.offset,
                "committedLeaderEpoch": each.leader_epoch,
                "metadata": each.metadata,
                "errorCode": fault,
            }
        )
    return {key: wanted[key] for key in ("name", "topicId") if key in wanted} | {"partitions": rows}

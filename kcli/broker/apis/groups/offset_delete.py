"""OffsetDelete v0 (KIP-496): committed offsets of topics that no member of the group subscribes to.

The topics that members of the classic protocol subscribe to are in their own metadata, which brokers don't read: such
a group with members keeps all offsets.
"""

from __future__ import annotations

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    group = request.groups.get(request.body["groupId"])
    code = request.fault() or request.group_refusal(request.body["groupId"])
    code = code or (error_code("GROUP_ID_NOT_FOUND") if group is None else 0)
    if code or group is None:
        return {"errorCode": code, "topics": []}
    subscribed = error_code("GROUP_SUBSCRIBED_TO_TOPIC")
    places, rows = [], []
    for topic in request.body["topics"]:
        indexes = [each["partitionIndex"] for each in topic["partitions"]]
        busy = subscribed if group.subscribes(topic["name"]) else 0
        refused = request.denial(Resource.TOPIC, topic["name"]) or busy
        places += [(topic["name"], index) for index in indexes if not refused]
        parts = [{"partitionIndex": index, "errorCode": refused} for index in indexes]
        rows.append({"name": topic["name"], "partitions": parts})
    request.groups.forget_offsets(group, [each for each in places if each in group.offsets])
    return {"errorCode": 0, "topics": rows}

"""OffsetDelete v0 (KIP-496): it deletes committed offsets of topics that no member of the group subscribes to.

A classic group of another protocol type, such as Connect's, keeps all offsets as long as it has members.
"""

from typing import Any

from kcli.broker.groups.codes import no_group
from kcli.broker.groups.group import Group
from kcli.broker.groups.member import PROTOCOL_TYPE
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    group = request.groups.get(request.body["groupId"])
    code = request.fault() or request.group_refusal(request.body["groupId"])
    code = code or no_group(request.body["groupId"])
    code = code or (error_code("GROUP_ID_NOT_FOUND") if group is None else 0)
    if isinstance(group, Group) and group.members and group.protocol_type != PROTOCOL_TYPE:
        code = code or error_code("NON_EMPTY_GROUP")
    if code or group is None:
        return {"errorCode": code, "topics": []}
    subscribed, unknown = error_code("GROUP_SUBSCRIBED_TO_TOPIC"), error_code("UNKNOWN_TOPIC_OR_PARTITION")
    places, rows = [], []
    for topic in request.body["topics"]:
        indexes = [each["partitionIndex"] for each in topic["partitions"]]
        busy = subscribed if group.subscribes(topic["name"]) else 0
        refused = request.denial(Resource.TOPIC, topic["name"])
        known = request.topics.by_name.get(topic["name"])
        partition_count = len(known.partitions) if known is not None else 0
        codes = {index: refused or (busy if 0 <= index < partition_count else unknown) for index in indexes}
        places += [(topic["name"], index) for index, code in codes.items() if not code]
        parts = [{"partitionIndex": index, "errorCode": code} for index, code in codes.items()]
        rows.append({"name": topic["name"], "partitions": parts})
    request.groups.forget_offsets(group, [each for each in places if each in group.offsets])
    return {"errorCode": 0, "topics": rows}

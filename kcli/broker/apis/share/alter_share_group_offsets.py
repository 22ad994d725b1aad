"""AlterShareGroupOffsets v0 (KIP-932): it sets the start offsets of an empty share group, and creates a missing one."""

from typing import Any

from kcli.broker.groups.codes import no_group
from kcli.broker.request import Request
from kcli.broker.share.group import ShareGroup
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    group_id = request.body["groupId"]
    if code := request.fault() or no_group(group_id) or request.group_refusal(group_id):
        return {"errorCode": code, "errorMessage": None, "responses": []}
    try:
        group = empty_group(request, group_id, make=True)
    except RefusedError as refused:
        return refused.row() | {"responses": []}
    rows = []
    for topic in request.body["topics"]:
        known = request.topics.by_name.get(topic["topicName"])
        parts = [
            {"partitionIndex": each["partitionIndex"], "errorMessage": None}
            | {"errorCode": alter(request, group, topic["topicName"], each["partitionIndex"], each["startOffset"])}
            for each in topic["partitions"]
        ]
        named = {"topicName": topic["topicName"]} | ({"topicId": known.id} if known is not None else {})
        rows.append(named | {"partitions": parts})
    return {"errorCode": 0, "errorMessage": None, "responses": rows}


def empty_group(request: Request, group_id: str, *, make: bool = False) -> ShareGroup:
    """Return a share group without members. make: create the group if there is none.

    Raises RefusedError if there is none, or it has members.
    """
    group = request.groups.share_group(group_id, joins=make)
    if group.members:
        raise RefusedError("NON_EMPTY_GROUP", f"The group {group_id} is not empty.")
    return group


def alter(request: Request, group: ShareGroup, name: str, index: int, offset: int) -> int:
    partition = request.topics.find((name, index))
    if code := request.denial(Resource.TOPIC, name):
        return code
    if partition is None:
        return error_code("UNKNOWN_TOPIC_OR_PARTITION")
    share = request.groups.share_from(group, partition.keys[1], partition, offset)
    share.keep(share)
    return 0

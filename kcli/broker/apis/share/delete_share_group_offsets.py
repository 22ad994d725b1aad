"""DeleteShareGroupOffsets v0 (KIP-932): it deletes the offsets of an empty share group for the named topics."""

from typing import Any

from kcli.broker.apis.share.alter_share_group_offsets import empty_group
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
        group = empty_group(request, group_id)
    except RefusedError as refused:
        return refused.row() | {"responses": []}
    rows = [forget(request, group, each["topicName"]) for each in request.body["topics"]]
    return {"errorCode": 0, "errorMessage": None, "responses": rows}


def forget(request: Request, group: ShareGroup, name: str) -> dict[str, Any]:
    topic = request.topics.by_name.get(name)
    code = request.denial(Resource.TOPIC, name)
    if code or topic is None:
        code = code or error_code("UNKNOWN_TOPIC_OR_PARTITION")
        return {"topicName": name, "errorCode": code, "errorMessage": None}
    request.groups.forget_shared(group, topic.id)
    return {"topicName": name, "topicId": topic.id, "errorCode": 0, "errorMessage": None}

"""ShareGroupDescribe v1 (KIP-932)."""

from __future__ import annotations

from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.operations import allowed
from kcli.broker.request import Request
from kcli.broker.security.acls import Resource
from kcli.broker.share.group import ShareGroup, ShareMember


def handle(request: Request) -> dict[str, Any]:
    return {"groups": [row(request, each) for each in request.body["groupIds"]]}


def row(request: Request, group_id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"groupId": group_id, "errorMessage": None, "groupState": "", "groupEpoch": 0}
    made |= {"assignmentEpoch": 0, "assignorName": "", "members": []}
    if code := request.fault() or request.group_refusal(group_id):
        return made | {"errorCode": code}
    if not group_id:
        return made | {"errorCode": error_code("INVALID_GROUP_ID"), "errorMessage": "The group id must not be empty."}
    group = request.groups.get(group_id)
    if not isinstance(group, ShareGroup):
        said = f"Group {group_id} is not a share group." if group is not None else f"Group {group_id} not found."
        return made | {"errorCode": error_code("GROUP_ID_NOT_FOUND"), "errorMessage": said}
    return made | {
        "errorCode": 0,
        "groupState": group.state.value,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.epoch,
        "assignorName": "simple",
        "members": [member_row(request, group, each) for each in group.members.values()],
        "authorizedOperations": allowed(request, "includeAuthorizedOperations", Resource.GROUP, group_id),
    }


def member_row(request: Request, group: ShareGroup, each: ShareMember) -> dict[str, Any]:
    rows = [
        {"topicId": topic, "topicName": request.topic_name(topic), "partitions": indexes}
        for topic, indexes in group.rows(each.assigned).items()
    ]
    return {
        "memberId": each.id,
        "rackId": each.rack,
        "memberEpoch": each.epoch,
        "clientId": each.client_id,
        "clientHost": each.client_host,
        "subscribedTopicNames": sorted(each.names),
        "assignment": {"topicPartitions": [one for one in rows if one["topicName"]]},
    }

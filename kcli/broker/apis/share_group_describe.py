"""ShareGroupDescribe v1 (KIP-932)."""

from __future__ import annotations

from typing import Any

from kcli.broker.apis.consumer_group_describe import assignment
from kcli.broker.codes import error_code
from kcli.broker.operations import allowed
from kcli.broker.request import Request
from kcli.broker.security.acls import Resource
from kcli.broker.share.group import ShareGroup, ShareMember
from kcli.records.acceptance import RefusedError


def handle(request: Request) -> dict[str, Any]:
    return {"groups": [row(request, each) for each in request.body["groupIds"]]}


def row(request: Request, group_id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"groupId": group_id, "errorMessage": None, "groupState": "", "groupEpoch": 0}
    made |= {"assignmentEpoch": 0, "assignorName": "", "members": []}
    if code := request.fault() or request.group_refusal(group_id):
        return made | {"errorCode": code}
    if not group_id:
        return made | {"errorCode": error_code("INVALID_GROUP_ID"), "errorMessage": "The group id must not be empty."}
    try:
        group = request.groups.known(group_id, ShareGroup)
    except RefusedError as error:
        return made | {"errorCode": error_code(error.error), "errorMessage": str(error)}
    return made | {
        "errorCode": 0,
        "groupState": group.state.value,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.epoch,
        "assignorName": "simple",
        "members": [member_row(request, each) for each in group.members.values()],
        "authorizedOperations": allowed(request, "includeAuthorizedOperations", Resource.GROUP, group_id),
    }


def member_row(request: Request, each: ShareMember) -> dict[str, Any]:
    return {
        "memberId": each.id,
        "rackId": each.rack,
        "memberEpoch": each.epoch,
        "clientId": each.client_id,
        "clientHost": each.client_host,
        "subscribedTopicNames": sorted(each.names),
        "assignment": assignment(request, each.assigned),
    }

"""DescribeGroups v0-v6 (KIP-345, KIP-430). An unknown group is Dead; from v6 on also GROUP_ID_NOT_FOUND (KIP-1043)."""

from typing import Any

from kcli.broker.groups.group import Group
from kcli.broker.groups.state import State
from kcli.broker.operations import allowed
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

NOT_FOUND_SINCE = 6
WITH_OPERATIONS = "includeAuthorizedOperations"


def handle(request: Request) -> dict[str, Any]:
    return {"groups": [row(request, each) for each in request.body["groups"]]}


def row(request: Request, group_id: str) -> dict[str, Any]:
    group = request.groups.classic(group_id)
    code = request.fault() or request.group_refusal(group_id)
    if group is None or code:
        missing = error_code("GROUP_ID_NOT_FOUND") if request.version >= NOT_FOUND_SINCE and not code else code
        text = f"Group {group_id} not found." if request.version >= NOT_FOUND_SINCE and not code else None
        blank: dict[str, Any] = {"protocolType": "", "protocolData": "", "members": []}
        if not missing:
            blank["authorizedOperations"] = allowed(request, WITH_OPERATIONS, Resource.GROUP, group_id)
        return {"errorCode": missing, "errorMessage": text, "groupId": group_id, "groupState": "Dead"} | blank
    return {
        "errorCode": 0,
        "errorMessage": None,
        "groupId": group.id,
        "groupState": group.state.value,
        "protocolType": group.protocol_type,
        "protocolData": (group.protocol or "") if group.state is State.STABLE else "",
        "members": member_rows(group),
        "authorizedOperations": allowed(request, WITH_OPERATIONS, Resource.GROUP, group_id),
    }


def member_rows(group: Group) -> list[dict[str, Any]]:
    stable = group.state is State.STABLE
    return [
        {
            "memberId": each.id,
            "groupInstanceId": each.instance_id,
            "clientId": each.client_id,
            "clientHost": each.client_host,
            "memberMetadata": each.metadata(group.protocol) if stable else b"",
            "memberAssignment": each.assignment if stable else b"",
        }
        for each in group.members.values()
    ]

"""DeleteGroups v0-v3 (KIP-229): groups without members are deleted together with their committed offsets."""

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    rows = [
        {"groupId": each, "errorCode": delete(request, each)} for each in dict.fromkeys(request.body["groupsNames"])
    ]
    return {"results": rows}


def delete(request: Request, group_id: str) -> int:
    if code := request.fault() or request.group_refusal(group_id):
        return code
    group = request.groups.get(group_id)
    if group is None:
        return error_code("GROUP_ID_NOT_FOUND")
    return 0 if request.groups.delete(group) else error_code("NON_EMPTY_GROUP")

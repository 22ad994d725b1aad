"""DeleteGroups v0-v3 (KIP-229): groups without members go, with what they committed."""

from __future__ import annotations

from typing import Any

from kcli.broker.calls import Call
from kcli.broker.codes import error_code


def handle(call: Call) -> dict[str, Any]:
    rows = [{"groupId": each, "errorCode": delete(call, each)} for each in call.body["groupsNames"]]
    return {"results": rows}


def delete(call: Call, group_id: str) -> int:
    if code := call.fault():
        return code
    group = call.broker.groups.get(group_id)
    if group is None:
        return error_code("GROUP_ID_NOT_FOUND")
    return 0 if call.broker.groups.delete(group) else error_code("NON_EMPTY_GROUP")

"""LeaveGroup v0-v5 (KIP-345 batches and static members from v3 on, KIP-800): members are removed at once.

Members of KIP-848's protocol can be removed, too.
"""

from typing import Any

from kcli.broker.groups.codes import INVALID_GROUP, UNKNOWN_MEMBER
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.coordinator import AnyGroup
from kcli.broker.groups.group import Group
from kcli.broker.groups.member import identity_fault
from kcli.broker.request import Request

BATCHES_SINCE = 3


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    if code := request.fault():
        return {"errorCode": code, "members": []}
    if not body["groupId"]:
        return {"errorCode": INVALID_GROUP, "members": []}
    if code := request.group_refusal(body["groupId"]):
        return {"errorCode": code, "members": []}
    group = request.groups.get(body["groupId"])
    if request.version < BATCHES_SINCE:
        return {"errorCode": leave(group, body["memberId"], None)}
    rows = []
    for each in body["members"]:
        code = leave(group, each["memberId"], each["groupInstanceId"])
        rows.append({"memberId": each["memberId"], "groupInstanceId": each["groupInstanceId"], "errorCode": code})
    return {"errorCode": 0, "members": rows}


def leave(group: AnyGroup | None, member_id: str, instance_id: str | None) -> int:
    """Remove a member; return the error code. Administrators name a static member by its instance id alone."""
    if isinstance(group, ConsumerGroup):
        member_id = member_id or group.static.get(instance_id or "", "")
        if code := identity_fault(group.members, group.static, member_id, instance_id):
            return code
        group.remove(group.members[member_id])
        return 0
    if not isinstance(group, Group):
        return UNKNOWN_MEMBER
    if member_id in group.pending:
        group.forget_pending(member_id)
        return 0
    member_id = member_id or group.static.get(instance_id or "", "")
    if code := group.check(member_id, instance_id):
        return code
    group.remove(group.members[member_id])
    return 0

"""Heartbeat v0-v4 (KIP-345): it extends a member's session; REBALANCE_IN_PROGRESS while the group rebalances."""

from typing import Any

from kcli.broker.groups.codes import UNKNOWN_MEMBER, no_group
from kcli.broker.groups.consumer.classic import beaten, fault_of
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.group import Group
from kcli.broker.request import Request


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    group = request.groups.get(body["groupId"])
    if code := request.fault() or no_group(body["groupId"]) or request.group_refusal(body["groupId"]):
        return {"errorCode": code}
    if isinstance(group, ConsumerGroup):
        code = fault_of(group, body["memberId"], body.get("groupInstanceId"), body["generationId"])
        return {"errorCode": code or beaten(group, group.members[body["memberId"]])}
    if not isinstance(group, Group):
        return {"errorCode": UNKNOWN_MEMBER}
    code = group.check(body["memberId"], body.get("groupInstanceId"), body["generationId"])
    return {"errorCode": code or group.beat(group.members[body["memberId"]])}

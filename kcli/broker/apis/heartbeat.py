"""Heartbeat v0-v4 (KIP-345): keeps a member's session, and tells it to join again while its group rebalances."""

from __future__ import annotations

from typing import Any

from kcli.broker.calls import Call
from kcli.broker.groups.group import UNKNOWN_MEMBER


def handle(call: Call) -> dict[str, Any]:
    body = call.body
    group = call.broker.groups.get(body["groupId"])
    if code := call.fault():
        return {"errorCode": code}
    if group is None:
        return {"errorCode": UNKNOWN_MEMBER}
    code = group.check(body["memberId"], body.get("groupInstanceId"), body["generationId"])
    return {"errorCode": code or group.beat(group.members[body["memberId"]])}

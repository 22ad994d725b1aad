"""SyncGroup v0-v5 (KIP-345, KIP-559): the leader sends all assignments, and each member gets its own.

From v5 on the request must have the protocol's type and name. INCONSISTENT_GROUP_PROTOCOL if it has none, or if they
differ from the group's.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

from kcli.broker.groups.codes import INCONSISTENT, INVALID_GROUP, UNKNOWN_MEMBER
from kcli.broker.groups.consumer.classic import fault_of, synced
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.group import Group
from kcli.broker.request import Request
from kcli.broker.response import Answer

NAMED_SINCE = 5


def handle(request: Request) -> Answer | Awaitable[Answer]:
    body = request.body
    if code := check_request(request) or request.group_refusal(body["groupId"]):
        return refused(code)
    group = request.groups.get(body["groupId"])
    if isinstance(group, ConsumerGroup):
        code = request.fault()
        code = code or fault_of(group, body["memberId"], body.get("groupInstanceId"), body["generationId"])
        return refused(code) if code else synced(group, group.members[body["memberId"]])
    if not isinstance(group, Group):
        return refused(request.fault() or UNKNOWN_MEMBER)
    code = request.fault() or group.check(body["memberId"], body.get("groupInstanceId"), body["generationId"])
    if code := code or check_protocol(group, body):
        return refused(code)
    brought = {each["memberId"]: each["assignment"] for each in body["assignments"]}
    return answered(group.synced(group.members[body["memberId"]], brought))


async def answered(waited: asyncio.Future[dict[str, Any]]) -> dict[str, Any]:
    return {"assignment": b""} | await waited


def refused(code: int) -> dict[str, Any]:
    return {"errorCode": code, "assignment": b""}


def check_request(request: Request) -> int:
    body = request.body
    if not body["groupId"]:
        return INVALID_GROUP
    named = body.get("protocolType") is not None and body.get("protocolName") is not None
    return 0 if named or request.version < NAMED_SINCE else INCONSISTENT


def check_protocol(group: Group, body: dict[str, Any]) -> int:
    for name, value in (("protocolType", group.protocol_type), ("protocolName", group.protocol)):
        if body.get(name) is not None and value is not None and body[name] != value:
            return INCONSISTENT
    return 0

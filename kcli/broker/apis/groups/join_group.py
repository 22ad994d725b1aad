"""JoinGroup v0-v9 (KIP-62, KIP-345 static members, KIP-394, KIP-559, KIP-800, KIP-814); the rules are in
`groups.group`.

* From v4 on a client without a member id gets one with MEMBER_ID_REQUIRED and joins again with it, unless it is static.
* v0 has no rebalance timeout, so that the session timeout is used for both.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any

from kcli.broker.apis.groups.consumer_group_heartbeat import limits_of
from kcli.broker.groups.codes import FENCED, INCONSISTENT, UNKNOWN_MEMBER
from kcli.broker.groups.consumer.classic import joined, partitions_named, subscription_of
from kcli.broker.groups.consumer.group import JOINING, Beat, ConsumerGroup
from kcli.broker.groups.consumer.member import ClassicSide
from kcli.broker.groups.group import Group
from kcli.broker.groups.member import Member, new_member_id
from kcli.broker.request import Request
from kcli.broker.response import Answer
from kcli.errors import InputError
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

ID_REQUIRED_SINCE = 4
NO_PROTOCOL_SINCE = 7


def handle(request: Request) -> Answer | Awaitable[Answer]:
    body = request.body
    if code := request.fault() or check(request) or request.group_refusal(body["groupId"]):
        return refused(request, code)
    member_id = body["memberId"]
    if member_id and request.groups.get(body["groupId"]) is None:
        return refused(request, UNKNOWN_MEMBER)
    group = request.groups.classic_to_join(body["groupId"])
    if group is None:
        consumers = request.groups.get(body["groupId"])
        return (
            join_consumers(request, consumers)
            if isinstance(consumers, ConsumerGroup)
            else refused(request, INCONSISTENT)
        )
    if not group.accepts(body["protocolType"], protocols_of(body)):
        return refused(request, INCONSISTENT)
    return answered(request, newcomer(request, group) if not member_id else known(request, group, member_id))


async def answered(request: Request, waited: asyncio.Future[dict[str, Any]] | dict[str, Any]) -> dict[str, Any]:
    reply = waited if isinstance(waited, dict) else await waited
    return {"protocolName": no_protocol(request), "leader": "", "members": [], "generationId": -1} | reply


def check(request: Request) -> int:
    body, configs = request.body, request.configs
    if not body["groupId"]:
        return error_code("INVALID_GROUP_ID")
    least, most = (configs.int(f"group.{name}.session.timeout.ms") for name in ("min", "max"))
    if not least <= body["sessionTimeoutMs"] <= most:
        return error_code("INVALID_SESSION_TIMEOUT")
    return 0


def refused(request: Request, code: int, member_id: str | None = None) -> dict[str, Any]:
    member = request.body["memberId"] if member_id is None else member_id
    nothing: dict[str, Any] = {"generationId": -1, "protocolName": no_protocol(request), "leader": "", "members": []}
    return {"errorCode": code, "memberId": member} | nothing


def no_protocol(request: Request) -> str | None:
    """Return the value of protocolName in a response without a protocol."""
    return None if request.version >= NO_PROTOCOL_SINCE else ""


def protocols_of(body: dict[str, Any]) -> list[tuple[str, bytes]]:
    return [(each["name"], each["metadata"]) for each in body["protocols"]]


def newcomer(request: Request, group: Group) -> asyncio.Future[dict[str, Any]] | dict[str, Any]:
    """Join a client without a member id; return the response or its future."""
    body = request.body
    instance_id = body.get("groupInstanceId")
    if instance_id is not None:
        member = make_member(request, new_member_id(instance_id))
        former = group.members.get(group.static.get(instance_id, ""))
        return group.replace(former, member) if former is not None else group.enter(member, body["protocolType"])
    if request.version >= ID_REQUIRED_SINCE:
        member_id = group.expect(request.client_id, body["sessionTimeoutMs"] / 1000)
        return refused(request, error_code("MEMBER_ID_REQUIRED"), member_id)
    return group.enter(make_member(request, new_member_id(request.client_id)), body["protocolType"])


def known(request: Request, group: Group, member_id: str) -> asyncio.Future[dict[str, Any]] | dict[str, Any]:
    """Join a client with a member id; return the response or its future."""
    if member_id in group.pending:
        return group.enter(make_member(request, member_id), request.body["protocolType"])
    if code := group.check(member_id, request.body.get("groupInstanceId")):
        return refused(request, code)
    member = group.members[member_id]
    set_timeouts(member, request.body)
    return group.rejoin(member, protocols_of(request.body))


def join_consumers(request: Request, group: ConsumerGroup) -> dict[str, Any]:
    """Join a client of the classic protocol to a group of KIP-848's."""
    body, protocols = request.body, protocols_of(request.body)
    member_id, instance_id = body["memberId"], body.get("groupInstanceId")
    static = group.static.get(instance_id or "", "")
    try:
        subscription = subscription_of(protocols)
    except InputError:
        return refused(request, INCONSISTENT)
    if not group.accepts(body["protocolType"], protocols):
        return refused(request, INCONSISTENT)
    if not member_id and instance_id is None and request.version >= ID_REQUIRED_SINCE:
        return refused(request, error_code("MEMBER_ID_REQUIRED"), new_member_id(request.client_id))
    if member_id and static and static != member_id:
        return refused(request, FENCED)
    session, rebalance = timeouts(body)
    beat = Beat(
        member_id or new_member_id(instance_id or request.client_id),
        JOINING,
        instance_id,
        subscription.get("rackId"),
        (request.client_id, f"/{request.client.host}"),
        rebalance,
        tuple(subscription["topics"]),
        owned=partitions_named(subscription.get("ownedPartitions", ()), request.topics),
        classic=ClassicSide(session, protocols),
    )
    try:
        member, _ = group.beat(beat, limits_of(request), lambda name: not request.denial(Resource.TOPIC, name))
    except RefusedError as error:
        return refused(request, error_code(error.error))
    return joined(member)


def make_member(request: Request, member_id: str) -> Member:
    member = Member(member_id, request.body.get("groupInstanceId"), (request.client_id, f"/{request.client.host}"))
    member.version = request.version
    member.protocols = protocols_of(request.body)
    set_timeouts(member, request.body)
    return member


def set_timeouts(member: Member, body: dict[str, Any]) -> None:
    member.session_timeout, member.rebalance_timeout = timeouts(body)


def timeouts(body: dict[str, Any]) -> tuple[float, float]:
    """Return the session timeout and the rebalance timeout in seconds."""
    rebalance = body.get("rebalanceTimeoutMs", -1)
    return body["sessionTimeoutMs"] / 1000, (rebalance if rebalance >= 0 else body["sessionTimeoutMs"]) / 1000

"""ShareGroupHeartbeat v1 (KIP-932); the rules are in `share.group`."""

from __future__ import annotations

from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.partition import by_topic
from kcli.broker.request import Request
from kcli.broker.security.acls import Resource
from kcli.broker.share.group import JOINING, LEFT, ShareBeat
from kcli.records.acceptance import RefusedError


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    if code := request.fault() or request.group_refusal(body["groupId"]):
        return refused(code, None)
    try:
        check(body)
        return beat(request)
    except RefusedError as refusal:
        return refused(error_code(refusal.error), str(refusal))


def refused(code: int, said: str | None) -> dict[str, Any]:
    return {"errorCode": code, "errorMessage": said, "memberEpoch": 0, "heartbeatIntervalMs": 0, "assignment": None}


def check(body: dict[str, Any]) -> None:
    """Refuse a request that contradicts itself. RefusedError."""
    epoch = body["memberEpoch"]
    faults = (
        (not body["groupId"].strip(), "GroupId can't be empty."),
        (not body["memberId"].strip(), "MemberId can't be empty."),
        (body["rackId"] == "", "RackId can't be empty."),
        (epoch == JOINING and not body["subscribedTopicNames"], "SubscribedTopicNames must be set in first request."),
        (epoch < LEFT, f"MemberEpoch is {epoch}, but must be greater than or equal to -1."),
    )
    for wrong, said in faults:
        if wrong:
            raise RefusedError("INVALID_REQUEST", said)


def beat(request: Request) -> dict[str, Any]:
    """Take the heartbeat. RefusedError."""
    body = request.body
    member_id, epoch, names = body["memberId"], body["memberEpoch"], body["subscribedTopicNames"]
    group = request.groups.share_group(body["groupId"], joins=epoch == JOINING)
    if epoch == LEFT:
        group.leave(member_id)
        return refused(0, None) | {"memberId": member_id, "memberEpoch": LEFT}
    denied = [name for name in names or () if request.denial(Resource.TOPIC, name)]
    if denied:
        raise RefusedError("TOPIC_AUTHORIZATION_FAILED", f"Not authorized to describe {', '.join(denied[:5])}")
    given = ShareBeat(
        member_id,
        epoch,
        body["rackId"],
        None if names is None else tuple(names),
        (request.client_id, f"/{request.client.host}"),
        request.configs.int("group.share.max.size"),
        request.controller.group_number(group.id, "share.session.timeout.ms") / 1000,
    )
    member, tells = group.beat(given)
    rows = [{"topicId": topic, "partitions": indexes} for topic, indexes in by_topic(member.assigned).items()]
    return {
        "errorCode": 0,
        "errorMessage": None,
        "memberId": member.id,
        "memberEpoch": member.epoch,
        "heartbeatIntervalMs": request.controller.group_number(group.id, "share.heartbeat.interval.ms"),
        "assignment": {"topicPartitions": rows} if tells else None,
    }

"""ShareGroupHeartbeat v1 (KIP-932); the rules are in `share.group`."""

from typing import Any

from kcli.broker.member_requests import answer, check_topics, farewell, heartbeat, refuse_first
from kcli.broker.request import Request
from kcli.broker.share.group import JOINING, LEFT, LONGEST_MEMBER, ShareBeat


def handle(request: Request) -> dict[str, Any]:
    return heartbeat(request, beat)


def check(body: dict[str, Any]) -> None:
    """Refuse a request that contradicts itself. Raises RefusedError."""
    epoch = body["memberEpoch"]
    refuse_first((
        (not body["groupId"].strip(), "GroupId can't be empty."),
        (not body["memberId"].strip(), "MemberId can't be empty."),
        (len(body["memberId"]) > LONGEST_MEMBER, f"MemberId has more than {LONGEST_MEMBER} characters."),
        (body["rackId"] == "", "RackId can't be empty."),
        (epoch == JOINING and not body["subscribedTopicNames"], "SubscribedTopicNames must be set in first request."),
        (epoch < LEFT, f"MemberEpoch is {epoch}, but must be greater than or equal to -1."),
    ))  # fmt: skip


def beat(request: Request) -> dict[str, Any]:
    """Process the heartbeat and return the response. Raises RefusedError."""
    body = request.body
    check(body)
    member_id, epoch, names = body["memberId"], body["memberEpoch"], body["subscribedTopicNames"]
    group = request.groups.share_group(body["groupId"], joins=epoch == JOINING)
    if epoch == LEFT:
        group.leave(member_id)
        return farewell(member_id, LEFT)
    check_topics(request)
    received = ShareBeat(
        member_id,
        epoch,
        body["rackId"],
        None if names is None else tuple(names),
        (request.client_id, f"/{request.client.host}"),
        request.configs.int("group.share.max.size"),
        request.controller.group_number(group.id, "share.session.timeout.ms") / 1000,
    )
    return answer(request, group, *group.beat(received))

"""ConsumerGroupHeartbeat v0-v1 (KIP-848); the rules are in `groups.consumer.group`.

In v0 the broker chooses a new member's id; from v1 on the client does, and may subscribe by a regular expression (RE2).
A member may join a classic group if group.consumer.migration.policy allows the upgrade; else GROUP_ID_NOT_FOUND.
"""

import base64
import secrets
from typing import Any

from kcli.broker.groups.consumer.assignors import ASSIGNORS
from kcli.broker.groups.consumer.group import JOINING, Beat, GroupLimits
from kcli.broker.groups.consumer.member import LEFT_FOR_NOW
from kcli.broker.member_requests import answer, check_topics, farewell, heartbeat, refuse_first, refused
from kcli.broker.patterns import regular
from kcli.broker.request import Request
from kcli.errors import InputError, UsageError
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

LEFT, IDS_SINCE = -1, 1
NOT_ASKED = -1


def handle(request: Request) -> dict[str, Any]:
    try:
        return heartbeat(request, beat)
    except InputError as error:
        return refused(error_code("INVALID_REGULAR_EXPRESSION"), str(error))
    except UsageError as error:
        request.services.mention(str(error))
        return refused(error_code("UNKNOWN_SERVER_ERROR"), str(error))


def beat(request: Request) -> dict[str, Any]:
    """Process the heartbeat and return the response. Raises RefusedError."""
    check(request)
    received = beat_of(request)
    group = request.groups.consumer_group(request.body["groupId"], joins=received.epoch == JOINING)
    limits = limits_of(request)
    if received.epoch in (LEFT, LEFT_FOR_NOW):
        group.leave(received, limits)
        return farewell(received.member_id, received.epoch)
    check_topics(request)
    member, has_assignment = group.beat(received, limits, lambda name: not request.denial(Resource.TOPIC, name))
    return answer(request, group, member, has_assignment)


def beat_of(request: Request) -> Beat:
    body = request.body
    owned, timeout = body["topicPartitions"], body["rebalanceTimeoutMs"]
    return Beat(
        body["memberId"] or new_id(),
        body["memberEpoch"],
        body["instanceId"],
        body["rackId"],
        (request.client_id, f"/{request.client.host}"),
        None if timeout == NOT_ASKED else max(timeout, 0) / 1000,
        None if body["subscribedTopicNames"] is None else tuple(body["subscribedTopicNames"]),
        body.get("subscribedTopicRegex"),
        body["serverAssignor"],
        None
        if owned is None
        else frozenset((each["topicId"], index) for each in owned for index in each["partitions"]),
    )


def new_id() -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")


def limits_of(request: Request) -> GroupLimits:
    """Return the limits of a group by the broker's configs and its own."""
    configs = request.configs
    first = configs.text("group.consumer.assignors").split(",")[0].strip()
    most = configs.int("group.consumer.max.size")
    session = request.controller.group_number(request.body["groupId"], "consumer.session.timeout.ms")
    return GroupLimits(session / 1000, most, first)


def check(request: Request) -> None:
    """Refuse a request that contradicts itself (throwIfConsumerGroupHeartbeatRequestIsInvalid). Raises RefusedError,
    and for a wrong pattern InputError.
    """
    body = request.body
    epoch, joins = body["memberEpoch"], body["memberEpoch"] == JOINING
    names = body["subscribedTopicNames"] is not None or body.get("subscribedTopicRegex") is not None
    refuse_first((
        (not body["groupId"].strip(), "GroupId can't be empty."),
        (not body["memberId"].strip() and not (joins and request.version < IDS_SINCE), "MemberId can't be empty."),
        (body["instanceId"] == "", "InstanceId can't be empty."),
        (body["rackId"] == "", "RackId can't be empty."),
        (joins and body["rebalanceTimeoutMs"] == NOT_ASKED, "RebalanceTimeoutMs must be provided in first request."),
        (joins and body["topicPartitions"] != [], "TopicPartitions must be empty when (re-)joining."),
        (
            joins and not names,
            "SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        (epoch == LEFT_FOR_NOW and body["instanceId"] is None, "InstanceId can't be null."),
        (epoch < LEFT_FOR_NOW, f"MemberEpoch is {epoch}, but must be greater than or equal to -2."),
    ))  # fmt: skip
    assignor = body["serverAssignor"]
    served = [each.strip() for each in request.configs.text("group.consumer.assignors").split(",")]
    if joins and (pattern := body.get("subscribedTopicRegex")):
        regular(pattern)  # before a group is made for it
    if assignor is not None and (assignor not in served or assignor not in ASSIGNORS):
        message = f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(served)}."
        raise RefusedError("UNSUPPORTED_ASSIGNOR", message)

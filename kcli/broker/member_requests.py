"""The common part of the APIs of consumer groups (KIP-848) and share groups (KIP-932): describe and heartbeat."""

from collections.abc import Callable, Iterable
from typing import Any

from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.consumer.member import ConsumerMember
from kcli.broker.operations import allowed
from kcli.broker.partition import Key, by_topic
from kcli.broker.request import Request
from kcli.broker.share.group import ShareGroup, ShareMember
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

# --- describing


def describe(
    request: Request, kind: type[ConsumerGroup | ShareGroup], describe_fields: Callable[[Request, Any], dict[str, Any]]
) -> dict[str, Any]:
    """Return the response that describes groups of a kind. describe_fields: returns the fields of a group that only
    this kind has, or raises RefusedError.
    """
    return {"groups": [described(request, each, kind, describe_fields) for each in request.body["groupIds"]]}


def described(
    request: Request, group_id: str, kind: Any, describe_fields: Callable[[Request, Any], dict[str, Any]]
) -> Any:
    made: dict[str, Any] = {"groupId": group_id, "errorMessage": None, "groupState": "", "groupEpoch": 0}
    made |= {"assignmentEpoch": 0, "assignorName": "", "members": []}
    if code := request.fault() or request.group_refusal(group_id):
        return made | {"errorCode": code}
    try:
        if not group_id:
            raise RefusedError("INVALID_GROUP_ID", "The group id must not be empty.")
        group = request.groups.known(group_id, kind)
        own_fields = describe_fields(request, group)
    except RefusedError as error:
        return made | {"errorCode": error_code(error.error), "errorMessage": str(error)}
    operations = allowed(request, "includeAuthorizedOperations", Resource.GROUP, group_id)
    state = {"errorCode": 0, "groupState": group.state.value, "groupEpoch": group.epoch}
    return made | state | own_fields | {"authorizedOperations": operations}


def member_row(request: Request, each: ConsumerMember | ShareMember) -> dict[str, Any]:
    """Return the fields of a member that both kinds of groups have."""
    return {
        "memberId": each.id,
        "rackId": each.rack,
        "memberEpoch": each.epoch,
        "clientId": each.client_id,
        "clientHost": each.client_host,
        "assignment": assignment(request, each.assigned),
    }


def assignment(request: Request, partitions: Iterable[Key]) -> dict[str, Any]:
    """Make the row of an assignment; deleted topics are left out."""
    rows = [
        {"topicId": topic, "topicName": request.topic_name(topic), "partitions": indexes}
        for topic, indexes in by_topic(partitions).items()
    ]
    return {"topicPartitions": [each for each in rows if each["topicName"]]}


# --- heartbeats


def heartbeat(request: Request, beat: Callable[[Request], dict[str, Any]]) -> dict[str, Any]:
    """Return the response to a heartbeat. beat: processes it and returns the response, or raises RefusedError."""
    if code := request.fault() or request.group_refusal(request.body["groupId"]):
        return refused(code)
    try:
        return beat(request)
    except RefusedError as refusal:
        return refused(error_code(refusal.error), str(refusal))


def refused(code: int, message: str | None = None) -> dict[str, Any]:
    """Make a heartbeat response with an error, without an assignment."""
    return {"errorCode": code, "errorMessage": message, "memberEpoch": 0, "heartbeatIntervalMs": 0, "assignment": None}


def farewell(member_id: str, epoch: int) -> dict[str, Any]:
    """Make the heartbeat response for a member that leaves."""
    return refused(0) | {"memberId": member_id, "memberEpoch": epoch}


def refuse_first(faults: Iterable[tuple[bool, str]]) -> None:
    """Refuse a request for the first of these (condition, message) pairs that is true. Raises RefusedError."""
    for wrong, message in faults:
        if wrong:
            raise RefusedError("INVALID_REQUEST", message)


def check_topics(request: Request) -> None:
    """Refuse a subscription to topics that the client may not describe. Raises RefusedError."""
    names = request.body["subscribedTopicNames"] or ()
    if denied := [name for name in names if request.denial(Resource.TOPIC, name)]:
        raise RefusedError("TOPIC_AUTHORIZATION_FAILED", f"Not authorized to describe {', '.join(denied[:5])}")


def answer(request: Request, group: Any, member: ConsumerMember | ShareMember, has_assignment: bool) -> dict[str, Any]:
    """Make the heartbeat response for a member. has_assignment: with its assignment."""
    rows = [{"topicId": topic, "partitions": indexes} for topic, indexes in by_topic(member.assigned).items()]
    return {
        "errorCode": 0,
        "errorMessage": None,
        "memberId": member.id,
        "memberEpoch": member.epoch,
        "heartbeatIntervalMs": request.controller.group_number(group.id, f"{group.type}.heartbeat.interval.ms"),
        "assignment": {"topicPartitions": rows} if has_assignment else None,
    }

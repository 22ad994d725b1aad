"""ConsumerGroupDescribe v0-v1 (KIP-848; the type of members from v1 on): groups of the new protocol alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.consumer.member import NOTHING, ConsumerMember
from kcli.broker.operations import allowed
from kcli.broker.partition import Key, by_topic
from kcli.broker.request import Request
from kcli.broker.security.acls import Resource
from kcli.records.acceptance import RefusedError

CLASSIC, OF_CONSUMERS = 0, 1  # a member's type: which protocol it speaks


def handle(request: Request) -> dict[str, Any]:
    return {"groups": [row(request, each) for each in request.body["groupIds"]]}


def row(request: Request, group_id: str) -> dict[str, Any]:
    made: dict[str, Any] = {"groupId": group_id, "errorMessage": None, "groupState": "", "groupEpoch": 0}
    made |= {"assignmentEpoch": 0, "assignorName": "", "members": []}
    if code := request.fault() or request.group_refusal(group_id):
        return made | {"errorCode": code}
    if not group_id:
        return made | {"errorCode": error_code("INVALID_GROUP_ID"), "errorMessage": "The group id must not be empty."}
    try:
        group = request.groups.known(group_id, ConsumerGroup)
    except RefusedError as error:
        return made | {"errorCode": error_code(error.error), "errorMessage": str(error)}
    if any(request.denial(Resource.TOPIC, name) for each in group.members.values() for name in each.topics):
        said = "The group has described topic(s) that the client is not authorized to describe."
        return made | {"errorCode": error_code("TOPIC_AUTHORIZATION_FAILED"), "errorMessage": said}
    return made | {
        "errorCode": 0,
        "groupState": group.state.value,
        "groupEpoch": group.epoch,
        "assignmentEpoch": group.target_epoch,
        "assignorName": group.assignor,
        "members": [member_row(request, group, each) for each in group.members.values()],
        "authorizedOperations": allowed(request, "includeAuthorizedOperations", Resource.GROUP, group_id),
    }


def member_row(request: Request, group: ConsumerGroup, each: ConsumerMember) -> dict[str, Any]:
    return {
        "memberId": each.id,
        "instanceId": each.instance_id,
        "rackId": each.rack,
        "memberEpoch": each.epoch,
        "clientId": each.client_id,
        "clientHost": each.client_host,
        "subscribedTopicNames": sorted(each.subscription.names),
        "subscribedTopicRegex": each.subscription.pattern or None,
        "assignment": assignment(request, each.assigned),
        "targetAssignment": assignment(request, group.target.get(each.id, NOTHING)),
        "memberType": OF_CONSUMERS if each.classic is None else CLASSIC,
    }


def assignment(request: Request, partitions: Iterable[Key]) -> dict[str, Any]:
    """Make the row of partitions by topic id; topics that are gone are left out."""
    rows = [
        {"topicId": topic, "topicName": request.topic_name(topic), "partitions": indexes}
        for topic, indexes in by_topic(partitions).items()
    ]
    return {"topicPartitions": [each for each in rows if each["topicName"]]}

"""ConsumerGroupDescribe v0-v1 (KIP-848; the type of members from v1 on): only groups of KIP-848's protocol."""

from typing import Any

from kcli.broker.groups.consumer.group import ConsumerGroup
from kcli.broker.groups.consumer.member import NOTHING, ConsumerMember
from kcli.broker.member_requests import assignment, describe, member_row
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError
from kcli.schemas.acl_codes import Resource

CLASSIC, OF_CONSUMERS = 0, 1  # memberType: the protocol of a member


def handle(request: Request) -> dict[str, Any]:
    return describe(request, ConsumerGroup, describe_fields)


def describe_fields(request: Request, group: ConsumerGroup) -> dict[str, Any]:
    if any(request.denial(Resource.TOPIC, name) for each in group.members.values() for name in each.topics):
        message = "The group has described topic(s) that the client is not authorized to describe."
        raise RefusedError("TOPIC_AUTHORIZATION_FAILED", message)
    return {
        "assignmentEpoch": group.target_epoch,
        "assignorName": group.assignor,
        "members": [consumer_row(request, group, each) for each in group.members.values()],
    }


def consumer_row(request: Request, group: ConsumerGroup, each: ConsumerMember) -> dict[str, Any]:
    return member_row(request, each) | {
        "instanceId": each.instance_id,
        "subscribedTopicNames": sorted(each.subscription.names),
        "subscribedTopicRegex": each.subscription.pattern or None,
        "targetAssignment": assignment(request, group.target.get(each.id, NOTHING)),
        "memberType": OF_CONSUMERS if each.classic is None else CLASSIC,
    }

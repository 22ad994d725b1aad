"""ShareGroupDescribe v1 (KIP-932)."""

from typing import Any

from kcli.broker.member_requests import describe, member_row
from kcli.broker.request import Request
from kcli.broker.share.group import ShareGroup


def handle(request: Request) -> dict[str, Any]:
    return describe(request, ShareGroup, describe_fields)


def describe_fields(request: Request, group: ShareGroup) -> dict[str, Any]:
    members = group.members.values()
    return {
        "assignmentEpoch": group.epoch,
        "assignorName": "simple",
        "members": [member_row(request, each) | {"subscribedTopicNames": sorted(each.topics)} for each in members],
    }

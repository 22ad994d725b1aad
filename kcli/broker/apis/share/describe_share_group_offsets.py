"""DescribeShareGroupOffsets v0-v1 (KIP-932, KIP-1226 lags): a share group's start offset and lag for each partition.

Null topics mean all that the group shares. The start offset for an unknown group, topic or partition is -1.
"""

from collections.abc import Mapping
from typing import Any

from kcli.broker.partition import by_topic
from kcli.broker.request import Request
from kcli.broker.share.group import ShareGroup
from kcli.schemas.acl_codes import Resource


def handle(request: Request) -> dict[str, Any]:
    return {"groups": [{"groupId": each["groupId"]} | row(request, each) for each in request.body["groups"]]}


def row(request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if code := request.fault() or request.group_refusal(wanted["groupId"]):
        return {"topics": [], "errorCode": code, "errorMessage": None}
    found = request.groups.get(wanted["groupId"])
    group = found if isinstance(found, ShareGroup) else None
    topics = wanted["topics"]
    if topics is None:
        shared = group.partitions if group is not None else ()
        by_name = by_topic(sorted((request.topic_name(topic), index) for topic, index in shared))
        topics = [{"topicName": name, "partitions": indexes} for name, indexes in by_name.items()]
        topics = [each for each in topics if not request.denial(Resource.TOPIC, each["topicName"])]
    return {"topics": [topic_row(request, group, each) for each in topics], "errorCode": 0, "errorMessage": None}


def topic_row(request: Request, group: ShareGroup | None, wanted: Mapping[str, Any]) -> dict[str, Any]:
    topic = request.topics.by_name.get(wanted["topicName"])
    code = request.denial(Resource.TOPIC, wanted["topicName"])
    rows = []
    for index in wanted["partitions"]:
        partition = topic.partition(index) if topic is not None and not code else None
        share = group.partitions.get(partition.keys[1]) if group is not None and partition is not None else None
        made = {"partitionIndex": index, "startOffset": -1, "leaderEpoch": 0, "lag": -1}
        if share is not None and partition is not None:
            done = sum(1 for each in share.records.values() if each.is_done)
            made |= {"startOffset": share.start, "lag": max(0, partition.end_offset - share.start - done)}
        rows.append(made | {"errorCode": code, "errorMessage": None})
    named = {"topicName": wanted["topicName"]} | ({"topicId": topic.id} if topic is not None else {})
    return named | {"partitions": rows}

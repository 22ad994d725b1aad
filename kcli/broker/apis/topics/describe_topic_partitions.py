"""DescribeTopicPartitions v0 (KIP-966): topics in alphabetical order, up to a limit of partitions per response."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from kcli.broker.apis.topics.metadata import partition_row
from kcli.broker.operations import allowed
from kcli.broker.partition import Topic
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code
from kcli.topic_names import name_fault

MOST = 2000


def handle(request: Request) -> dict[str, Any]:
    body = request.body
    named = {each["name"] for each in body["topics"]}
    names = sorted(named or (each for each in request.topics.by_name if not request.denial(Resource.TOPIC, each)))
    if body["cursor"] is not None and not fits(body["cursor"], named):
        refusal: dict[str, Any] = {"errorCode": error_code("INVALID_REQUEST"), "partitions": []}
        return {"topics": [refusal | {"name": each["name"]} for each in body["topics"]], "nextCursor": None}
    left = max(1, min(body["responsePartitionLimit"], MOST))
    cursor = body["cursor"] or {"topicName": "", "partitionIndex": 0}
    rows: list[dict[str, Any]] = []
    for name in (each for each in names if each >= cursor["topicName"]):
        start = cursor["partitionIndex"] if name == cursor["topicName"] else 0
        if left <= 0:
            return {"topics": rows, "nextCursor": {"topicName": name, "partitionIndex": 0}}
        row = topic_row(request, name, start, left)
        rows.append(row)
        left -= len(row["partitions"])
        topic = request.topics.by_name.get(name)
        reached = start + len(row["partitions"])
        if topic is not None and not row["errorCode"] and reached < len(topic.partitions):
            return {"topics": rows, "nextCursor": {"topicName": name, "partitionIndex": reached}}
    return {"topics": rows, "nextCursor": None}


def fits(cursor: Mapping[str, Any], named: Collection[str]) -> bool:
    """Return whether a cursor has a partition, and names one of the topics, if the request names any."""
    return cursor["partitionIndex"] >= 0 and (not named or cursor["topicName"] in named)


def topic_row(request: Request, name: str, start: int, most: int) -> dict[str, Any]:
    topic = request.topics.by_name.get(name)
    error = "INVALID_TOPIC_EXCEPTION" if name_fault(name) else "UNKNOWN_TOPIC_OR_PARTITION"
    code = request.fault(name) or (error_code(error) if topic is None else 0)
    row = {"errorCode": code, "name": name, "topicAuthorizedOperations": allowed(request, "", Resource.TOPIC, name)}
    if code or topic is None:
        return row | {"partitions": []}
    parts = list(partition_rows(request, topic, start, most))
    return row | {"topicId": topic.id, "isInternal": topic.internal, "partitions": parts}


def partition_rows(request: Request, topic: Topic, start: int, most: int) -> Iterator[dict[str, Any]]:
    for each in topic.partitions[start : start + most]:
        yield partition_row(request, each) | {"eligibleLeaderReplicas": list(each.elr), "lastKnownElr": []}

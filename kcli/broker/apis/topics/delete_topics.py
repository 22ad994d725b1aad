"""DeleteTopics v0-v6 (from v6 on also by topic id): topics are deleted at once with their files, unless
delete.topic.enable is false.
"""

from collections.abc import Iterator
from typing import Any

from kcli.broker.partition import NOT_HOSTED
from kcli.broker.request import Request
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.errors import error_code

STATES_SINCE = 6
DISABLED_SINCE = 3


def handle(request: Request) -> dict[str, Any]:
    return {"responses": [delete(request, name, topic_id) for name, topic_id in wanted(request)]}


def wanted(request: Request) -> Iterator[tuple[str | None, str]]:
    if request.version >= STATES_SINCE:
        for each in request.body["topics"]:
            yield each["name"], each["topicId"]
    else:
        for name in request.body["topicNames"]:
            yield name, ZERO_UUID


def delete(request: Request, name: str | None, topic_id: str) -> dict[str, Any]:
    topics = request.topics
    topic = topics.by_name.get(name) if name is not None else topics.by_id.get(topic_id)
    row = {"name": name, "topicId": topic_id, "errorCode": 0, "errorMessage": None}
    if code := request.fault(topic.name if topic is not None else name or ""):
        return row | {"errorCode": code}
    if topic is None:
        if name is not None:
            return row | {"errorCode": error_code("UNKNOWN_TOPIC_OR_PARTITION"), "errorMessage": NOT_HOSTED}
        message = "This server does not host this topic ID."
        return row | {"errorCode": error_code("UNKNOWN_TOPIC_ID"), "errorMessage": message}
    if not request.configs.bool("delete.topic.enable"):
        refused = "TOPIC_DELETION_DISABLED" if request.version >= DISABLED_SINCE else "INVALID_REQUEST"
        return row | {"errorCode": error_code(refused), "errorMessage": "delete.topic.enable is false"}
    request.controller.delete_topic(topic)
    return row | {"name": topic.name, "topicId": topic.id}

"""DeleteTopics v0-v6 (from v6 on also by topic id): topics are deleted at once with their files, unless
delete.topic.enable is false.
"""

from collections import Counter
from typing import Any

from kcli.broker.partition import NOT_HOSTED
from kcli.broker.request import Request
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.errors import error_code

STATES_SINCE = 6
DISABLED_SINCE = 3
NEITHER = "Neither topic name nor id were specified."


def handle(request: Request) -> dict[str, Any]:
    named = Counter(wanted(request))  # a topic that is named twice gets one row
    return {"responses": [delete(request, *each, count) for each, count in named.items()]}


def wanted(request: Request) -> list[tuple[str | None, str]]:
    if request.version >= STATES_SINCE:
        return [(each["name"], each["topicId"]) for each in request.body["topics"]]
    return [(name, ZERO_UUID) for name in request.body["topicNames"]]


def contradiction(name: str | None, topic_id: str, count: int) -> str | None:
    """Return why the way in which a request names a topic is refused, so many times; None if it is not."""
    if (name is None) == (topic_id == ZERO_UUID):
        return "You may not specify both topic name and topic id." if name is not None else NEITHER
    return f"Duplicate topic {'id' if name is None else 'name'}." if count > 1 else None


def delete(request: Request, name: str | None, topic_id: str, count: int) -> dict[str, Any]:
    topics = request.topics
    topic = topics.by_name.get(name) if name is not None else topics.by_id.get(topic_id)
    row = {"name": name, "topicId": topic_id, "errorCode": 0, "errorMessage": None}
    if message := contradiction(name, topic_id, count):
        return row | {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": message}
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

"""Rows of `group_calls` and `commits`."""

from collections.abc import Iterable
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from kcli.grammar.group_data import open_data
from kcli.pipeline.rows.single_rows import SingleRows, is_answered, response_of
from kcli.schemas.errors import error_name

LeadingValues = tuple[Any, ...]  # of LEADING_COLUMNS


def put_member_call(rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
    """Put a JoinGroup, SyncGroup, Heartbeat, or a heartbeat of KIP-848, of a share group or of a streams group."""
    request, response = item.request or {}, response_of(item)
    member_id = request.get("memberId") or response.get("memberId")
    generation = first_of(request, "generationId", "memberEpoch")
    rows.say("group_calls", (
        *leading, completed(item), item.bodies.name(item.api_key), request.get("groupId"), member_id,
        request.get("groupInstanceId") or request.get("instanceId"), generation,
        first_of(response, "generationId", "memberEpoch"), error_of(response), request.get("reason"),
        protocols_of(request), request.get("sessionTimeoutMs"), first_of(request, "rebalanceTimeoutMs"),
        assignment_of(item), is_answered(item),
    ))  # fmt: skip


def put_leave(rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
    """Put a LeaveGroup, one row for each member that leaves."""
    request, response = item.request or {}, response_of(item)
    refused = {each.get("memberId"): each for each in response.get("members") or ()}
    for each in request.get("members") or [request]:
        error = error_of(response) or error_of(refused.get(each.get("memberId"), {}))
        rows.say("group_calls", (
            *leading, completed(item), "LEAVE_GROUP", request.get("groupId"), each.get("memberId"),
            each.get("groupInstanceId"), None, None, error, each.get("reason"), None, None, None, None,
            is_answered(item),
        ))  # fmt: skip


def put_commit(rows: SingleRows, item: Exchange, leading: LeadingValues) -> None:
    """Put an OffsetCommit: once as a call of the member, and once for each partition with the place of its offset."""
    request, response = item.request or {}, response_of(item)
    errors = {
        (topic.get("name") or topic.get("topicId"), each["partitionIndex"]): error_of(each)
        for topic in response.get("topics") or ()
        for each in topic["partitions"]
    }
    found = [error for error in errors.values() if error]
    rows.say("group_calls", (
        *leading, completed(item), item.bodies.name(item.api_key), request.get("groupId"),
        request.get("memberId") or None, request.get("groupInstanceId"),
        first_of(request, "generationIdOrMemberEpoch", "generationId"), None, found[0] if found else None, None, None,
        None, None, None, is_answered(item),
    ))  # fmt: skip
    partitions = [(topic, each) for topic in request.get("topics") or () for each in topic["partitions"]]
    for place, (topic, each) in enumerate(partitions, 1):
        name, topic_id = topic.get("name") or None, topic.get("topicId")
        rows.say("commits", (
            *leading, completed(item), request.get("groupId"), request.get("memberId") or None, name, topic_id,
            each["partitionIndex"], place, errors.get((name or topic_id, each["partitionIndex"])),
        ))  # fmt: skip
    rows.sayings.add_offsets(each["committedOffset"] for _, each in partitions)


def assignment_of(item: Exchange) -> list[str] | None:
    """Return the partitions that a response assigns to a member of a consumer group; None if it assigns none."""
    tasks = (item.response or {}).get("activeTasks")
    if tasks is not None:  # of a streams group
        return partitions_of(tasks, "subtopologyId")
    assignment = (item.response or {}).get("assignment")
    if isinstance(assignment, dict):  # of a heartbeat (KIP-848)
        return partitions_of(assignment.get("topicPartitions") or (), "topicId")
    if not assignment or (item.response or {}).get("protocolType") not in (None, "consumer"):
        return None
    try:
        codec, start, _ = open_data("ConsumerProtocolAssignment", bytes(assignment), item.bodies.dialect)
        return partitions_of(codec.read(bytes(assignment), start)[0]["assignedPartitions"], "topic")
    except InputError:
        return None


def partitions_of(topics: Iterable[dict[str, Any]], name: str) -> list[str]:
    """Return "topic-partition" for the partitions of topics, in order. name: the field with a topic's name or id."""
    return sorted(f"{topic.get(name)}-{index}" for topic in topics for index in topic["partitions"])


def completed(item: Exchange) -> int:
    """Return the time (ns) at which an exchange was complete."""
    return item.response_ns or item.request_ns


def error_of(answer: dict[str, Any]) -> str | None:
    """Return the name of a response's error; None if it has none."""
    code = answer.get("errorCode")
    return error_name(code) if code else None


def first_of(message: dict[str, Any], *names: str) -> Any:
    """Return the first of these fields that the message has."""
    return next((message[name] for name in names if name in message), None)


def protocols_of(request: dict[str, Any]) -> str | None:
    """Return the protocol type and the names of the assignors of a JoinGroup."""
    if "protocols" not in request:
        return None
    return f"{request.get('protocolType')}: {', '.join(str(each['name']) for each in request['protocols'])}"

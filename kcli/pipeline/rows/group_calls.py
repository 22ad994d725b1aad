"""Rows of `group_calls` and `commits`."""

from collections.abc import Iterable
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from kcli.grammar.group_data import open_data
from kcli.pipeline.rows.single_rows import SingleRows, is_answered, response_of
from kcli.schemas.errors import error_name

Who = tuple[Any, ...]


def put_member_call(rows: SingleRows, item: Exchange, who: Who) -> None:
    """Put a JoinGroup, SyncGroup, Heartbeat, or a heartbeat of KIP-848, of a share group or of a streams group."""
    asked, answered = item.request or {}, response_of(item)
    members = [asked.get("memberId") or answered.get("memberId")]
    generation = first_of(asked, "generationId", "memberEpoch")
    rows.say("group_calls", (
        *who, completed(item), item.bodies.name(item.api_key), asked.get("groupId"), *members,
        asked.get("groupInstanceId") or asked.get("instanceId"), generation,
        first_of(answered, "generationId", "memberEpoch"), error_of(answered), asked.get("reason"),
        protocols_of(asked), asked.get("sessionTimeoutMs"), first_of(asked, "rebalanceTimeoutMs"),
        assignment_of(item), is_answered(item),
    ))  # fmt: skip


def put_leave(rows: SingleRows, item: Exchange, who: Who) -> None:
    """Put a LeaveGroup, one row for each member that leaves."""
    asked, answered = item.request or {}, response_of(item)
    refused = {each.get("memberId"): each for each in answered.get("members") or ()}
    for each in asked.get("members") or [asked]:
        error = error_of(answered) or error_of(refused.get(each.get("memberId"), {}))
        rows.say("group_calls", (
            *who, completed(item), "LEAVE_GROUP", asked.get("groupId"), each.get("memberId"),
            each.get("groupInstanceId"), None, None, error, each.get("reason"), None, None, None, None,
            is_answered(item),
        ))  # fmt: skip


def put_commit(rows: SingleRows, item: Exchange, who: Who) -> None:
    """Put an OffsetCommit: once as a call of the member, and once for each partition with the place of its offset."""
    asked, answered = item.request or {}, response_of(item)
    errors = {
        (topic.get("name") or topic.get("topicId"), each["partitionIndex"]): error_of(each)
        for topic in answered.get("topics") or ()
        for each in topic["partitions"]
    }
    found = [error for error in errors.values() if error]
    rows.say("group_calls", (
        *who, completed(item), item.bodies.name(item.api_key), asked.get("groupId"), asked.get("memberId") or None,
        asked.get("groupInstanceId"), first_of(asked, "generationIdOrMemberEpoch", "generationId"), None,
        found[0] if found else None, None, None, None, None, None, is_answered(item),
    ))  # fmt: skip
    partitions = [(topic, each) for topic in asked.get("topics") or () for each in topic["partitions"]]
    for place, (topic, each) in enumerate(partitions, 1):
        name, topic_id = topic.get("name") or None, topic.get("topicId")
        rows.say("commits", (
            *who, completed(item), asked.get("groupId"), asked.get("memberId") or None, name, topic_id,
            each["partitionIndex"], place, errors.get((name or topic_id, each["partitionIndex"])),
        ))  # fmt: skip
    rows.sayings.add_offsets(each["committedOffset"] for _, each in partitions)


def assignment_of(item: Exchange) -> list[str] | None:
    """Return the partitions that a response assigns to a member of a consumer group; None if it assigns none."""
    tasks = (item.response or {}).get("activeTasks")
    if tasks is not None:  # of a streams group
        return partitions_of(tasks, "subtopologyId")
    given = (item.response or {}).get("assignment")
    if isinstance(given, dict):  # of a heartbeat (KIP-848)
        return partitions_of(given.get("topicPartitions") or (), "topicId")
    if not given or (item.response or {}).get("protocolType") not in (None, "consumer"):
        return None
    try:
        codec, start, _ = open_data("ConsumerProtocolAssignment", bytes(given), item.bodies.dialect)
        return partitions_of(codec.read(bytes(given), start)[0]["assignedPartitions"], "topic")
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


def protocols_of(asked: dict[str, Any]) -> str | None:
    """Return the protocol type and the names of the assignors of a JoinGroup."""
    if "protocols" not in asked:
        return None
    return f"{asked.get('protocolType')}: {', '.join(str(each['name']) for each in asked['protocols'])}"

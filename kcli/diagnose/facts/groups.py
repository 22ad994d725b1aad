"""Rows of `group_calls` and `commits`."""

from __future__ import annotations

from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.pipeline.rows.single_rows import Rows
from kcli.schemas.errors import error_name

Who = tuple[Any, ...]


def put_member_call(rows: Rows, item: Exchange, who: Who) -> None:
    """Put a JoinGroup, SyncGroup, Heartbeat or a heartbeat of KIP-848."""
    asked, answered = item.request or {}, item.response or {}
    members = [asked.get("memberId") or answered.get("memberId")]
    generation = first_of(asked, "generationId", "memberEpoch")
    rows.put("group_calls", (
        *who, completed(item), item.bodies.name(item.api_key), asked.get("groupId"), *members,
        asked.get("groupInstanceId") or asked.get("instanceId"), generation,
        first_of(answered, "generationId", "memberEpoch"), error_of(answered), asked.get("reason"),
        protocols_of(asked), asked.get("sessionTimeoutMs"), first_of(asked, "rebalanceTimeoutMs"),
        item.response is not None,
    ))  # fmt: skip


def put_leave(rows: Rows, item: Exchange, who: Who) -> None:
    """Put a LeaveGroup, a row for each member that leaves."""
    asked, answered = item.request or {}, item.response or {}
    refused = {each.get("memberId"): each for each in answered.get("members") or ()}
    for each in asked.get("members") or [asked]:
        error = error_of(answered) or error_of(refused.get(each.get("memberId"), {}))
        rows.put("group_calls", (
            *who, completed(item), "LEAVE_GROUP", asked.get("groupId"), each.get("memberId"),
            each.get("groupInstanceId"), None, None, error, each.get("reason"), None, None, None,
            item.response is not None,
        ))  # fmt: skip


def put_commit(rows: Rows, item: Exchange, who: Who) -> None:
    """Put an OffsetCommit, as a call of the member and by partition."""
    asked, answered = item.request or {}, item.response or {}
    errors = {
        (topic.get("name") or topic.get("topicId"), each["partitionIndex"]): error_of(each)
        for topic in answered.get("topics") or ()
        for each in topic["partitions"]
    }
    found = [error for error in errors.values() if error]
    rows.put("group_calls", (
        *who, completed(item), item.bodies.name(item.api_key), asked.get("groupId"), asked.get("memberId") or None,
        asked.get("groupInstanceId"), first_of(asked, "generationIdOrMemberEpoch", "generationId"), None,
        found[0] if found else None, None, None, None, None, item.response is not None,
    ))  # fmt: skip
    for topic in asked.get("topics") or ():
        name = topic.get("name") or topic.get("topicId")
        for each in topic["partitions"]:
            rows.put("commits", (
                *who, completed(item), asked.get("groupId"), asked.get("memberId") or None,
                topic.get("name") or topic.get("_topicName"), each["partitionIndex"], each["committedOffset"],
                errors.get((name, each["partitionIndex"])),
            ))  # fmt: skip


def completed(item: Exchange) -> int:
    """When an exchange was complete (ns)."""
    return item.response_ns or item.request_ns


def error_of(answer: dict[str, Any]) -> str | None:
    """The name of an answer's error; None without one."""
    code = answer.get("errorCode")
    return error_name(code) if code else None


def first_of(message: dict[str, Any], *names: str) -> Any:
    """The first of these fields that the message has."""
    return next((message[name] for name in names if name in message), None)


def protocols_of(asked: dict[str, Any]) -> str | None:
    """Protocol type and names of the assignors of a JoinGroup."""
    if "protocols" not in asked:
        return None
    return f"{asked.get('protocolType')}: {', '.join(str(each['name']) for each in asked['protocols'])}"

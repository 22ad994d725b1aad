"""Summaries of the APIs of groups and their committed offsets."""

from kcli.cli.decode.pcap.summaries import Message, Summary
from kcli.cli.decode.pcap.summaries.phrases import cut, listed
from kcli.cli.decode.pcap.summaries.topic_partitions import partitions_of, places, topic_name, topics_of
from kcli.counting import counted

REASON = 80  # characters of why a member leaves
COORDINATORS = {0: "group", 1: "transaction", 2: "share group"}


def find_coordinator(request: Message, response: Message) -> tuple[str, str]:
    keys = request.get("coordinatorKeys") or [request.get("key", "")]
    results = response.get("coordinators") or [response]
    found = [f"{each['nodeId']} at {each['host']}:{each['port']}" for each in results if each.get("nodeId", -1) >= 0]
    return f"{COORDINATORS.get(request.get('keyType', 0), '?')} {listed(keys)}", listed(dict.fromkeys(found))


def join_group(request: Message, response: Message) -> tuple[str, str]:
    member = cut(request["memberId"]) or "new member"
    answer = f"generation {response.get('generationId')}, {response.get('protocolName') or 'no protocol'}"
    members = len(response.get("members", ()))
    return f"{request['groupId']} as {member}", answer + (f", leads {counted(members, 'member')}" if members else "")


def sync_group(request: Message, response: Message) -> tuple[str, str]:
    assignments = len(request["assignments"])
    request_text = f"{request['groupId']} generation {request['generationId']}"
    return request_text + (
        f", assigns {counted(assignments, 'member')}" if assignments else ""
    ), f"assignment of {len(response.get('assignment', b'')):,} bytes"


def heartbeat(request: Message, response: Message) -> tuple[str, str]:
    return f"{request['groupId']} generation {request['generationId']}", ""


def leave_group(request: Message, response: Message) -> tuple[str, str]:
    left = request.get("members") or [{"memberId": request.get("memberId", "")}]
    return f"{request['groupId']}: {listed(map(leaving, left), 2 * REASON)}", ""


def leaving(member: Message) -> str:
    """Format a member that leaves, by its instance id where it has one, and why (KIP-800)."""
    member_text = member["memberId"] or member.get("groupInstanceId") or "?"
    return f"{cut(member_text)} ({cut(member['reason'], REASON)})" if member.get("reason") else cut(member_text)


def group_heartbeat(request: Message, response: Message) -> tuple[str, str]:
    epoch = request["memberEpoch"]
    state = {0: "joins", -1: "leaves", -2: "leaves for a while"}.get(epoch, f"epoch {epoch}")
    names = request.get("subscribedTopicNames")
    request_text = f"{request['groupId']} {state}" + (f", {listed(names)}" if names else "")
    assignment = response.get("assignment")
    partitions = sum(len(each["partitions"]) for each in (assignment or {}).get("topicPartitions", ()))
    answer = f"epoch {response.get('memberEpoch')}"
    return request_text, answer + (f", {counted(partitions, 'partition')} assigned" if assignment is not None else "")


def offset_commit(request: Message, response: Message) -> tuple[str, str]:
    offsets = [
        f"{topic_name(topic)}[{each['partitionIndex']}] {each['committedOffset']}"
        for topic in topics_of(request) for each in partitions_of(topic)
    ]  # fmt: skip
    return f"{request['groupId']}: {listed(offsets)}", ""


def offset_fetch(request: Message, response: Message) -> tuple[str, str]:
    groups = request.get("groups", [request])
    results = [
        each
        for group in response.get("groups", [response])
        for topic in topics_of(group)
        for each in partitions_of(topic)
    ]
    known = sum(each["committedOffset"] >= 0 for each in results)
    return "; ".join(
        f"{each['groupId']}: {places(each) or 'all'}" for each in groups
    ), f"{known:,} of {counted(len(results), 'partition')} committed"


SUMMARIES: dict[str, Summary] = {
    "CONSUMER_GROUP_HEARTBEAT": group_heartbeat,
    "FIND_COORDINATOR": find_coordinator,
    "HEARTBEAT": heartbeat,
    "JOIN_GROUP": join_group,
    "LEAVE_GROUP": leave_group,
    "OFFSET_COMMIT": offset_commit,
    "OFFSET_FETCH": offset_fetch,
    "SHARE_GROUP_HEARTBEAT": group_heartbeat,
    "STREAMS_GROUP_HEARTBEAT": group_heartbeat,
    "SYNC_GROUP": sync_group,
    "TXN_OFFSET_COMMIT": offset_commit,
}

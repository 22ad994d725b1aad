"""ElectLeaders v0-v2 (KIP-183, KIP-460). A preferred election makes the first replica the leader if it is in sync; an
unclean one gives a partition without a leader its first running replica. Each new leader begins a new leader epoch.

Null partitions mean all. ELECTION_NOT_NEEDED for a named partition that needs no election.
"""

from collections.abc import Iterator
from typing import Any

from kcli.broker.partition import NOT_HOSTED, Partition
from kcli.broker.request import Request
from kcli.schemas.errors import error_code
from kcli.schemas.field_codes import NO_LEADER

PREFERRED, UNCLEAN = 0, 1
NOT_NEEDED = error_code("ELECTION_NOT_NEEDED")


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "replicaElectionResults": []}
    everything = request.body["topicPartitions"] is None
    if (kind := request.body.get("electionType", PREFERRED)) not in (PREFERRED, UNCLEAN):
        return refused(request, f"Unknown election type {kind}")
    by_topic: dict[str, list[dict[str, Any]]] = {}
    moves: dict[Partition, int] = {}
    for name, index in wanted(request):
        code = check(request, name, index, moves)
        rows = by_topic.setdefault(name, [])
        if not (everything and code == NOT_NEEDED):
            rows.append({"partitionId": index, "errorCode": code, "errorMessage": reason(request, name, index, code)})
    request.controller.move_leaders(moves)
    results = [{"topic": name, "partitionResult": rows} for name, rows in by_topic.items()]
    return {"errorCode": 0, "replicaElectionResults": results}


def refused(request: Request, message: str) -> dict[str, Any]:
    """Return the response that refuses the request, and each partition that it names."""
    row = {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": message}
    results = [
        {"topic": each["topic"], "partitionResult": [{"partitionId": index} | row for index in each["partitions"]]}
        for each in request.body["topicPartitions"] or ()
    ]
    return {"errorCode": row["errorCode"], "replicaElectionResults": results}


def reason(request: Request, name: str, index: int, code: int) -> str | None:
    """Return the message for an error code, None for 0."""
    if not code:
        return None
    if code == NOT_NEEDED:
        return "Leader election not needed for topic partition."
    if name not in request.topics.by_name:
        return f"No such topic as {name}"
    return f"{name}-{index}: no replica that may lead is running" if request.topics.find((name, index)) else NOT_HOSTED


def wanted(request: Request) -> Iterator[tuple[str, int]]:
    if request.body["topicPartitions"] is None:
        for topic in request.topics:
            yield from ((topic.name, each.index) for each in topic.partitions)
        return
    for each in request.body["topicPartitions"]:
        yield from ((each["topic"], index) for index in each["partitions"])


def check(request: Request, name: str, index: int, moves: dict[Partition, int]) -> int:
    """Add a partition and its new leader to `moves` and return 0, or return the error code."""
    partition = request.topics.find((name, index))
    if partition is None:
        return error_code("UNKNOWN_TOPIC_OR_PARTITION")
    unclean = request.body.get("electionType", PREFERRED) == UNCLEAN
    if partition in moves or (partition.leader != NO_LEADER if unclean else partition.leader == partition.replicas[0]):
        return NOT_NEEDED
    able = partition.replicas if unclean else [each for each in partition.replicas[:1] if each in partition.isr]
    leader = next((each for each in able if each in request.controller.running), None)
    if leader is None:
        return error_code("ELIGIBLE_LEADERS_NOT_AVAILABLE" if unclean else "PREFERRED_LEADER_NOT_AVAILABLE")
    moves[partition] = leader
    return 0

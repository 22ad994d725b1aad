"""CreatePartitions v0-v3 (KIP-195): it adds partitions to topics; partitions can't be removed.

If a request adds more than 10,000 partitions, each of its topics gets POLICY_VIOLATION.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kcli.broker.metadata.new_topics import MOST_PARTITIONS, refuse_excess
from kcli.broker.request import Request
from kcli.records.acceptance import RefusedError
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    topics = request.body["topics"]
    try:
        refuse_excess(sum(max(0, each["count"] - partitions_of(request, each["name"])) for each in topics))
    except RefusedError as error:
        return {"results": [refused(each["name"], error) for each in topics]}
    names = Counter(each["name"] for each in topics)
    return {"results": [result(request, each, names) for each in topics]}


def partitions_of(request: Request, name: str) -> int:
    """Return how many partitions a topic has. For an unknown topic: the most that any may have, so that none of its
    partitions count as new.
    """
    topic = request.topics.by_name.get(name)
    return len(topic.partitions) if topic is not None else MOST_PARTITIONS


def refused(name: str, error: RefusedError) -> dict[str, Any]:
    return {"name": name, "errorCode": error_code(error.error), "errorMessage": str(error) or None}


def result(request: Request, wanted: Mapping[str, Any], names: Counter[str]) -> dict[str, Any]:
    row = {"name": wanted["name"], "errorMessage": None}
    if code := request.fault(wanted["name"]):
        return row | {"errorCode": code}
    try:
        if names[wanted["name"]] > 1:
            raise RefusedError("INVALID_REQUEST", "the request names this topic twice")
        extend(request, wanted)
    except RefusedError as error:
        return refused(wanted["name"], error)
    return row | {"errorCode": 0}


def extend(request: Request, wanted: Mapping[str, Any]) -> None:
    """Add partitions to a topic, on the nodes that the request names or else in turn; with validateOnly only check.
    Raises RefusedError.
    """
    topic = request.topics.by_name.get(wanted["name"])
    if topic is None:
        raise RefusedError("UNKNOWN_TOPIC_OR_PARTITION", "")
    have, count = len(topic.partitions), wanted["count"]
    if not have < count <= MOST_PARTITIONS:
        raise RefusedError("INVALID_PARTITIONS", f"{count} partitions: there are {have}, more expected")
    assignments = wanted["assignments"]
    nodes = set(request.controller.node_ids)
    copies = len(topic.partitions[0].replicas) if topic.partitions else 1
    if assignments is None:
        made = request.controller.assign(count - have, copies)
    else:
        made = [tuple(each["brokerIds"]) for each in assignments]
        each_once = all(len(each) == len(set(each) & nodes) == copies for each in made)
        if len(made) != count - have or not each_once:
            reason = f"{count - have} of them expected, each with {copies} of the nodes {sorted(nodes)}"
            raise RefusedError("INVALID_REPLICA_ASSIGNMENT", reason)
    if not request.body["validateOnly"]:
        request.controller.add_partitions(topic, made)

"""DescribeLogDirs v0-v5 (KIP-113, KIP-827 disk sizes): the broker's one log directory, with this node's replicas.

Null topics mean all. Named partitions without a replica on this node are left out, as in Kafka.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kcli.broker.partition import Partition, Topic
from kcli.broker.request import Request


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "results": []}
    folder = request.topics.folder
    usage = shutil.disk_usage(folder)
    rows = [row for topic, indexes in wanted(request) if (row := topic_row(request, topic, indexes))["partitions"]]
    found = {
        "errorCode": 0,
        "logDir": str(folder),
        "topics": rows,
        "totalBytes": usage.total,
        "usableBytes": usage.free,
        "isCordoned": False,
    }
    return {"errorCode": 0, "results": [found]}


def wanted(request: Request) -> Iterator[tuple[Topic, Sequence[int] | None]]:
    """Yield each requested topic that exists, with the indexes of its requested partitions, None for all."""
    if request.body["topics"] is None:
        yield from ((each, None) for each in request.topics)
        return
    for each in request.body["topics"]:
        topic = request.topics.by_name.get(each["topic"])
        if topic is not None:
            yield topic, each["partitions"]


def topic_row(request: Request, topic: Topic, indexes: Sequence[int] | None) -> Mapping[str, Any]:
    requested = topic.partitions if indexes is None else [topic.partition(each) for each in dict.fromkeys(indexes)]
    local = [each for each in requested if each is not None and request.node.id in each.replicas]
    return {"name": topic.name, "partitions": [partition_row(each) for each in local]}


def partition_row(each: Partition) -> dict[str, Any]:
    log = None if each.is_offline else each.log
    size = log.size if log is not None else 0
    return {"partitionIndex": each.index, "partitionSize": size, "offsetLag": 0, "isFutureKey": False}

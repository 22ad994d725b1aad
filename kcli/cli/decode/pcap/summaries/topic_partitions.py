"""The topics and partitions of a message, whatever its API calls them."""

from typing import Any

from kcli.cli.decode.pcap.summaries import Message
from kcli.cli.decode.pcap.summaries.phrases import SHOWN, listed
from kcli.counting import counted
from kcli.topic_names import CLUSTER_METADATA, INDEX_FIELDS, METADATA_ID

PARTITIONS = ("partitions", "partitionData", "partitionResponses", "partitionIndexes", "resultsByPartition")
TOPICS = ("topics", "topicData", "responses", "topicResults", "v3AndBelowTopics", "topicPartitions")


def topics_of(message: Message) -> list[Message]:
    """Return the entries of topics; none where the message has no such list."""
    for name in TOPICS:
        found = message.get(name)
        if isinstance(found, list) and (not found or isinstance(found[0], dict)):
            return found
    return []


def topic_name(topic: Message) -> str:
    """Return the name of a topic's entry, else its id; "?" without either. The metadata topic's id is its name."""
    if topic.get("topicId") == METADATA_ID:
        return CLUSTER_METADATA
    for name in ("name", "topic", "topicName", "_topicName", "topicId"):
        if topic.get(name):
            return str(topic[name])
    return "?"


def partitions_of(topic: Message) -> list[Any]:
    """Return the partitions in a topic's entry: entries or numbers."""
    found: list[Any] = next((topic[name] for name in PARTITIONS if isinstance(topic.get(name), list)), [])
    return found


def partition_number(partition: Any) -> Any:
    """Return the number of a partition's entry; "?" without one."""
    if isinstance(partition, dict):
        return next((partition[name] for name in INDEX_FIELDS if name in partition), "?")
    return partition


def places(message: Message) -> str:
    """Format "orders[0, 1], refunds[3]", or names and a count where there are many."""
    topics = topics_of(message)
    numbers = [(topic_name(topic), [partition_number(each) for each in partitions_of(topic)]) for topic in topics]
    total = sum(len(each) for _, each in numbers)
    if total <= 2 * SHOWN:
        return listed(f"{name}[{', '.join(map(str, each))}]" if each else name for name, each in numbers)
    return f"{listed(name for name, _ in numbers)}: {counted(total, 'partition')}"

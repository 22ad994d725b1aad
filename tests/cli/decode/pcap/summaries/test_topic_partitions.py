"""Topics and partitions under the names that APIs give them."""

from kcli.cli.decode.pcap.summaries.topic_partitions import (
    partition_number,
    partitions_of,
    places,
    topic_name,
    topics_of,
)


def test_topics_and_partitions_by_any_name() -> None:
    topics = [{"topicId": "A", "partitionResponses": [{"index": 3}]}, {"name": "b", "partitions": [7, 8]}]
    message = {"responses": topics}
    assert [topic_name(each) for each in topics_of(message)] == ["A", "b"]
    assert [[partition_number(each) for each in partitions_of(topic)] for topic in topics_of(message)] == [[3], [7, 8]]
    assert places(message) == "A[3], b[7, 8]"
    assert topics_of({"topics": ["t"]}) == [] and topic_name({}) == "?" and partition_number({}) == "?"


def test_many_partitions_are_counted() -> None:
    topics = [{"name": name, "partitions": list(range(300))} for name in "abcde"]
    assert places({"topics": topics}) == "a, b, c and 2 more: 1,500 partitions"


def test_the_metadata_topic_has_its_name() -> None:
    assert places({"topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [0]}]}) == "__cluster_metadata[0]"

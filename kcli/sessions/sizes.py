"""The cost of a full fetch: the bytes of each partition and topic in a version of Fetch.

The figures come from the grammar: small messages are encoded, and their lengths compared.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kcli.grammar import messages
from kcli.schemas.apikeys import FETCH
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import ZERO_UUID
from kcli.sessions.trace import SESSIONS_SINCE, TOPIC_IDS_SINCE


def count_bytes(count: int, flexible: bool) -> int:
    """Return the bytes of an array's length: an unsigned varint of count + 1 in flexible versions, else four."""
    return -(-(count + 1).bit_length() // 7) if flexible else 4


class MessageSizes:
    """Bytes on one side, request or response.

    partition: one entry, without its variable parts (records, aborted transactions, tags)
    topic: one entry without its name's text and the length of its partitions' array
    fixed: the message without topics, including the length of an empty topics array
    """

    def __init__(self, fixed: int, topic: int, partition: int, *, flexible: bool, named: bool) -> None:
        self.fixed, self.topic, self.partition = fixed, topic, partition
        self.flexible, self.named = flexible, named

    def topic_bytes(self, topic: str, partitions: int) -> int:
        """Return the bytes of one topic's entry with its partitions."""
        return self.topic_start(topic) + count_bytes(partitions, self.flexible) + partitions * self.partition

    def topic_start(self, topic: str) -> int:
        """Return the bytes of a topic's entry before its partitions."""
        if not self.named:
            return self.topic
        length = len(topic.encode())
        # The varint of the name's length grows with it; `topic` counts one byte, as for an empty name.
        return self.topic + length + (count_bytes(length, True) - 1 if self.flexible else 0)


class FetchSizes:
    """The sizes of both sides of one version, and of forgotten partitions (a full fetch has none)."""

    def __init__(self, version: int) -> None:
        flexible = catalog().message("FetchRequest").is_flexible(version)
        named = version < TOPIC_IDS_SINCE
        entry = {"topic": ""} if named else {"topicId": ZERO_UUID}
        self.version = version
        self.request = measure(messages.request(FETCH, version), "topics", entry, flexible, named)
        self.response = measure(messages.response(FETCH, version), "responses", entry, flexible, named)
        self._forgotten_topic = self._forgotten(entry) if version >= SESSIONS_SINCE else 0

    def forgotten_bytes(self, topics: dict[str, int]) -> int:
        """Return the bytes of a list of forgotten partitions beyond those of an empty list. topics: {topic: number of
        partitions}.
        """
        flexible = self.request.flexible
        total = count_bytes(len(topics), flexible) - count_bytes(0, flexible)
        for topic, count in topics.items():
            start = self.request.topic_start(topic) - self.request.topic + self._forgotten_topic
            total += start + count_bytes(count, flexible) + 4 * count
        return total

    def _forgotten(self, entry: dict[str, Any]) -> int:
        codec = messages.request(FETCH, self.version)
        one = codec.write({"forgottenTopicsData": [{**entry, "partitions": []}]})
        return len(one) - len(codec.write({})) - count_bytes(0, self.request.flexible)


def measure(codec: Any, name: str, entry: dict[str, Any], flexible: bool, named: bool) -> MessageSizes:
    """Measure encoded messages with no topic, one empty topic, and one topic with one partition."""
    none = len(codec.write({name: []}))
    empty = len(codec.write({name: [{**entry, "partitions": []}]}))
    one = len(codec.write({name: [{**entry, "partitions": [{}]}]}))
    return MessageSizes(none, empty - none - count_bytes(0, flexible), one - empty, flexible=flexible, named=named)


@cache
def fetch_sizes(version: int) -> FetchSizes:
    """Return the sizes of a Fetch version. Raises SchemaError if there is no such version."""
    return FetchSizes(version)

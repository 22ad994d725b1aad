"""What a capture says of a cluster: its topics, leaders and, as far as they were seen, the records in them.

Names, ids and leaders come from Metadata, DescribeTopicPartitions and CreateTopics; record batches from Fetch
responses, at their offsets and as they were stored, and from Produce requests whose response says where they came to
be; the ends of a log from watermarks and ListOffsets. Bytes of batches wait in a temporary file: memory holds their
places only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kcli.broker.storage.incoming import Incoming, RefusedError, numbered, read_incoming, stamped, stored
from kcli.capture.events import Exchange

__all__ = ["History", "SeenPartition", "SeenTopic"]

PRODUCE, FETCH, LIST_OFFSETS, METADATA, CREATE_TOPICS, DESCRIBE_TOPICS = 0, 1, 2, 3, 19, 75
NO_ID = "A" * 22
RAFT_TOPICS = frozenset(["__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"])
LATEST, EARLIEST = -1, -2
LONGEST = (1 << 31) - 1


class Spooled(NamedTuple):
    """A batch in the temporary file. first, last: its offsets, as far as its header says."""

    first: int
    last: int
    magic: int
    position: int
    size: int


@dataclass
class SeenPartition:
    """start, end: the offsets the log is known to have; told: the first (high watermark, last stable offset) a fetcher
    was told; batches: by magic and last offset.
    """

    leader: int = -1
    epoch: int = 0
    start: int = 0
    end: int = 0
    told: tuple[int, int] | None = None
    batches: dict[tuple[int, int], Spooled] = field(default_factory=dict)

    def in_order(self) -> Iterator[Spooled]:
        """The batches that make up the log. Where old clients were given the same records in an older magic, the
        newer one counts: it is how they were stored."""
        chosen: list[Spooled] = []
        covered: list[tuple[int, int]] = []
        for each in sorted(self.batches.values(), key=lambda one: (-one.magic, one.first)):
            if not any(first <= each.last and each.first <= last for first, last in covered[-1:] or ()):
                chosen.append(each)
                covered.append((each.first, each.last))
        end = -1
        for each in sorted(chosen, key=lambda one: (one.first, -one.magic)):
            if each.first > end:
                yield each
                end = each.last


@dataclass
class SeenTopic:
    name: str
    topic_id: str | None = None
    partitions: dict[int, SeenPartition] = field(default_factory=dict)

    def partition(self, index: int) -> SeenPartition:
        return self.partitions.setdefault(index, SeenPartition())


class History:
    """nodes: ids of the brokers seen; granted: whether any fetch session was granted, None as long as nobody asked."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self.granted: bool | None = None
        self.names: dict[str, str] = {}
        self.topics: dict[str, SeenTopic] = {}
        self.spool = tempfile.TemporaryFile(prefix="kcli-rebuild-")  # noqa: SIM115  closed by `close`
        self._spooled = 0

    @classmethod
    def of(cls, exchanges: Iterable[object]) -> History:
        """From the items that `kcli.capture.exchanges.read` gives, in their order."""
        made = cls()
        try:
            for item in exchanges:
                if isinstance(item, Exchange):
                    made.add(item)
        except BaseException:
            made.close()
            raise
        made.settle()
        return made

    def add(self, item: Exchange) -> None:
        """Take in what an exchange says; nothing where it was not answered, or can't be read."""
        take = TAKE.get(item.api_key)
        if take is not None and item.request is not None and item.response is not None:
            take(self, item.request, item.response)

    def topic(self, row: Mapping[str, Any]) -> SeenTopic | None:
        """The topic that a row of a message is about, by id or by name."""
        topic_id = row.get("topicId", NO_ID)
        key = topic_id if topic_id != NO_ID else row.get("topic") or row.get("name") or ""
        if not key or key in RAFT_TOPICS:
            return None
        made = self.topics.setdefault(key, SeenTopic(key))
        if topic_id != NO_ID:
            made.topic_id = topic_id
        return made

    def settle(self) -> None:
        """What was seen of a topic by its id and by its name is one; an id that nobody named is its own name."""
        for topic_id, name in self.names.items():
            seen = self.topics.pop(topic_id, None)
            if name not in self.topics:
                self.topics[name] = SeenTopic(name)
            self.topics[name].topic_id = topic_id
            if seen is not None:
                merge(self.topics[name], seen)

    # --- batches

    def keep(self, partition: SeenPartition, batches: Iterable[tuple[Incoming, bytes]]) -> None:
        for each, data in batches:
            first, last = (int.from_bytes(data[:8], "big"),) * 2
            if each.head.magic == 2:
                last = first + each.head.last_offset - each.head.base_offset
            place = (each.head.magic, last)
            if place not in partition.batches:
                partition.batches[place] = Spooled(first, last, each.head.magic, self._spooled, len(data))
                self.spool.seek(self._spooled)
                self._spooled += self.spool.write(data)
            partition.end = max(partition.end, last + 1)

    def read(self, each: Spooled) -> bytes:
        self.spool.seek(each.position)
        return self.spool.read(each.size)

    def close(self) -> None:
        self.spool.close()

    # --- one method for each kind of exchange

    def take_metadata(self, _request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        self.nodes.update(each["nodeId"] for each in response.get("brokers") or ())
        for row in response["topics"]:
            if row["errorCode"] or not row.get("name"):
                continue
            topic_id = row.get("topicId", NO_ID)
            if topic_id != NO_ID:
                self.names[topic_id] = row["name"]
            seen = self.topics.setdefault(row["name"], SeenTopic(row["name"]))
            for each in row["partitions"]:
                partition = seen.partition(each["partitionIndex"])
                if each["leaderId"] >= 0:
                    partition.leader = each["leaderId"]
                partition.epoch = max(partition.epoch, each.get("leaderEpoch", 0))

    def take_created(self, _request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        for row in response["topics"]:
            if not row["errorCode"] and row.get("topicId", NO_ID) != NO_ID:
                self.names[row["topicId"]] = row["name"]

    def take_fetch(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        if request.get("sessionEpoch", -1) == 0 and not response.get("errorCode"):
            self.granted = bool(self.granted or response["sessionId"])
        for row in response["responses"]:
            seen = self.topic(row)
            for each in row["partitions"] if seen is not None else ():
                partition = seen.partition(each["partitionIndex"])  # type: ignore[union-attr]
                if not each["errorCode"]:
                    self.take_fetched(partition, each)

    def take_fetched(self, partition: SeenPartition, row: Mapping[str, Any]) -> None:
        high = row["highWatermark"]
        if high >= 0:
            partition.told = partition.told or (high, row.get("lastStableOffset", high))
            partition.end = max(partition.end, high)
        partition.start = max(partition.start, row.get("logStartOffset", 0))
        self.keep(partition, ((each, bytes(each.data)) for each in stored(row.get("records") or b"")))

    def take_produce(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        answers = {}
        for row in response["responses"]:
            for each in row["partitionResponses"]:
                answers[row.get("topicId"), row.get("name"), each["index"]] = each
        for row in request["topicData"]:
            seen = self.topic(row)
            for each in row["partitionData"] if seen is not None else ():
                answer = answers.get((row.get("topicId"), row.get("name"), each["index"]))
                if answer is not None and not answer["errorCode"] and answer["baseOffset"] >= 0:
                    self.take_produced(seen.partition(each["index"]), each["records"] or b"", answer)  # type: ignore[union-attr]

    def take_produced(self, partition: SeenPartition, records: bytes, answer: Mapping[str, Any]) -> None:
        time = answer.get("logAppendTimeMs", -1)
        try:
            batches = read_incoming(records, LONGEST)
        except RefusedError:
            return
        offset = answer["baseOffset"]
        for each in batches:
            ready = each if time < 0 else stamped(each, time)
            parts, _ = numbered(ready, offset, max(partition.epoch, 0), 0)
            self.keep(partition, [(ready, b"".join(parts))])
            offset += each.offsets

    def take_offsets(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        asked = {
            (row["name"], each["partitionIndex"]): each["timestamp"]
            for row in request["topics"]
            for each in row["partitions"]
        }
        for row in response["topics"]:
            seen = self.topic(row)
            for each in row["partitions"] if seen is not None else ():
                offset = each.get("offset", -1)
                if each["errorCode"] or offset < 0:
                    continue
                partition = seen.partition(each["partitionIndex"])  # type: ignore[union-attr]
                when = asked.get((row["name"], each["partitionIndex"]))
                if when == LATEST:
                    partition.end = max(partition.end, offset)
                elif when == EARLIEST:
                    partition.start = max(partition.start, offset)


TAKE: Mapping[int, Callable[[History, Mapping[str, Any], Mapping[str, Any]], None]] = {
    PRODUCE: History.take_produce,
    FETCH: History.take_fetch,
    LIST_OFFSETS: History.take_offsets,
    METADATA: History.take_metadata,
    CREATE_TOPICS: History.take_created,
    DESCRIBE_TOPICS: History.take_metadata,
}


def merge(into: SeenTopic, other: SeenTopic) -> None:
    for index, each in other.partitions.items():
        known = into.partition(index)
        known.start, known.end = max(known.start, each.start), max(known.end, each.end)
        known.epoch = max(known.epoch, each.epoch)
        known.told = known.told or each.told
        known.batches = each.batches | known.batches

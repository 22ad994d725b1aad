"""The topics, leaders and records of a cluster, as far as a capture shows them.

Topic names, ids and leaders come from Metadata, DescribeTopicPartitions and CreateTopics, leaders also from responses
to Fetch and Produce (KIP-951). Record batches come from Fetch responses, with their offsets and as they were stored,
and from Produce requests, with the offsets in the response. The ends of logs come from high watermarks and ListOffsets.
Batches are kept in a temporary file (`captured_topics`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from kcli.broker.fetch.conversion import NEWEST_MAGIC, newest_magic
from kcli.broker.rebuilt.addresses import Addresses
from kcli.broker.rebuilt.captured_topics import BatchSpool, SeenPartition, SeenTopic, merge
from kcli.broker.rebuilt.record_spans import LAST_END, Span, cut_batch, span_of
from kcli.broker.rebuilt.session_capacity import FetchKey, SessionCapacity
from kcli.broker.storage.incoming import numbered, read_incoming, stamped, stored
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from kcli.records.acceptance import RefusedError
from kcli.schemas.apikeys import (
    API_VERSIONS,
    CREATE_TOPICS,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    PRODUCE,
)
from kcli.schemas.definition import ZERO_UUID
from kcli.schemas.field_codes import OffsetTime
from kcli.sessions.epochs import SHARDS
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, Key, topic_of
from kcli.topic_names import RAFT_TOPICS

LONGEST = (1 << 31) - 1
NEWEST = 1 << 15
# The cache has shards since Kafka 3.8. Fetch v17 is newer than that; brokers with v16 may have shards or not.
SHARDED_SINCE, PERHAPS_SHARDED = 17, 16


class CaptureHistory:
    """The history. addresses: of the brokers; sessions: the fetch sessions; spans: offsets of the records in each Fetch
    response, by the partition's key there; former: ids of topics that were deleted and created again."""

    def __init__(self) -> None:
        self.addresses = Addresses()
        self.sessions = SeenSessions()
        self.spans: dict[FetchKey, dict[Key, Span]] = {}
        self.names: dict[str, str] = {}
        self.former: set[str] = set()
        self._current: dict[str, str] = {}
        self.topics: dict[str, SeenTopic] = {}
        self.spool = BatchSpool()

    @classmethod
    def of(cls, exchanges: Iterable[object], problem: Callable[[InputError], None] | None = None) -> CaptureHistory:
        """Build the history from `Capture.items`. problem: called with the error that ends them early.
        Raises InputError without `problem`.
        """
        made = cls()
        try:
            for item in exchanges:
                if isinstance(item, Exchange):
                    made.add(item)
        except InputError as error:
            if problem is None:
                made.close()
                raise
            problem(error)
        except BaseException:
            made.close()
            raise
        made.settle()
        return made

    def add(self, item: Exchange) -> None:
        """Add the facts of an exchange, if it has a request and a response that can be decoded."""
        if not self.addresses.concerns(item.api_key) and item.api_key not in (FETCH, API_VERSIONS, *READERS):
            return
        if item.request is None or item.response is None:
            return
        self.addresses.take(item.api_key, item.request, item.response)
        self.sessions.take(item)
        if item.api_key in READERS:
            READERS[item.api_key](self, item.request, item.response)
        if item.api_key == FETCH:
            self.take_fetch(item.request, item.response, item.api_version)
            self.take_spans(item.response, exchange_key(item))

    def topic(self, row: Mapping[str, Any]) -> SeenTopic | None:
        """Return the topic of a row in a message, by id or by name; None for the metadata log."""
        topic_id = row.get("topicId", ZERO_UUID)
        key = topic_id if topic_id != ZERO_UUID else row.get("topic") or row.get("name") or ""
        if not key or key in RAFT_TOPICS:
            return None
        made = self.topics.setdefault(key, SeenTopic(key))
        if topic_id != ZERO_UUID:
            made.topic_id = topic_id
        return made

    def rows_of(
        self, topics: Iterable[Mapping[str, Any]], field: str = "partitions"
    ) -> Iterator[tuple[SeenTopic, Mapping[str, Any], Mapping[str, Any]]]:
        """Yield (topic, its row, a partition's row) for each partition in a message. field: that of the partitions."""
        for row in topics:
            if (seen := self.topic(row)) is not None:
                yield from ((seen, row, each) for each in row[field])

    def settle(self) -> None:
        """Merge what was seen of topics by id and by name. A topic whose name is unknown keeps its id as its name."""
        for topic_id, name in self.names.items():
            if topic_id in self.former:
                continue
            seen = self.topics.pop(topic_id, None)
            if name not in self.topics:
                self.topics[name] = SeenTopic(name)
            self.topics[name].topic_id = topic_id
            if seen is not None:
                merge(self.topics[name], seen)

        self.sessions.settle(self.addresses)

    def name(self, topic_id: str, name: str) -> None:
        """Assign a name to a topic id. If another id had this name, that topic was deleted before, and everything seen
        by name until now belongs to it.
        """
        if topic_id in self.names:
            return
        before = self._current.get(name)
        if before is not None:
            self.former.add(before)
            older = self.topics.setdefault(before, SeenTopic(before, before))
            merge(older, self.topics.pop(name, SeenTopic(name)))
        self.names[topic_id], self._current[name] = name, topic_id

    def find(self, key: Key) -> SeenPartition:
        """Return a partition by its topic's name or id; an empty one if it is unknown."""
        topic = self.topics.get(key[0] if key[0] in self.former else self.names.get(key[0], key[0]))
        return topic.partitions.get(key[1]) or SeenPartition() if topic is not None else SeenPartition()

    def uncertain(self) -> list[str]:
        """Return the partitions ("topic[0]") with records that were captured only in an old magic, and may be stored in
        a newer one.
        """
        return sorted(
            f"{topic.name}[{index}]"
            for topic in self.topics.values()
            for index, each in topic.partitions.items()
            if any(one.magic < NEWEST_MAGIC and not one.certain for one in each.in_order())
        )

    def close(self) -> None:
        """Delete the temporary file."""
        self.spool.close()

    # --- one method for each kind of exchange

    def take_metadata(self, _request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Add names, ids, leaders and replicas from Metadata and DescribeTopicPartitions."""
        for row in response["topics"]:
            topic_id = row.get("topicId", ZERO_UUID)
            if row["errorCode"] or not row.get("name") or not RAFT_TOPICS.isdisjoint((row["name"], topic_id)):
                continue
            if topic_id != ZERO_UUID:
                self.name(topic_id, row["name"])
            key = topic_id if topic_id in self.former else row["name"]
            seen = self.topics.setdefault(key, SeenTopic(key))
            for each in row["partitions"]:
                partition = seen.partition(each["partitionIndex"])
                partition.lead(each.get("leaderEpoch", 0), each["leaderId"])
                partition.replicas = tuple(each.get("replicaNodes") or partition.replicas)

    def take_created(self, _request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Add the ids of new topics from CreateTopics."""
        for row in response["topics"]:
            if not row["errorCode"] and row.get("topicId", ZERO_UUID) not in (ZERO_UUID, *RAFT_TOPICS):
                self.name(row["topicId"], row["name"])

    def take_fetch(self, request: Mapping[str, Any], response: Mapping[str, Any], version: int = NEWEST) -> None:
        """Add batches, ends of logs, and leaders from a Fetch."""
        refused = {
            (topic_of(row), each["partitionIndex"])
            for row in response["responses"]
            for each in row["partitions"]
            if each["errorCode"]
        }
        for seen, row, each in self.rows_of(request.get("topics", ())):
            if (topic_of(row), each["partition"]) not in refused:
                partition = seen.partition(each["partition"])
                # If the session was refused, the partition exists, but its end is unknown.
                if not response.get("errorCode"):
                    partition.end = max(partition.end, each["fetchOffset"])
        for seen, _, each in self.rows_of(response["responses"]):
            partition = seen.partition(each["partitionIndex"])
            take_hint(partition, each)
            if not each["errorCode"]:
                self.take_fetched(partition, each, version)

    def take_fetched(self, partition: SeenPartition, row: Mapping[str, Any], version: int) -> None:
        """Add the facts of a partition's row without an error in a Fetch response."""
        partition.end = max(partition.end, row["highWatermark"])
        start = row.get("logStartOffset", -1)
        if start >= 0:
            partition.start = max(partition.start, start)
            partition.earliest = start if partition.earliest is None else min(partition.earliest, start)
        records = row.get("records") or b""
        if not records:
            return
        batches = stored(records)
        self.spool.keep(partition, ((each, bytes(each.data)) for each in batches), certain_magic(version))
        for one, other in pairwise(batches):
            if one.head.magic == other.head.magic == 2 and one.head.last_offset + 1 < other.head.base_offset:
                partition.holes.append((one.head.last_offset + 1, other.head.base_offset))
        cut = cut_batch(records, batches[-1].head.last_offset + 1 if batches else -1)
        if cut is not None and 0 <= cut.base < LAST_END:
            known = partition.cut.get(cut.base)
            if known is None or (known.size, known.last) < (cut.size, cut.last):
                partition.cut[cut.base] = cut

    def take_spans(self, response: Mapping[str, Any], fetch: FetchKey) -> None:
        """Keep the offset ranges of the records in a response."""
        spans = {
            (topic_of(row), each["partitionIndex"]): span
            for row in response["responses"]
            for each in row["partitions"]
            if (span := span_of(each.get("records") or b"")) is not None
        }
        if spans:
            self.spans[fetch] = spans

    def take_produce(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Add the batches of a Produce request, with the offsets in its response."""
        answers = {}
        for row in response["responses"]:
            for each in row["partitionResponses"]:
                answers[row.get("topicId"), row.get("name"), each["index"]] = each
        for seen, row, each in self.rows_of(request["topicData"], "partitionData"):
            answer = answers.get((row.get("topicId"), row.get("name"), each["index"]))
            partition = seen.partition(each["index"])
            take_hint(partition, answer or {})
            if answer is not None and not answer["errorCode"] and answer["baseOffset"] >= 0:
                self.take_produced(partition, each["records"] or b"", answer)

    def take_produced(self, partition: SeenPartition, records: bytes, answer: Mapping[str, Any]) -> None:
        """Add the batches of one partition of a Produce request, from the base offset in its row of the response on."""
        time = answer.get("logAppendTimeMs", -1)
        try:
            batches = read_incoming(records, LONGEST)
        except RefusedError:
            return
        offset = answer["baseOffset"]
        for each in batches if offset + sum(each.offsets for each in batches) <= LAST_END else ():
            ready = each if time < 0 else stamped(each, time)
            parts, _ = numbered(ready, offset, max(partition.epoch, 0), 0)
            self.spool.keep(partition, [(ready, b"".join(parts))])
            offset += each.offsets

    def take_offsets(self, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Add first offsets and ends of logs from ListOffsets."""
        requested = {
            (row["name"], each["partitionIndex"]): each["timestamp"]
            for row in request["topics"]
            for each in row["partitions"]
        }
        for seen, row, each in self.rows_of(response["topics"]):
            offset = each.get("offset", -1)
            if each["errorCode"] or offset < 0:
                continue
            partition = seen.partition(each["partitionIndex"])
            when = requested.get((row["name"], each["partitionIndex"]))
            if when == OffsetTime.LATEST:
                partition.end = max(partition.end, offset)
            elif when == OffsetTime.EARLIEST:
                partition.start = max(partition.start, offset)


READERS: Mapping[int, Callable[[CaptureHistory, Mapping[str, Any], Mapping[str, Any]], None]] = {
    PRODUCE: CaptureHistory.take_produce,
    LIST_OFFSETS: CaptureHistory.take_offsets,
    METADATA: CaptureHistory.take_metadata,
    CREATE_TOPICS: CaptureHistory.take_created,
    DESCRIBE_TOPIC_PARTITIONS: CaptureHistory.take_metadata,
}


def take_hint(partition: SeenPartition, row: Mapping[str, Any]) -> None:
    """Add the current leader that a row has with an error (KIP-951)."""
    hint = row.get("currentLeader")
    if hint:
        partition.lead(hint["leaderEpoch"], hint["leaderId"])


def certain_magic(version: int) -> int:
    """Return the newest magic in which records are certainly stored if a Fetch of this version returns them so. Magic 2
    is never converted to; the newest magic of an older version may be the result of down-conversion.
    """
    newest = newest_magic(version)
    return newest if newest == NEWEST_MAGIC else newest - 1


class SeenSessions:
    """The sessions. by_server: the capacity by address; after `settle` all addresses of a broker have the same one.

    shards: of each broker's cache. newest_fetch: the newest Fetch version of a broker in the capture, -1 if unknown.
    """

    def __init__(self) -> None:
        self.by_server: dict[str, SessionCapacity] = {}
        self.shards = SHARDS
        self.newest_fetch = -1

    @property
    def slots(self) -> int | None:
        """The number of fetch session slots of a broker; None if they never ran out."""
        return max((each.slots for each in self.by_server.values() if each.slots is not None), default=None)

    def take(self, item: Exchange) -> None:
        """Add an exchange with a request and a response."""
        request, response = item.request, item.response
        assert request is not None and response is not None
        if item.api_key == API_VERSIONS:
            ranges = {row["apiKey"]: row["maxVersion"] for row in response["apiKeys"]}
            self.newest_fetch = max(self.newest_fetch, ranges.get(FETCH, -1))
        elif item.api_key == FETCH and item.api_version >= SESSIONS_SINCE and "sessionId" in request:
            self.newest_fetch = max(self.newest_fetch, item.api_version)
            capacity = self.by_server.setdefault(item.link.server, SessionCapacity())
            capacity.take(exchange_key(item), item.response_ns or item.request_ns, request, response)

    def settle(self, addresses: Addresses) -> None:
        """Merge the capacities of one broker's addresses, and find the number of shards."""
        addresses.assign(self.by_server)
        alone = next(iter(addresses.nodes)) if len(addresses.nodes) == 1 else None
        by_node: dict[int | None, SessionCapacity] = {}
        for server, each in sorted(self.by_server.items()):
            first = by_node.setdefault(addresses.node(server) if alone is None else alone, each)
            if first is not each:
                first.merge(each)
                self.by_server[server] = first
        self.shards = shards_of(self.newest_fetch, by_node.values())
        for each in by_node.values():
            each.shards = self.shards


def exchange_key(item: Exchange) -> FetchKey:
    """Return the FetchKey of an exchange."""
    return FetchKey(item.connection, item.correlation_id, item.request_ns)


def shards_of(newest_fetch: int, brokers: Iterable[SessionCapacity]) -> int:
    """Return the number of shards of a session cache. newest_fetch: the newest Fetch version of a broker, -1 if
    unknown.
    """
    if newest_fetch >= SHARDED_SINCE or newest_fetch < 0:
        return SHARDS
    if newest_fetch < PERHAPS_SHARDED:
        return 1
    steps = [step for each in brokers for step in each.shard_steps()]
    return SHARDS if steps.count(1) * 2 >= len(steps) else 1

"""A session as observed in a capture: its partitions and statistics.

Its memory grows with its partitions, not with the number of fetches.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from kcli.core.sessions.fetches import Counts, PartitionState, Timeline
from kcli.grammar import messages
from kcli.schemas.apikeys import FETCH
from kcli.schemas.catalog import catalog
from kcli.schemas.definition import ZERO_UUID
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, TOPIC_IDS_SINCE, Asked, FetchExchange, Key
from kcli.sessions.latency_histogram import LatencyHistogram

CHANGES = 256
SILENT = 1000  # number of names that are kept of partitions without records, once their session has ended


class SessionChange:
    """A change of a session's set of partitions. ns: its time; added, forgotten: numbers; partitions: their number
    afterwards.
    """

    __slots__ = ("added", "forgotten", "ns", "partitions")

    def __init__(self, ns: int, added: int, forgotten: int, partitions: int) -> None:
        self.ns, self.added, self.forgotten, self.partitions = ns, added, forgotten, partitions


class FetchStatistics(Counts):
    """Statistics of fetches, in a session or of a client without one.

    chosen: whether one of the fetches was chosen (see `SessionRegistry.choose`)
    """

    latencies: LatencyHistogram

    def __init__(self) -> None:
        super().__init__()
        self.findings = 0
        self.chosen = False
        self.latencies = LatencyHistogram()
        self.strip = Timeline()

    def count(self, x: FetchExchange, full: bool) -> int:
        """Count a fetch. Returns the bytes of its records."""
        if not self.fetches:
            self.first_ns = x.ns
        self.last_ns = x.response_ns or x.ns
        self.fetches += 1
        self.full += full
        self.request_bytes += x.request_bytes
        if not x.answered:
            self.unanswered += 1
            return 0
        self.response_bytes += x.response_bytes
        size = x.seated_records
        for _, reported in x.reported:
            size += reported[4]
            if reported[0]:
                self.errors[reported[0]] = self.errors.get(reported[0], 0) + 1
        if x.error:
            self.errors[x.error] = self.errors.get(x.error, 0) + 1
        elif not size:
            self.empty += 1
        self.records_bytes += size
        self.throttled += x.throttle_ms > 0
        if x.response_ns is not None:
            self.latencies.add(x.response_ns - x.ns)
        self.strip.add(x.ns, x.request_bytes + x.response_bytes, full)
        return size


class ObservedSession(FetchStatistics):
    """A session.

    complete: all its partitions are known, because its beginning was seen and nothing is missing
    forgotten: partitions that were dropped and not added again (only as many as the session ever had)
    first, most, last: number of partitions at its beginning, at most, at its end
    silent_keys: partitions that it had at its end and that returned no records
    evictor: the session that took its slot; displaced: the one whose slot it took; 0: none
    successor: (id, ns after the end) of its client's next session
    kernel: follows its steady fetches; None for a draft's session
    """

    def __init__(self, x: FetchExchange, session_id: int, complete: bool, kernel: Any = None) -> None:
        super().__init__()
        self.server = x.server
        self.session_id = session_id
        self.connection = x.connection
        self.client_id = x.client_id
        self.replica_id = x.replica_id
        self.version = x.version
        self.topic_ids = x.version >= TOPIC_IDS_SINCE
        self.complete = complete
        self.since_start = complete
        self.opened_ns = x.ns
        self.granted_ns = 0
        self.forgotten: set[Key] = set()
        self.added = self.dropped = self.most = self.first = 0
        self.changes: list[SessionChange] = []
        self.end: str | None = None
        self.last = self.silent_count = 0
        self.silent_keys: list[Key] = []
        self.end_error = 0
        self.end_ns = 0
        self.evictor = self.displaced = self.evicted_ns = 0
        self.successor: tuple[int, int] | None = None
        self.sizes: FetchSizes = fetch_sizes(x.version)
        self._topics: dict[str, int] = {}
        self.kernel = kernel
        if kernel is not None:
            kernel.adopt(self, self.topic_ids)

    @property
    def privileged(self) -> bool:
        """Return whether a follower uses it; such sessions are evicted later (KIP-227)."""
        return self.replica_id >= 0

    def blur(self) -> None:
        """Forget uncertain state, because bytes of this session are missing."""
        self.complete = self.unsure = False
        self.next_epoch = -1
        self.late = 0
        self.forgotten.clear()
        for seat in self.seats.values():
            seat.informed = seat.late = False
            seat.asked = None

    def add(self, key: Key, asked: Asked | None, informed: bool) -> PartitionState:
        """Add a partition with its requested position. informed: a response has had it."""
        seat = PartitionState(asked, informed)
        self.forgotten.discard(key)
        self.enter(key, seat)
        self._cost(key[0], 1)
        self.most = max(self.most, self.size)
        return seat

    def begin(self, x: FetchExchange) -> None:
        """Begin with the partitions of a full fetch and its response. If a partition is named twice, the first
        counts.
        """
        if x.seated is None:
            self.fill(x.asked, x.reported, x.isolation, self.privileged)
        for topic, count in counts(self.seats).items() if x.seated is None else x.seated:
            self._cost(topic, count)
            self.first += count
        self.most = self.first
        self.full_request_bytes += x.request_bytes
        self.full_response_bytes += x.response_bytes

    def drop(self, key: Key) -> bool:
        """Remove a partition. Returns False if it is not in the session."""
        seat = self.leave(key)
        if seat is None:
            return False
        self.late -= seat.late
        self.forgotten.add(key)
        self._cost(key[0], -1)
        return True

    def attach(self) -> None:
        """Have the kernel follow this session as long as its fetches are regular on this connection."""
        if self.kernel is not None:
            request, response = self.sizes.request, self.sizes.response
            sizes = (
                *(request.topic, request.partition, request.flexible),
                *(response.topic, response.partition, response.flexible),
            )
            self.kernel.attach(
                self, self.connection, self.server, self.session_id, self.version, self.privileged, sizes
            )

    def detach(self) -> None:
        """Take the session's state back from the kernel."""
        if self.kernel is not None:
            self.kernel.detach(self)

    def note_change(self, ns: int, added: int, forgotten: int) -> None:
        """Note the numbers of partitions added and forgotten at a time (ns)."""
        self.added += added
        self.dropped += forgotten
        self.changes.append(SessionChange(ns, added, forgotten, self.size))
        if len(self.changes) > CHANGES:
            self.changes = merged(self.changes)

    def finish(self, why: str, ns: int, report: bool) -> None:
        """End the session at a time (ns), and free its partitions. report: keep the data that a report needs."""
        self.end, self.end_ns = why, ns
        self.last = self.size
        if report:
            self.silent_keys, self.silent_count = self.silent(SILENT)
        self.clear()
        self._topics, self.forgotten = {}, set()

    def charge(self, x: FetchExchange) -> None:
        """Add the bytes that this fetch would have as a full one: its own, and those of the partitions that it did not
        name.
        """
        request, response = self.sizes.request, self.sizes.response
        if x.request_bytes:
            forgotten = self.sizes.forgotten_bytes(counts(x.forgotten))
            missing = self._missing(request, self.request_cost, x.asked) - forgotten
            self.full_request_bytes += x.request_bytes + missing
        if x.response_bytes:
            missing = self._missing(response, self.response_cost, x.reported)
            self.full_response_bytes += x.response_bytes + missing

    def _missing(self, side: MessageSizes, cost: int, named: Sequence[tuple[Key, object]]) -> int:
        """Return by how many bytes a message with every partition is longer than one with these. cost: bytes of all its
        topics.
        """
        topics = runs(named)
        cost -= sum(side.topic_bytes(topic, count) for topic, count in topics)
        return cost + count_bytes(len(self._topics), side.flexible) - count_bytes(len(topics), side.flexible)

    def _cost(self, topic: str, more: int) -> None:
        """Update the bytes of a message with every partition, on both sides, for a changed number of a topic's
        partitions.
        """
        before = self._topics.get(topic, 0)
        after = before + more
        for_request, for_response = self.sizes.request, self.sizes.response
        if before:
            self.request_cost -= for_request.topic_bytes(topic, before)
            self.response_cost -= for_response.topic_bytes(topic, before)
        if after:
            self._topics[topic] = after
            self.request_cost += for_request.topic_bytes(topic, after)
            self.response_cost += for_response.topic_bytes(topic, after)
        else:
            self._topics.pop(topic, None)
        self.topics = len(self._topics)


def counts(keys: Iterable[Key]) -> Counter[str]:
    """Return {topic: number of partitions}."""
    return Counter(map(itemgetter(0), keys))


def runs(partitions: Sequence[tuple[Key, object]]) -> list[tuple[str, int]]:
    """Return (topic, number of partitions) as in a message; a topic that comes again after another is there twice."""
    return [(topic, sum(1 for _ in run)) for topic, run in groupby(key[0] for key, _ in partitions)]


def merged(changes: list[SessionChange]) -> list[SessionChange]:
    """Merge adjacent changes, so that the changes of one session take bounded memory."""
    made = []
    for first, second in zip(changes[::2], [*changes[1::2], None], strict=False):
        if second is None:
            made.append(first)
        else:
            made.append(
                SessionChange(
                    first.ns, first.added + second.added, first.forgotten + second.forgotten, second.partitions
                )
            )
    return made


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

"""A fetch between request and response, in any dialect: it reads partitions, and waits if there are too few bytes."""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from kcli.broker.fetch.partition_reads import Limits, PartitionRead, PartitionReader
from kcli.broker.fetch.purgatory import CapturedMoment, DelayedFetch
from kcli.broker.partition import Key
from kcli.broker.request import Request
from kcli.broker.response import Answer, EncodedBody
from kcli.schemas.acl_codes import Resource
from kcli.sessions.values import Position, Result

NO_LIMIT = (1 << 31) - 1
FOLLOWERS_SINCE, SNAPSHOTS_SINCE = 11, 12
MANY = 1000


class Conversation(Protocol):
    """The source of a fetch's partitions: a fetch session, one of KIP-227's draft, or the request alone."""

    def candidates(self) -> Iterable[tuple[Key, Position]]:
        """Return the partitions to read, in the order in which to fill the response."""

    def mark(self, key: Key) -> None:
        """Mark a partition of the session as one to read."""

    def watched(self) -> Sequence[Hashable]:
        """Return the keys under which the fetch waits: its session's, or one per partition; empty without
        partitions.
        """


def positions(
    topics: Iterable[Mapping[str, Any]], field: str, position: Callable[[Mapping[str, Any]], tuple[int, Position]]
) -> dict[Key, Position]:
    """Return the partitions of a request with their positions. field: of a topic's name or id; position: returns the
    index and position of a partition's row.
    """
    made: dict[Key, Position] = {}
    for topic in topics:
        name = topic[field]
        for each in topic["partitions"]:
            index, where = position(each)
            made[name, index] = where
    return made


def by_topic(field: str, rows: Iterable[tuple[Key, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Group adjacent rows of one topic under a row of the topic. field: that of the topic's name or id."""
    topics: list[dict[str, Any]] = []
    for key, row in rows:
        if not topics or topics[-1][field] != key[0]:
            topics.append({field: key[0], "partitions": []})
        topics[-1]["partitions"].append(row)
    return topics


def replica_of(body: Mapping[str, Any]) -> int:
    """Return the replica id of a Fetch request, -1 for a consumer."""
    state = body.get("replicaState")
    replica: int = state["replicaId"] if state else body.get("replicaId", -1)
    return replica


def undisturbed(partitions: int) -> AbstractContextManager[None]:
    """Pause garbage collection while many partitions are processed, as all objects made for them are still in use."""
    return uncollected() if partitions >= MANY and gc.isenabled() else nullcontext()


@contextmanager
def uncollected() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Work:
    """A fetch in progress. by_id: topics are named by id. whole_first: the first batch is returned whole (KIP-74), and
    maxBytes limits the whole response. min_bytes: the bytes to wait for. encode: makes the response's body from the
    reads of partitions and the throttle time (ms).
    """

    def __init__(
        self,
        request: Request,
        conversation: Conversation,
        encode: Callable[[dict[Key, PartitionRead], int], EncodedBody],
        *,
        by_id: bool = False,
        whole_first: bool = True,
        max_wait_ms: int,
    ) -> None:
        self.purgatory = request.node.purgatory
        self.request, self.conversation, self.encode, self.by_id = request, conversation, encode, by_id
        body, most = request.body, request.configs.int("fetch.max.bytes")
        wanted = min(body.get("maxBytes", NO_LIMIT), most) if whole_first else NO_LIMIT
        follower = replica_of(body) >= 0
        # In a broker made from a capture the leader alone answers, as it is not known what followers had.
        may_follow = not follower and request.version >= FOLLOWERS_SINCE and not request.services.coordinators.shared
        self.limits = Limits(wanted, whole_first, request.reads_committed, follower, may_follow)
        self.min_bytes = min(body["minBytes"], most)
        self.max_wait = max_wait_ms / 1000
        self.reads: dict[Key, PartitionRead] = {}
        self.bytes = self.seen = 0
        self.remote = self.is_unseen = False

    def begin(self) -> Answer | Awaitable[Answer]:
        """Return the response if it has enough, else an awaitable of it."""
        gate = self.request.services.fetch_gate()
        if gate is not None:
            return self.answer_at(gate)
        self.look()
        return self.wait() if self.remote or not self.is_done() else self.encode(self.reads, 0)

    async def answer_at(self, gate: Awaitable[CapturedMoment]) -> Answer:
        """Wait for the gate of a rebuilt capture; return the response by the state that the captured client saw
        then.
        """
        moment = await gate
        for partition in moment.partitions:
            self.conversation.mark(partition.keys[self.by_id])
        for key, _ in self.conversation.candidates():
            found = self.request.topics.find(key, self.by_id)
            if found is not None:
                moment.restore(found)
        self.look()
        if self.is_unseen:
            moment.report_missing()
        return self.encode(self.reads, moment.throttle_ms)

    def look(self) -> None:
        """Read the partitions that may have changed."""
        self.seen = self.purgatory.events
        snapshots = self.request.metadata.snapshots if self.request.version >= SNAPSHOTS_SINCE else None
        reader = PartitionReader(self.request.topics, self.request.node.id, self.by_id, self.limits, snapshots)
        self.reads = reader.read_all(self.conversation.candidates())
        self.bytes, self.remote, self.is_unseen = reader.bytes, reader.remote, reader.unseen
        services = self.request.services
        if services.faults.rules or services.security.authorizer is not None:
            self.add_faults()

    def add_faults(self) -> None:
        """Replace results by the errors of fault rules and of topics that the client is not authorized to read."""
        for key, read in self.reads.items():
            partition = read.partition or self.request.topics.find(key, self.by_id)
            if partition is not None:
                code = self.request.fault(partition.topic.name, key[1])
            else:
                code = 0 if self.by_id else self.request.denial(Resource.TOPIC, key[0])
            if code:
                self.reads[key] = PartitionRead(Result(error=code), partition=partition)

    def is_done(self) -> bool:
        """Return whether to respond now: enough bytes, an error, no time left, or nothing to wait for."""
        if self.bytes >= self.min_bytes or self.max_wait <= 0 or self.request.client.half_closed.is_set():
            return True
        if any(read.result.error or read.result.diverging for read in self.reads.values()):
            return True
        return not self.conversation.watched()

    async def wait(self) -> Answer:
        """Read again whenever enough was written, until the fetch is done or maxWaitMs are over. Returns the
        response.
        """
        clock = self.request.services.clock
        until = clock.time() + self.max_wait
        keys = self.conversation.watched()
        while not self.is_done() and clock.time() < until:
            watch = DelayedFetch(keys, self.min_bytes - self.bytes)
            self.purgatory.add(watch)
            self.request.client.on_half_closed(watch.woken)
            timer = clock.call_later(until - clock.time(), watch.woken.set)
            try:
                # A write before this task began to run has not woken it, so that it must read again at once.
                if self.purgatory.events == self.seen:
                    await watch.woken.wait()
            finally:
                timer.cancel()
                self.purgatory.remove(watch)
            self.look()
        if self.remote:
            # The latency of remote storage. Only this fetch waits for it.
            await asyncio.sleep(self.request.configs.int("remote.read.latency.ms") / 1000)
        return self.encode(self.reads, 0)

"""A rebuilt broker by the time of the capture: each partition has the state of the captured one at that time.

A fetch waits until its captured response is due (`release`). Then the broker is set to the state in which the captured
broker made that response, and reads, limits and encodes as always. The state is:

* the start and the ends of each log, for consumers and for followers, as in the response;
* the leader epoch and the leader that the node knew, as far as the response shows them (`captured_partition`);
* partitions that a response in a session leaves out are unchanged since the last response with them. They are set only
  when the broker reads such a partition, so that a fetch costs no more than the partitions that it reads;
* the time, which decides the age of sessions, and the id of the next session if one is granted (`captured_sessions`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from kcli.broker.broker import Broker
from kcli.broker.fetch.conversion import newest_magic
from kcli.broker.fetch.purgatory import CapturedMoment
from kcli.broker.partition import Partition, VisibleOffsets
from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.captured_partition import NOTHING_YET, Fetched, PartitionState, moved, state_behind
from kcli.broker.rebuilt.captured_sessions import CapturedSessions, captured_key
from kcli.broker.rebuilt.record_spans import Span
from kcli.broker.rebuilt.session_capacity import FetchKey
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.epochs import FULL_EPOCH
from kcli.sessions.fetch_exchange import Captured, Key, Reported
from kcli.sessions.values import Position
from kcli.topic_names import lawful_name

# The Fetch version of KIP-283. From it on the size of converted records is known before they are converted.
LAZY_SINCE = 8


class FetcherState:
    """A fetcher. requested: its latest request by partition; known: the state of each partition that was reported to
    it; refused: partitions with an error in the last response.
    """

    def __init__(self) -> None:
        self.requested: dict[Key, Fetched] = {}
        self.known: dict[Partition, PartitionState] = {}
        self.refused: set[Key] = set()


class CapturedState:
    """The brokers of a capture for a replay (`kcli.replay.sessions.conducting.CapturedBrokers`)."""

    def __init__(self, broker: Broker, history: CaptureHistory) -> None:
        self.broker, self.history = broker, history
        self.ns = 0
        self.fetchers: dict[str, FetcherState] = {}
        self._final: dict[Partition, PartitionState] = {}
        self._begun: Callable[[], None] | None = None
        self._gates: dict[str, asyncio.Future[CapturedMoment]] = {}
        self._label = ""
        self._nodes = tuple(broker.node_ids)
        self.sessions = CapturedSessions(broker, history)
        self._lacking: set[FetchKey] = set()
        self._converted = frozenset(history.uncertain())

    # --- asked by the broker

    def fetch_gate(self) -> Awaitable[CapturedMoment] | None:
        """Return the future that the current fetch waits for; None for a fetch that was not announced by `expect`."""
        begun, self._begun = self._begun, None
        if begun is None:
            return None
        self._gates[self._label] = gate = asyncio.get_running_loop().create_future()
        begun()
        return gate

    # --- asked by a replay

    def rewind(self) -> None:
        """Reset everything: partitions to the capture's end, no sessions, nothing reported to fetchers."""
        for partition, state in self._final.items():
            self._set(partition, state)
        self.sessions.rewind()
        self.ns = 0
        self.fetchers.clear()

    def node(self, captured: Captured) -> int | None:
        """Return the id of the node that got a captured fetch; None if the capture does not show it."""
        ids = self.broker.node_ids
        return ids[0] if len(ids) == 1 else self.history.addresses.node(captured.server)

    def carry(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> Mapping[Key, Position]:
        """Set up a session that began before the capture. Returns its positions by partition.

        steps: the session's fetches, in order; keys: its partitions.
        """
        first, fetcher = steps[0], self._fetcher(label)
        self._tick(first.ns)
        node = self.node(first)
        made: dict[Key, Position] = {}
        begun = self._first_offsets(steps)
        for key in keys:
            seen = self.history.find(key)
            epoch = seen.first_epoch
            fetcher.requested[key] = Fetched(epoch, begun.get(key, -1))
            leader = seen.leaders.get(epoch, -1) if node is None else node
            partition = self._partition(key)
            if partition is not None:
                state = PartitionState(epoch, leader, seen.replicas or self._nodes, NOTHING_YET)
                fetcher.known[partition] = state
                self._set(partition, state)
            made[key] = Position(begun.get(key, seen.end), leader_epoch=epoch)
        cache = self._cache(first)
        shard = cache.shard_of(first.session_id) if cache is not None else None
        if cache is not None and shard is not None and first.session_id:
            cache.foresee(shard.number, first.session_id)
        return made

    def arrival(self, captured: Captured) -> int:
        """Return when the broker processed a request (ns): its time in the capture, or later if the response shows
        so.
        """
        return self.sessions.arrival(captured)

    def departure(self, captured: Captured) -> int:
        """Return when the broker made a response (ns): its time in the capture, or earlier if other responses show
        so.
        """
        return self.sessions.departure(captured)

    def key(self, captured: Key) -> Key:
        """Return the key of a captured partition in this broker."""
        return self.sessions.key(captured)

    def adopt(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> None:
        """Begin a fetcher. keys: partitions that were in its session before the capture began."""
        self.carry(label, steps, keys)
        self.sessions.begin(label, steps)

    def unknown(self, captured: Captured, partitions: Sequence[str]) -> str:
        """Return why the capture does not determine the response to a fetch; "" if it does.

        partitions: names ("topic[0]") of the partitions in question, empty for the question whether it has a session.
        Call it in the order of the capture.
        """
        if not partitions:
            return self.sessions.unknown(captured)
        if not self._converted.isdisjoint(partitions):
            return "how records are stored that were converted for old clients"
        if self._is_converted(captured):
            return "the size of converted records after the broker compressed them"
        if self.sessions.is_older(captured):
            return "the order and positions of partitions in sessions that began before the capture"
        return "records that are in no response" if captured_key(captured) in self._lacking else ""

    def expect(self, label: str, captured: Captured, begun: Callable[[], None]) -> None:
        """Announce the next fetch; `begun` is called when the fetch has arrived."""
        self._tick(captured.ns)
        fetcher = self._fetcher(label)
        if captured.session_epoch <= FULL_EPOCH:
            fetcher.requested.clear()
        fetcher.requested.update((key, Fetched(asked[3], asked[0], asked[2])) for key, asked in captured.asked)
        self._move(captured, fetcher)
        self._begun, self._label = begun, label
        if captured.session_epoch > FULL_EPOCH:
            self.sessions.resume(label, captured, partial(self._ends, fetcher), self.ns // 1_000_000)

    def release(self, label: str, captured: Captured) -> None:
        """Let the broker answer a fetch now, with the state at its captured response."""
        self._begun = None
        self._tick(captured.response_ns or captured.ns)
        fetcher = self._fetcher(label)
        fetch = captured_key(captured)
        spans, node = self.history.spans.get(fetch, {}), self.node(captured)
        answered: list[Partition] = []
        used = 0
        for key, reported in captured.reported:
            partition = self._partition(key)
            if partition is None:
                continue
            requested, span = fetcher.requested.get(key, Fetched()), spans.get(key)
            if span is not None and requested.offset >= 0:
                # The records begin after the requested offset, so that there are none between.
                partition.unseen.remove(requested.offset, span.first)
            used += reported[4]
            if span is not None and used < captured.max_bytes and ends_early(captured, reported, requested, span):
                partition.break_at(span.end)
            end = span.end if span is not None else -1
            before, seen = fetcher.known.get(partition), self.history.find(key)
            fetcher.known[partition] = state_behind(reported, requested, end, before, seen, node, self._nodes)
            answered.append(partition)
        fetcher.refused.difference_update(key for key, _ in captured.asked)
        recovered = fetcher.refused.difference(key for key, _ in captured.reported)
        self.sessions.settle(captured, {key: span.first for key, span in spans.items()}, recovered)
        fetcher.refused = {key for key, reported in captured.reported if reported[0]}
        self.sessions.foresee(captured)
        gate = self._gates.pop(label, None)
        if gate is not None and not gate.done():
            restore, report_missing = partial(self._restore, fetcher), partial(self._lacking.add, fetch)
            gate.set_result(CapturedMoment(answered, restore, captured.throttle_ms, report_missing))

    # --- states

    def _is_converted(self, captured: Captured) -> bool:
        """Return whether a broker before KIP-283 converted records for this fetch, so that its own compression decided
        their size.
        """
        if not 0 <= self.history.sessions.newest_fetch < LAZY_SINCE:
            return False
        newest = newest_magic(captured.version)
        return any(magic > newest for key, _ in captured.reported for magic, _ in self.history.find(key).batches)

    def _first_offsets(self, steps: Sequence[Captured]) -> dict[Key, int]:
        """Return a fetcher's position in each partition before the capture: the first offset of the first records that
        it got before it sent a position itself.
        """
        made: dict[Key, int] = {}
        requested: set[Key] = set()
        for each in steps:
            requested.update(key for key, _ in each.asked)
            for key, span in self.history.spans.get(captured_key(each), {}).items():
                if key not in requested:
                    made.setdefault(key, span.first)
        return made

    def _move(self, captured: Captured, fetcher: FetcherState) -> None:
        """Apply the offsets in a request: if there is no error, the logs reach at least to them."""
        if captured.error:
            return
        refused = {key for key, reported in captured.reported if reported[0]}
        for key, _ in captured.asked:
            partition = self._partition(key) if key not in refused else None
            state = fetcher.known.get(partition) if partition is not None else None
            if partition is not None and state is not None:
                fetcher.known[partition] = moved(state, fetcher.requested[key], self.node(captured))

    def _fetcher(self, label: str) -> FetcherState:
        return self.fetchers.setdefault(label, FetcherState())

    def _restore(self, fetcher: FetcherState, partition: Partition) -> None:
        """Set a partition to the state that a fetcher knows."""
        state = fetcher.known.get(partition)
        if state is not None:
            self._set(partition, state)

    def _set(self, partition: Partition, state: PartitionState) -> None:
        if partition not in self._final:
            end = partition.end_offset
            held = partition.visible or VisibleOffsets(end, end, partition.start_offset, end)
            self._final[partition] = PartitionState(partition.epoch, partition.leader, partition.replicas, held)
        partition.epoch, partition.leader, partition.replicas, partition.visible, partition.refused = state

    def _partition(self, key: Key) -> Partition | None:
        topic = self.broker.topics.get(key[0]) or self.broker.topics.get(lawful_name(key[0]))
        return topic.partition(key[1]) if topic is not None else None

    def _tick(self, ns: int) -> None:
        self.ns = max(self.ns, ns)

    def _cache(self, captured: Captured) -> FetchSessionCache | None:
        """Return the session cache of the node that gets this fetch; None if the node is unknown."""
        node = self.sessions.node(captured)
        return node.sessions.cache if node is not None else None

    def _ends(self, fetcher: FetcherState) -> dict[Key, int]:
        """Return the end offsets of logs that a fetcher knows."""
        states = {
            key: fetcher.known.get(found) for key in fetcher.requested if (found := self._partition(key)) is not None
        }
        return {key: max(state.shown.end, 0) for key, state in states.items() if state is not None}


def ends_early(captured: Captured, reported: Reported, requested: Fetched, span: Span) -> bool:
    """Return whether a segment ended where the records end, because there was more to read, and room for it in the
    partition's limit.
    """
    _, high, stable, _, size, *_ = reported
    if captured.replica_id >= 0 or size >= requested.most:
        return False
    return span.end < (stable if captured.isolation and stable >= 0 else high)

"""A rebuilt broker on the captured clock: the state of each partition at every moment of the capture.

A fetch waits until its captured answer is due (`release`). Then the broker gets the state in which the captured one
made that answer, and looks up, limits and encodes like at any other time. Its state is:

* how far each log went, for consumers and for followers, and where it began: as in that answer;
* the leader epoch that the node knew, and so the leader, as far as the answer shows them. Who got records asked a
  leader, by the epoch that was named; FENCED_LEADER_EPOCH went to an older epoch than the node's,
  UNKNOWN_LEADER_EPOCH to a newer;
* of partitions that an answer in a session leaves out, what was last reported to the fetcher: they are unchanged.
  This is set only where the broker looks at such a partition: a fetch costs what it looks at, whoever else shares it;
* the time, by which sessions get old, and the id that the next session gets, where one is granted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial

from kcli.broker.broker import Broker
from kcli.broker.capture_history import CaptureHistory
from kcli.broker.captured_partition import NOTHING_YET, Fetched, PartitionState, state_behind
from kcli.broker.partition import Partition, Shown
from kcli.broker.purgatory import CapturedMoment
from kcli.broker.session_slots import Place
from kcli.client.replay.plan import Captured
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.epochs import EPOCH_MISMATCH, FULL_EPOCH, ID_NOT_FOUND
from kcli.sessions.trace import TOPIC_IDS_SINCE, Key
from kcli.sessions.values import FetchRequest, Position
from kcli.topic_names import lawful_name

__all__ = ["CapturedState"]

# max.partition.fetch.bytes as clients have it by default.
DEFAULT_BYTES = 1 << 20


class FetcherState:
    """One fetcher: what it asked of each partition, and the state of each that was reported to it."""

    def __init__(self) -> None:
        self.asked: dict[Key, Fetched] = {}
        self.known: dict[Partition, PartitionState] = {}


class CapturedState:
    """The brokers of a capture, as a replay asks them (`kcli.client.replay.conducting.CapturedBrokers`)."""

    def __init__(self, broker: Broker, history: CaptureHistory) -> None:
        self.broker, self.history = broker, history
        self.ns = 0
        self.fetchers: dict[str, FetcherState] = {}
        self._final: dict[Partition, PartitionState] = {}
        self._begun: Callable[[], None] | None = None
        self._gates: dict[str, asyncio.Future[CapturedMoment]] = {}
        self._label = ""
        self._nodes = tuple(broker.node_ids)
        self._turns = {place: turn for each in self.history.sessions.values() for place, turn in each.turns().items()}

    # --- what the broker asks

    def fetch_gate(self) -> Awaitable[CapturedMoment] | None:
        """What the current fetch waits for; None for one that was not announced."""
        begun, self._begun = self._begun, None
        if begun is None:
            return None
        self._gates[self._label] = gate = asyncio.get_running_loop().create_future()
        begun()
        return gate

    # --- what a replay asks

    def rewind(self) -> None:
        """Start over: every partition as the capture left it, no sessions, nothing reported to fetchers."""
        for partition, state in self._final.items():
            self._set(partition, state)
        for node in self.broker.nodes:
            node.evict_sessions()
        self.ns = 0
        self.fetchers.clear()

    def node(self, captured: Captured) -> int | None:
        """The node id that a captured fetch went to; None where the capture does not show it."""
        ids = self.broker.node_ids
        return ids[0] if len(ids) == 1 else self.history.addresses.node(captured.server)

    def carry(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> Mapping[Key, Position]:
        """Set up a session that began before the capture. Returns where it stood in each partition.

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
            fetcher.asked[key] = Fetched(epoch, begun.get(key, -1))
            leader = seen.leaders.get(epoch, -1) if node is None else node
            partition = self._partition(key)
            if partition is not None:
                state = PartitionState(epoch, leader, seen.replicas or self._nodes, NOTHING_YET)
                fetcher.known[partition] = state
                self._set(partition, state)
            made[key] = Position(begun.get(key, seen.end), leader_epoch=epoch)
        cache = self._cache(first)
        shard = cache.shard_of(first.session_id) if cache is not None else None
        if cache is not None and shard is not None:
            cache.foresee(shard.number, first.session_id)
        return made

    def key(self, captured: Key) -> Key:
        """A captured partition as the brokers name it: a topic with a name that Kafka refuses has another one here."""
        topic, index = captured
        return captured if topic in self.broker.topics.by_id else (lawful_name(topic), index)

    def adopt(self, label: str, steps: Sequence[Captured], keys: Iterable[Key]) -> None:
        """Set up a session that began before the capture, as it was when its first fetch came.

        The order of its partitions is that in which they turn up.
        """
        first = steps[0]
        where = self.carry(label, steps, keys)
        if not first.session_id or first.session_epoch <= FULL_EPOCH or first.error == ID_NOT_FOUND:
            return
        number = self.node(first)
        node = self.broker.node(number) if number is not None else None
        if node is None:
            return
        most = next((asked[2] for each in steps for _, asked in each.asked), DEFAULT_BYTES)
        turned_up = [
            key
            for each in steps
            for key in (*(key for key, _ in each.reported), *(key for key, _ in each.asked), *each.forgotten)
        ]
        order = {key: None for key in turned_up if key in where}
        positions = {self.key(key): where[key]._replace(max_bytes=most) for key in order}
        epoch = first.session_epoch + (first.error == EPOCH_MISMATCH)
        request = FetchRequest(first.session_id, epoch, {}, (), first.version >= TOPIC_IDS_SINCE, first.replica_id)
        node.sessions.adopt(request, positions, self.ns // 1_000_000)

    def expect(self, label: str, captured: Captured, begun: Callable[[], None]) -> None:
        """Announce the next fetch; `begun` is called when it has arrived."""
        self._tick(captured.ns)
        fetcher = self._fetcher(label)
        if captured.session_epoch <= FULL_EPOCH:
            fetcher.asked.clear()
        fetcher.asked.update((key, Fetched(asked[3], asked[0])) for key, asked in captured.asked)
        self._begun, self._label = begun, label

    def release(self, label: str, captured: Captured) -> None:
        """Open the gate of a fetch: it is answered now, with the state at its captured response."""
        self._begun = None
        self._tick(captured.response_ns or captured.ns)
        fetcher = self._fetcher(label)
        place = place_of(captured)
        spans, node = self.history.spans.get(place, {}), self.node(captured)
        answered: list[Partition] = []
        for key, reported in captured.reported:
            partition = self._partition(key)
            if partition is None:
                continue
            asked, span = fetcher.asked.get(key, Fetched()), spans.get(key)
            if span is not None and asked.offset >= 0:
                # The records begin behind what was asked for: there are none between.
                partition.unseen.remove(asked.offset, span.first)
            end = span.end if span is not None else -1
            before, seen = fetcher.known.get(partition), self.history.find(key)
            fetcher.known[partition] = state_behind(reported, asked, end, before, seen, node, self._nodes)
            answered.append(partition)
        cache = self._cache(captured)
        if cache is not None and place in self._turns:
            cache.foresee(self._turns[place], captured.granted)
        gate = self._gates.pop(label, None)
        if gate is not None and not gate.done():
            gate.set_result(CapturedMoment(answered, partial(self._restore, fetcher), captured.throttle_ms))

    # --- states

    def _first_offsets(self, steps: Sequence[Captured]) -> dict[Key, int]:
        """Where a fetcher stood in each partition before the capture began: where the records begin that it got, before
        it said itself where it was."""
        made: dict[Key, int] = {}
        asked: set[Key] = set()
        for each in steps:
            asked.update(key for key, _ in each.asked)
            for key, span in self.history.spans.get(place_of(each), {}).items():
                if key not in asked:
                    made.setdefault(key, span.first)
        return made

    def _fetcher(self, label: str) -> FetcherState:
        return self.fetchers.setdefault(label, FetcherState())

    def _restore(self, fetcher: FetcherState, partition: Partition) -> None:
        """Bring a partition into the state that a fetcher knows."""
        state = fetcher.known.get(partition)
        if state is not None:
            self._set(partition, state)

    def _set(self, partition: Partition, state: PartitionState) -> None:
        if partition not in self._final:
            end = partition.end_offset
            held = partition.visible or Shown(end, end, partition.start_offset, end)
            self._final[partition] = PartitionState(partition.epoch, partition.leader, partition.replicas, held)
        partition.epoch, partition.leader, partition.replicas, partition.visible, partition.refused = state

    def _partition(self, key: Key) -> Partition | None:
        topic = self.broker.topics.get(key[0]) or self.broker.topics.get(lawful_name(key[0]))
        return topic.partition(key[1]) if topic is not None else None

    def _tick(self, ns: int) -> None:
        self.ns = max(self.ns, ns)

    def _cache(self, captured: Captured) -> FetchSessionCache | None:
        """The sessions of the node that this fetch goes to."""
        number = self.node(captured)
        node = self.broker.node(number) if number is not None else None
        return node.sessions.cache if node is not None else None


def place_of(captured: Captured) -> Place:
    return Place(captured.connection, captured.correlation_id, captured.ns)

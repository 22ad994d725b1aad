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
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from kcli.broker.broker import Broker
from kcli.broker.capture_history import CaptureHistory
from kcli.broker.codes import error_code
from kcli.broker.partition import Partition, Shown
from kcli.broker.purgatory import CapturedMoment
from kcli.broker.seen_topics import SeenPartition
from kcli.broker.session_slots import Place
from kcli.client.replay.plan import Captured
from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.epochs import FULL_EPOCH
from kcli.sessions.trace import Key, Reported
from kcli.sessions.values import Position
from kcli.topic_names import lawful_name

__all__ = ["CapturedState"]

FENCED, UNKNOWN_EPOCH = error_code("FENCED_LEADER_EPOCH"), error_code("UNKNOWN_LEADER_EPOCH")
NOT_LEADER = error_code("NOT_LEADER_OR_FOLLOWER")
# Other than any watermark: whatever comes next is news.
NOTHING_YET = Shown(-1, -1, -1, -1)


class PartitionState(NamedTuple):
    """A partition as one node saw it. replicas: the nodes that hold one."""

    epoch: int
    leader: int
    replicas: tuple[int, ...]
    shown: Shown


class FetcherState:
    """One fetcher: the leader epochs that it named, and the state of each partition that was reported to it."""

    def __init__(self) -> None:
        self.epochs: dict[Key, int] = {}
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
            epoch = fetcher.epochs[key] = seen.first_epoch
            leader = seen.leaders.get(epoch, -1) if node is None else node
            partition = self._partition(key)
            if partition is not None:
                state = PartitionState(epoch, leader, self._replicas(seen), NOTHING_YET)
                fetcher.known[partition] = state
                self._set(partition, state)
            made[key] = Position(begun.get(key, seen.end), leader_epoch=epoch)
        cache = self._cache(first)
        shard = cache.shard_of(first.session_id) if cache is not None else None
        if cache is not None and shard is not None:
            cache.foresee(shard.number, first.session_id)
        return made

    def expect(self, label: str, captured: Captured, begun: Callable[[], None]) -> None:
        """Announce the next fetch; `begun` is called when it has arrived."""
        self._tick(captured.ns)
        fetcher = self._fetcher(label)
        if captured.session_epoch <= FULL_EPOCH:
            fetcher.epochs.clear()
        fetcher.epochs.update((key, asked[3]) for key, asked in captured.asked)
        self._begun, self._label = begun, label

    def release(self, label: str, captured: Captured) -> None:
        """Open the gate of a fetch: it is answered now, with the state at its captured response."""
        self._begun = None
        self._tick(captured.response_ns or captured.ns)
        fetcher = self._fetcher(label)
        place = place_of(captured)
        ends = self.history.spans.get(place, {})
        answered: list[Partition] = []
        for key, reported in captured.reported:
            partition = self._partition(key)
            if partition is not None:
                end = ends[key].end if key in ends else -1
                before = fetcher.known.get(partition)
                fetcher.known[partition] = self._state(
                    captured, fetcher.epochs.get(key, -1), before, key, reported, end
                )
                answered.append(partition)
        cache = self._cache(captured)
        if cache is not None and place in self._turns:
            cache.foresee(self._turns[place], captured.granted)
        gate = self._gates.pop(label, None)
        if gate is not None and not gate.done():
            gate.set_result(CapturedMoment(answered, partial(self._restore, fetcher)))

    # --- states

    def _state(
        self, captured: Captured, asked: int, before: PartitionState | None, key: Key, reported: Reported, end: int
    ) -> PartitionState:
        """The state of a partition in the node that reported this. asked: the leader epoch that was named, or -1."""
        error, high, stable, start = reported[:4]
        seen, node = self.history.find(key), self.node(captured)
        epoch = asked if asked >= 0 else before.epoch if before is not None else seen.epoch
        if error:
            epoch, hosted = epoch_behind(error, epoch, seen, node)
            leader = seen.leaders.get(epoch, -1)
            shown = before.shown if before is not None else NOTHING_YET
            leader = -1 if leader == node else leader
            return PartitionState(epoch, leader, self._replicas(seen) if hosted else (leader,), shown)
        leader = node if node is not None else seen.leaders.get(epoch, seen.leader)
        shown = Shown(high, stable if stable >= 0 else high, max(start, 0), max(high, end))
        return PartitionState(epoch, leader, self._replicas(seen), shown)

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
        partition.epoch, partition.leader, partition.replicas, partition.visible = state

    def _replicas(self, seen: SeenPartition) -> tuple[int, ...]:
        return seen.replicas or self._nodes

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


def epoch_behind(error: int, asked: int, seen: SeenPartition, node: int | None) -> tuple[int, bool]:
    """The leader epoch that a node knew when it gave this error to who named that epoch; and whether it held a replica.

    Epochs that the capture has no leader of lie next to the one that was named.
    """
    if error == FENCED:
        at = bisect_right(seen.epochs, asked)
        return seen.epochs[at] if at < len(seen.epochs) else asked + 1, True
    if error == UNKNOWN_EPOCH:
        at = bisect_left(seen.epochs, asked)
        return seen.epochs[at - 1] if at else asked - 1, True
    # A node that is to lead and does not, has not begun to; no replica looks at the epoch.
    return asked, not (error == NOT_LEADER and seen.leaders.get(asked) == node)

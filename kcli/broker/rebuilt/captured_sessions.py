"""The fetch sessions of captured brokers in a replay of the capture.

If the capture lacks the beginning or another part of a session, the session continues at the next captured fetch: with
the epoch in that request, and with each partition's position at the first record of its next response. The partitions
of the missing part are in the order in which later messages have them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from kcli.broker.broker import Broker
from kcli.broker.node import Node
from kcli.broker.rebuilt.capture_history import CaptureHistory
from kcli.broker.rebuilt.session_capacity import FetchKey
from kcli.sessions.cached_session import CachedSession
from kcli.sessions.epochs import FULL_EPOCH, ID_NOT_FOUND
from kcli.sessions.fetch_exchange import TOPIC_IDS_SINCE, Captured, Key
from kcli.sessions.values import FetchRequest, Position
from kcli.topic_names import lawful_name

# The default of max.partition.fetch.bytes in clients.
DEFAULT_BYTES = 1 << 20


class CapturedSessions:
    """The sessions. older: ids of sessions whose beginning or another part the capture lacks."""

    def __init__(self, broker: Broker, history: CaptureHistory) -> None:
        self.broker, self.history = broker, history
        self.older: set[int] = set()
        self._steps: dict[str, Sequence[Captured]] = {}
        # Partitions with an unknown position, by session id.
        self._stale: dict[int, set[Key]] = {}
        # Ids of sessions that this broker ended and the captured one did not; (server, shard) with an unknown state.
        self._ended: set[int] = set()
        self._unclear: set[tuple[str, int]] = set()
        self._turns: dict[FetchKey, int] = {}
        for each in self.history.sessions.by_server.values():
            self._turns |= each.turns

    def rewind(self) -> None:
        """Remove all sessions."""
        for node in self.broker.nodes:
            node.evict_sessions()
        self._stale.clear()
        self._ended.clear()
        self._unclear.clear()

    def node(self, captured: Captured) -> Node | None:
        """Return the node that got a fetch; None if the capture does not show it."""
        ids = self.broker.node_ids
        number = ids[0] if len(ids) == 1 else self.history.addresses.node(captured.server)
        return self.broker.node(number) if number is not None else None

    def key(self, captured: Key) -> Key:
        """Return the key of a captured partition in this broker, where invalid topic names are replaced."""
        topic, index = captured
        return captured if topic in self.broker.topics.by_id else (lawful_name(topic), index)

    def arrival(self, captured: Captured) -> int:
        """Return when the broker processed a request (ns): its time in the capture, or later if the response shows
        so.
        """
        requested_ns, answered_ns = captured.ns, captured.response_ns or captured.ns
        if captured.error == ID_NOT_FOUND:
            return answered_ns
        capacity = self.history.sessions.by_server.get(captured.server)
        if capacity is None or not capacity.is_full or not captured.session_id:
            return requested_ns
        return capacity.taken_in(
            captured.session_id, requested_ns, answered_ns, ends=captured.session_epoch <= FULL_EPOCH
        )

    def departure(self, captured: Captured) -> int:
        """Return when the broker made a response (ns): its time in the capture, or earlier if other responses show
        so.
        """
        answered = captured.response_ns or captured.ns
        capacity = self.history.sessions.by_server.get(captured.server)
        if capacity is None or not capacity.is_full or not captured.granted:
            return answered
        return capacity.granted_at(captured_key(captured), answered)

    def foresee(self, captured: Captured) -> None:
        """Prepare the cache for the session that this fetch may get: the next shard, and the captured id."""
        node, turn = self.node(captured), self._turns.get(captured_key(captured))
        if node is not None and turn is not None:
            node.sessions.cache.foresee(turn, captured.granted)

    def begin(self, label: str, steps: Sequence[Captured]) -> None:
        """Set the captured fetches of a fetcher."""
        self._steps[label] = steps

    def resume(self, label: str, captured: Captured, ends: Callable[[], Mapping[Key, int]], now: int) -> None:
        """Set up the session of a fetch if the capture lacks earlier fetches of it.

        ends: returns the fetcher's positions by partition, for those without a better source. now: ms.
        """
        node, capacity = self.node(captured), self.history.sessions.by_server.get(captured.server)
        if node is None or capacity is None or captured.session_epoch <= FULL_EPOCH or captured.error:
            return
        if label not in self._steps:
            return
        session = node.sessions.cache.get(captured.session_id)
        if session is None and capacity.saw_grant(captured.session_id) and captured.session_id not in self._ended:
            self._ended.add(captured.session_id)
        elif session is None:
            self._adopt(label, captured, node, ends(), now)
        elif session is not None and session.epoch != captured.session_epoch:
            self._catch_up(session, captured, ends())
        session = node.sessions.cache.get(captured.session_id)
        if session is not None and not captured.granted:
            session.partial = False
        stale = self._stale.get(captured.session_id)
        if stale:
            stale.difference_update(self.key(key) for key, _ in captured.asked)

    def settle(self, captured: Captured, firsts: Mapping[Key, int], recovered: Iterable[Key]) -> None:
        """Set unknown positions of partitions to the first records of a response, before it is made.

        recovered: partitions that had an error and are not in this response. As errors are repeated in every response,
        a fetch that the capture lacks has dropped them.
        """
        stale, node = self._stale.get(captured.session_id), self.node(captured)
        session = node.sessions.cache.get(captured.session_id) if stale is not None and node is not None else None
        if stale is None or session is None:
            return
        for key in recovered:
            session.drop(self.key(key))
        for key, reported in captured.reported:
            live = self.key(key)
            if live in session.partitions and live not in stale:
                continue
            cached = session.partitions.get(live)
            position = cached.position if cached is not None else Position(0, max_bytes=self._most(captured))
            session.put(live, position._replace(fetch_offset=firsts.get(key, max(reported[1], 0))))
            stale.discard(live)

    def is_older(self, captured: Captured) -> bool:
        """Return whether the capture has only a part of the fetch's session."""
        return bool(captured.session_id) and captured.session_id in self.older

    def unknown(self, captured: Captured) -> str:
        """Return why the capture does not show whether a fetch has a session; "" if it does."""
        capacity = self.history.sessions.by_server.get(captured.server)
        if capacity is None or not capacity.is_full:
            return ""
        if any(not capacity.saw_grant(session) for session in self.older):
            return "which sessions existed before the capture, and since when"
        session = captured.granted or captured.session_id
        shard = capacity.shard_of(session) if session else self._turns.get(captured_key(captured), -1)
        if (captured.server, shard) in self._unclear:
            return "consequences of other facts that it does not show"
        reason = capacity.doubt(shard, captured.ns, captured.response_ns or captured.ns)
        if reason:
            self._unclear.add((captured.server, shard))
        return reason

    def _adopt(self, label: str, captured: Captured, node: Node, ends: Mapping[Key, int], now: int) -> None:
        """Add a session that began before its first fetch in the capture."""
        positions = dict.fromkeys(map(self.key, self._members(label, captured)))
        most = self._most(captured)
        request = FetchRequest(
            captured.session_id,
            captured.session_epoch,
            topic_ids=captured.version >= TOPIC_IDS_SINCE,
            replica_id=captured.replica_id,
        )
        where = {self.key(key): end for key, end in ends.items()}
        node.sessions.adopt(request, {key: Position(where.get(key, 0), max_bytes=most) for key in positions}, now)
        self._stale[captured.session_id] = set(positions)
        self.older.add(captured.session_id)

    def _catch_up(self, session: CachedSession, captured: Captured, ends: Mapping[Key, int]) -> None:
        session.epoch = captured.session_epoch
        self._stale[session.id] = set(session.partitions)
        self.older.add(session.id)
        for key, end in ends.items():
            cached = session.partitions.get(self.key(key))
            if cached is not None:
                session.put(self.key(key), cached.position._replace(fetch_offset=end))

    def _members(self, label: str, captured: Captured) -> Iterable[Key]:
        """Yield the partitions that were in a session before this fetch, as no captured request adds them."""
        added: set[Key] = set()
        for each in self._steps.get(label, ()):
            if each.ns < captured.ns or each.session_id != captured.session_id or each.session_epoch <= FULL_EPOCH:
                continue
            first = each.session_epoch == captured.session_epoch
            reported = [key for key, _ in each.reported]
            added.update(key for key, _ in each.asked if not (first and key not in reported))
            yield from (key for key in (*reported, *each.forgotten) if key not in added)
            if first:
                yield from (key for key, _ in each.asked if key not in reported)

    def _most(self, captured: Captured) -> int:
        """Return max.partition.fetch.bytes of the client by its other fetches, else the default."""
        same = (each for steps in self._steps.values() for each in steps if each.client_id == captured.client_id)
        return next((requested[2] for each in same for _, requested in each.asked), DEFAULT_BYTES)


def captured_key(captured: Captured) -> FetchKey:
    """Return the FetchKey of a captured fetch."""
    return FetchKey(captured.connection, captured.correlation_id, captured.ns)

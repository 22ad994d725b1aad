"""The broker's side of fetch sessions, as a machine without sockets and without a clock.

    sessions = BrokerSessions(FetchSessionCache(slots=1000))
    fetch = sessions.begin(request, now)               # refuses, opens, continues or closes a session
    for partition, position in fetch.candidates(): ... # partitions that may have changed, in order of turn
    response = fetch.answer(results, now)              # leaves out what the fetcher already knows
    sessions.mark(partition)                           # something about this partition changed

Kafka's broker looks at every partition of a session in each fetch. Here the broker's log marks the partitions that
changed (`mark`), so that the cost of a fetch grows with the changes since the last one, not with its session's
partitions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.cached_session import CachedSession
from kcli.sessions.epochs import EPOCH_MISMATCH, NO_SESSION
from kcli.sessions.rules import RULES, Action, Found, Kind, Rules, kind_of
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result


class Fetch:
    """One fetch between its request and its response. error: the error code with which it is refused, else 0."""

    def __init__(
        self, owner: BrokerSessions, request: FetchRequest, action: Action, session: CachedSession | None = None
    ) -> None:
        self.owner = owner
        self.request = request
        self.action = action
        self.session = session
        refused = action in (Action.REFUSE_ID, Action.REFUSE_EPOCH, Action.REFUSE_NAMING)
        self.error: int = action.value if refused else 0

    def candidates(self) -> Iterable[tuple[Partition, Position]]:
        """Return (partition, position) of the partitions to read, in the order of the response; in a session only due
        ones.
        """
        if self.error:
            return ()
        if self.session is not None:
            return self.session.in_turn()
        return self.request.partitions.items()

    def answer(self, results: Mapping[Partition, Result], now: int, *, throttle_ms: int = 0) -> FetchResponse:
        """Return the response to send.

        A full fetch needs a result for each partition of the request. A session's response includes the results that
        changed; the other partitions are read again by the next fetch. throttle_ms: if not 0, the quota is used up, the
        response is empty (KIP-219) and the session stays as it is.
        """
        if self.error:
            return FetchResponse(self.error, throttle_ms=throttle_ms)
        if self.session is not None:
            return self._answer_incremental(self.session, results, throttle_ms)
        if throttle_ms:
            return FetchResponse(throttle_ms=throttle_ms)
        granted = self.owner.open(self.request, results, now) if self._asks_session() else NO_SESSION
        return FetchResponse(session_id=granted, partitions=dict(results))

    def _asks_session(self) -> bool:
        return self.action in (Action.OPEN, Action.REPLACE)

    def _answer_incremental(
        self, session: CachedSession, results: Mapping[Partition, Result], throttle_ms: int
    ) -> FetchResponse:
        rules = self.owner.rules
        if rules.recheck and session.epoch != rules.next_epoch(self.request.epoch):
            # Another fetch continued the session while this one was waiting for data.
            return FetchResponse(EPOCH_MISMATCH, session.id, throttle_ms=throttle_ms)
        if throttle_ms:
            return FetchResponse(session_id=session.id, throttle_ms=throttle_ms)
        reported = {
            partition: result for partition, result in results.items() if session.report(partition, result, rules)
        }
        return FetchResponse(session_id=session.id, partitions=reported)


class BrokerSessions:
    """All sessions of one broker. Source: KIP-227; Kafka's FetchManager and FetchContext."""

    def __init__(self, cache: FetchSessionCache | None = None, *, rules: Rules = RULES) -> None:
        self.rules = rules
        self.cache = cache if cache is not None else FetchSessionCache(rules=rules)
        self._interest: dict[Partition, set[CachedSession]] = {}

    def begin(self, request: FetchRequest, now: int) -> Fetch:
        """Process a request. Its epoch counts as used, even if the response is lost."""
        session = self.cache.get(request.session_id) if request.session_id else None
        action = self.rules.broker[kind_of(request.epoch), self._find(request, session)]
        if session is None:
            return Fetch(self, request, action)
        if action in (Action.REPLACE, Action.CLOSE):
            self.cache.remove(session)
        elif action is Action.CONTINUE:
            return self._go_on(request, session, now)
        return Fetch(self, request, action)

    def open(self, request: FetchRequest, results: Mapping[Partition, Result], now: int) -> int:
        """Open a session for a full fetch. Returns its id, 0 if there is no slot for it."""
        shard = self.cache.next_shard()
        privileged = request.replica_id >= 0
        if not shard.make_room(privileged, len(results), now):
            return NO_SESSION
        session = CachedSession(
            self.cache.new_id(shard),
            now,
            privileged=privileged,
            topic_ids=request.topic_ids,
            interest=self._interest,
        )
        for partition, result in results.items():
            session.start(partition, request.partitions[partition], result, self.rules)
        shard.add(session, now)
        return session.id

    def adopt(self, request: FetchRequest, positions: Mapping[Partition, Position], now: int) -> None:
        """Add a session in its state before this request, as far as that is known. Nothing counts as reported."""
        shard = self.cache.shard_of(request.session_id)
        if shard is None or request.session_id in shard.sessions:
            return
        privileged = request.replica_id >= 0
        session = CachedSession(
            request.session_id, now, privileged=privileged, topic_ids=request.topic_ids, interest=self._interest
        )
        session.epoch, session.partial = request.epoch, True
        for partition, position in positions.items():
            session.put(partition, position)
        shard.add(session, now)

    def mark(self, partition: Partition) -> Iterable[CachedSession]:
        """Note that a partition changed, so that the next fetch of each session with it reads it. Returns these
        sessions.
        """
        sessions = tuple(self._interest.get(partition, ()))
        for session in sessions:
            session.due.add(partition)
        return sessions

    def _find(self, request: FetchRequest, session: CachedSession | None) -> Found:
        if session is None:
            return Found.NOTHING
        if kind_of(request.epoch) is Kind.INCREMENTAL:
            if session.epoch != request.epoch:
                return Found.OTHER_EPOCH
            if session.topic_ids != request.topic_ids:
                return Found.OTHER_NAMING
        return Found.CURRENT

    def _go_on(self, request: FetchRequest, session: CachedSession, now: int) -> Fetch:
        for partition, position in request.partitions.items():
            session.put(partition, position)
        for partition in request.forgotten:
            session.drop(partition)
        if not session.partitions and not session.partial and self.rules.forget_last:
            self.cache.remove(session)
            return Fetch(self, request, self.rules.broker[Kind.INCREMENTAL, Found.EMPTIED])
        self.cache.touch(session, now)
        session.epoch = self.rules.next_epoch(session.epoch)
        return Fetch(self, request, Action.CONTINUE, session)

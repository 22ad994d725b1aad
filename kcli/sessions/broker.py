"""The broker's side of fetch sessions, as a machine without sockets and without a clock.

    sessions = BrokerSessions(FetchSessionCache(slots=1000))
    fetch = sessions.begin(request, now)               # refuses, opens, continues or closes
    for partition, position in fetch.candidates(): ... # what may have something to tell, in the order of the turns
    response = fetch.answer(results, now)              # leaves out what the fetcher knows already
    sessions.mark(partition)                           # something about this partition changed

Kafka's broker looks at every partition of a session in each fetch. Here the broker's log says which partitions moved
(`mark`), so that a fetch costs what changed since the last one, however many partitions its session has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count

from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.rules import (
    EPOCH_MISMATCH,
    FIRST_EPOCH,
    NO_SESSION,
    RULES,
    Action,
    Found,
    Kind,
    Rules,
    Told,
    kind_of,
)
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position, Result

__all__ = ["BrokerSessions", "Fetch", "Session"]

NEVER_TOLD = -1


class Cached:
    """One partition of a session: the fetcher's position, what it was told, and its turn (lower goes first)."""

    __slots__ = ("position", "told", "turn")

    def __init__(self, position: Position, turn: int) -> None:
        self.position = position
        self.told = Told(NEVER_TOLD, NEVER_TOLD)
        self.turn = turn


class Session:
    """A session in the cache. Times in ms.

    privileged: a follower's
    due: partitions that may have something to tell; what is not in it is as the fetcher was told
    """

    __slots__ = (
        "_interest",
        "_turns",
        "cached_size",
        "created",
        "due",
        "epoch",
        "id",
        "last_used",
        "partitions",
        "privileged",
        "topic_ids",
    )

    def __init__(
        self, session_id: int, now: int, *, privileged: bool, topic_ids: bool, interest: dict[Partition, set[Session]]
    ) -> None:
        self.id = session_id
        self.privileged = privileged
        self.topic_ids = topic_ids
        self.epoch = FIRST_EPOCH
        self.created = self.last_used = now
        self.cached_size = 0
        self.partitions: dict[Partition, Cached] = {}
        self.due: set[Partition] = set()
        self._turns = count()
        self._interest = interest

    def put(self, partition: Partition, position: Position) -> None:
        """Add a partition, or move the fetcher's position in it: either way it has to be looked at."""
        cached = self.partitions.get(partition)
        if cached is None:
            self.partitions[partition] = Cached(position, next(self._turns))
            self._interest.setdefault(partition, set()).add(self)
        else:
            cached.position = position
        self.due.add(partition)

    def drop(self, partition: Partition) -> None:
        """Forget a partition; one that is not in the session is ignored."""
        if self.partitions.pop(partition, None) is not None:
            self.due.discard(partition)
            self._lose_interest(partition)

    def release(self) -> None:
        """The session has left the cache: nobody is to mark it any more."""
        for partition in self.partitions:
            self._lose_interest(partition)

    def tell(self, partition: Partition, result: Result, rules: Rules) -> bool:
        """Whether this result must be in an incremental response; if so, it counts as told."""
        cached = self.partitions.get(partition)
        if cached is None:
            return False
        reasons = rules.reasons(cached.told, result)
        self._remember(cached, result, rules)
        if result.records_size > 0 and rules.rotate:
            cached.turn = next(self._turns)
        self._settle(partition, result)
        return bool(reasons)

    def start(self, partition: Partition, position: Position, result: Result, rules: Rules) -> None:
        """A partition of the full fetch that made this session, and what its response says."""
        self.put(partition, position)
        self._remember(self.partitions[partition], result, rules)
        self._settle(partition, result)

    def in_turn(self) -> list[tuple[Partition, Position]]:
        """Partitions that are due with the fetcher's positions, those first that waited longest."""
        due = sorted(self.due, key=lambda partition: self.partitions[partition].turn)
        return [(partition, self.partitions[partition].position) for partition in due]

    def _settle(self, partition: Partition, result: Result) -> None:
        """Nothing more to say about this partition until it is marked or the fetcher moves; what repeats stays due."""
        repeats = result.error or result.preferred_replica >= 0 or result.diverging
        if not (result.records_size or result.more or repeats):
            self.due.discard(partition)

    @staticmethod
    def _remember(cached: Cached, result: Result, rules: Rules) -> None:
        cached.told.log_start_offset = result.log_start_offset
        cached.told.high_watermark = result.high_watermark
        if result.error and rules.forgive is not None:
            cached.told.high_watermark = rules.forgive

    def _lose_interest(self, partition: Partition) -> None:
        interested = self._interest.get(partition)
        if interested is not None:
            interested.discard(self)
            if not interested:
                del self._interest[partition]


class Fetch:
    """One fetch between its request and its response; `error` other than 0: it is refused."""

    def __init__(
        self, owner: BrokerSessions, request: FetchRequest, action: Action, session: Session | None = None
    ) -> None:
        self.owner = owner
        self.request = request
        self.action = action
        self.session = session
        refused = action in (Action.REFUSE_ID, Action.REFUSE_EPOCH, Action.REFUSE_NAMING)
        self.error: int = action.value if refused else 0

    def candidates(self) -> Iterable[tuple[Partition, Position]]:
        """What to look up, in the order in which to fill the response: in a session only what is due."""
        if self.error:
            return ()
        if self.session is not None:
            return self.session.in_turn()
        return self.request.partitions.items()

    def answer(self, results: Mapping[Partition, Result], now: int, *, throttle_ms: int = 0) -> FetchResponse:
        """The response to send. A full fetch needs a result for each partition of the request; a session tells those
        that are given and news, and looks again at the others next time.

        throttle_ms: other than 0, the quota is used up and nothing is told (KIP-219); the session stays as it is.
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
        self, session: Session, results: Mapping[Partition, Result], throttle_ms: int
    ) -> FetchResponse:
        rules = self.owner.rules
        if rules.recheck and session.epoch != rules.next_epoch(self.request.epoch):
            # Somebody else went on with the session while this fetch was waiting for data.
            return FetchResponse(EPOCH_MISMATCH, session.id, throttle_ms=throttle_ms)
        if throttle_ms:
            return FetchResponse(session_id=session.id, throttle_ms=throttle_ms)
        told = {partition: result for partition, result in results.items() if session.tell(partition, result, rules)}
        return FetchResponse(session_id=session.id, partitions=told)


class BrokerSessions:
    """All sessions of one broker. Source: KIP-227; Kafka's FetchManager and FetchContext."""

    def __init__(self, cache: FetchSessionCache | None = None, *, rules: Rules = RULES) -> None:
        self.rules = rules
        self.cache = cache if cache is not None else FetchSessionCache(rules=rules)
        self._interest: dict[Partition, set[Session]] = {}

    def begin(self, request: FetchRequest, now: int) -> Fetch:
        """Take a request in; from here on its epoch is used up, whatever becomes of its response."""
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
        """Make a session of a full fetch, and give its id; 0 when there is no slot for it."""
        shard = self.cache.next_shard()
        privileged = request.replica_id >= 0
        if not shard.make_room(privileged, len(results), now):
            return NO_SESSION
        session = Session(
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

    def mark(self, partition: Partition) -> Iterable[Session]:
        """Something about this partition changed: look at it in the next fetch of each session that has it."""
        sessions = tuple(self._interest.get(partition, ()))
        for session in sessions:
            session.due.add(partition)
        return sessions

    def _find(self, request: FetchRequest, session: Session | None) -> Found:
        if session is None:
            return Found.NOTHING
        if kind_of(request.epoch) is Kind.INCREMENTAL:
            if session.epoch != request.epoch:
                return Found.OTHER_EPOCH
            if session.topic_ids != request.topic_ids:
                return Found.OTHER_NAMING
        return Found.CURRENT

    def _go_on(self, request: FetchRequest, session: Session, now: int) -> Fetch:
        for partition, position in request.partitions.items():
            session.put(partition, position)
        for partition in request.forgotten:
            session.drop(partition)
        if not session.partitions and self.rules.forget_last:
            self.cache.remove(session)
            return Fetch(self, request, self.rules.broker[Kind.INCREMENTAL, Found.EMPTIED])
        self.cache.touch(session, now)
        session.epoch = self.rules.next_epoch(session.epoch)
        return Fetch(self, request, Action.CONTINUE, session)

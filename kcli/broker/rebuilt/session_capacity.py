"""The number of fetch session slots of a captured broker, derived from the fetches that were granted a session.

A cache that refused or evicted a session was full. Its size is then the largest number of sessions that were alive at
once, each from its grant to its last fetch. Slots are spread evenly over shards, and a session's id determines its
shard, so that the size is that of the fullest shard times the number of shards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from kcli.sessions.epochs import EVICTION_MS, FINAL_EPOCH, FULL_EPOCH, ID_NOT_FOUND, SHARDS

# How long a request may wait in a broker before it is processed.
LATE_NS = 50 * 10**6
# How far the time by which a broker decides may be from a packet's time.
CLOCK_NS = 10**9
# How many responses may be out of order at once, and how many orders are kept at each step of the search.
WINDOW, WIDTH = 12, 24
# The cost of a turn that no captured fetch took: that of a response that is a minute late.
UNSEEN_NS = 60 * 10**9


class FetchKey(NamedTuple):
    """The key of a captured fetch: its connection ("server-client"), correlation id, and time of the request (ns)."""

    connection: str
    correlation_id: int
    asked_ns: int


class Period(NamedTuple):
    """A period in which a request was in progress, or a session was alive (ns)."""

    begin: int
    end: int

    def overlaps(self, begin: int, end: int) -> bool:
        """Return whether this period and [begin, end] have a moment in common."""
        return self.begin <= end and self.end >= begin


class SessionRequest(NamedTuple):
    """A fetch that requested a session. session: the id that was granted, 0 if it was refused."""

    fetch: FetchKey
    answered_ns: int
    session: int

    @property
    def span(self) -> Period:
        """The period in which the request was in progress."""
        return Period(self.fetch.asked_ns, self.answered_ns)


class SessionEnd(NamedTuple):
    """A fetch that ended a session."""

    session: int
    span: Period


class SessionCapacity:
    """The sessions of one captured broker. is_full: a session was refused or evicted."""

    def __init__(self) -> None:
        self.is_full = False
        self.shards = SHARDS
        # By session id, from its grant (0: not in the capture) to the last time when it was certainly alive.
        self._lives: dict[int, Period] = {}
        self._requests: list[SessionRequest] = []
        self._ends: list[SessionEnd] = []

    @property
    def ids_per_shard(self) -> int:
        """The number of session ids in a shard."""
        return (2**31 - 1) // self.shards

    def shard_of(self, session: int) -> int:
        """Return the shard of a session id."""
        return session // self.ids_per_shard

    def take(self, fetch: FetchKey, answered_ns: int, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Add a fetch of a version with sessions."""
        named, granted, error = request["sessionId"], response["sessionId"], response["errorCode"]
        if error:
            self.is_full = self.is_full or error == ID_NOT_FOUND
        elif request["sessionEpoch"] == FULL_EPOCH:
            self._extend(named, fetch.asked_ns)
            if granted or response["responses"]:
                self._requests.append(SessionRequest(fetch, answered_ns, granted))
            if granted:
                self._lives[granted] = Period(answered_ns, answered_ns)
            elif response["responses"]:
                self.is_full = True
        if named and request["sessionEpoch"] <= FULL_EPOCH:
            self._ends.append(SessionEnd(named, Period(fetch.asked_ns, answered_ns)))
        if not error and (granted == named or request["sessionEpoch"] == FINAL_EPOCH):
            self._extend(named, fetch.asked_ns)

    def _extend(self, session: int, ns: int) -> None:
        """Extend a session's life at least until this time."""
        if session:
            known = self._lives.get(session, Period(0, 0))
            self._lives[session] = Period(known.begin, max(known.end, ns))

    def merge(self, other: SessionCapacity) -> None:
        """Add the fetches to another address of the same broker."""
        self.is_full = self.is_full or other.is_full
        self._lives |= other._lives
        self._ends += other._ends
        self._requests = sorted(self._requests + other._requests, key=lambda request: request.answered_ns)

    def shard_steps(self) -> list[int]:
        """Return how many shards each granted session is after the previous one; mostly 1 if there are shards."""
        shards = [self.shard_of(request.session) for request in self._requests if request.session]
        return [(other - one) % self.shards for one, other in pairwise(shards)]

    def saw_grant(self, session: int) -> bool:
        """Return whether the capture has the response that granted a session."""
        return session in self._lives and self._lives[session].begin > 0

    def taken_in(self, session: int, asked_ns: int, answered_ns: int, *, ends: bool) -> int:
        """Return when the broker processed a request in a session (ns). ends: the request ends the session.

        That is while the request was in progress, but not before another fetch was refused in the same shard, as that
        fetch would have got the free slot, or the slot of a session that was old enough to be evicted.
        """
        refusals = self._refusals.get(self.shard_of(session), ())
        if ends:
            earlier = [refused.end for refused in refusals if refused.overlaps(asked_ns + 1, answered_ns - 1)]
        else:
            latest = min(answered_ns, asked_ns + LATE_NS)
            earlier = [refused.end for refused in refusals if asked_ns < refused.end < latest]
        return max(earlier) + 1 if earlier else asked_ns

    def granted_at(self, fetch: FetchKey, answered_ns: int) -> int:
        """Return when a session was granted (ns): with its response, or earlier if another fetch found the shard
        full.
        """
        return self._early_grants.get(fetch, answered_ns)

    @cached_property
    def _early_grants(self) -> dict[FetchKey, int]:
        """The times (ns) of grants that were made before a refusal, although the refusal was sent first: the shard must
        have been full then.
        """
        made: dict[FetchKey, int] = {}
        slots = (self.slots or 0) // self.shards
        for shard, refusals in self._refusals.items():
            grants = [each for each in self._requests if each.session and self.shard_of(each.session) == shard]
            ends = [each.span.begin for each in self._ends if self.shard_of(each.session) == shard]
            for at in sorted(refused.end for refused in refusals):
                granted = sum(made.get(each.fetch, each.answered_ns) <= at for each in grants)
                free = slots - granted + sum(end <= at for end in ends)
                waiting = [
                    each.fetch for each in grants if each.fetch.asked_ns <= at < made.get(each.fetch, each.answered_ns)
                ]
                made.update(dict.fromkeys(waiting[: max(free, 0)], at - 1))
        return made

    def doubt(self, shard: int, asked_ns: int, answered_ns: int) -> str:
        """Return why the sessions in this shard after a fetch are unknown; "" if they are known."""
        if sum(span.overlaps(asked_ns, answered_ns) for span in self._changes.get(shard, ())) > 1:
            return "the order of requests that were sent at the same time"
        just_old = (
            asked_ns - CLOCK_NS <= life.begin + EVICTION_MS * 10**6 <= answered_ns + CLOCK_NS
            for session, life in self._lives.items()
            if life.begin and self.shard_of(session) == shard
        )
        return "whether a session was just old enough to be evicted" if any(just_old) else ""

    @cached_property
    def _changes(self) -> dict[int, list[Period]]:
        """By shard, the periods of requests that requested or ended a session there."""
        made: dict[int, list[Period]] = {}
        for request in self._requests:
            made.setdefault(self.turns[request.fetch], []).append(request.span)
        for end in self._ends:
            made.setdefault(self.shard_of(end.session), []).append(end.span)
        return made

    @cached_property
    def _refusals(self) -> dict[int, list[Period]]:
        """By shard, the periods of requests that were refused a session there."""
        made: dict[int, list[Period]] = {}
        for request in self._requests:
            if not request.session:
                made.setdefault(self.turns[request.fetch], []).append(request.span)
        return made

    @cached_property
    def turns(self) -> dict[FetchKey, int]:
        """The shard whose turn it was at each fetch that requested a session."""
        if not self.is_full:
            return {each.fetch: self.shard_of(each.session) for each in self._requests if each.session}
        attempts = [
            Attempt(each.fetch.asked_ns, each.answered_ns, self.shard_of(each.session) if each.session else None)
            for each in self._requests
        ]
        return dict(zip((each.fetch for each in self._requests), turns(attempts, self.shards), strict=True))

    @property
    def slots(self) -> int | None:
        """The captured broker's `max.incremental.fetch.session.cache.slots`; None if slots never ran out."""
        if not self.is_full:
            return None
        return self.shards * max(map(self._most_alive, range(self.shards)))

    def _most_alive(self, shard: int) -> int:
        """Return the largest number of sessions that were alive at once in a shard."""
        last = self.shards - 1
        lives = [life for session, life in self._lives.items() if min(self.shard_of(session), last) == shard]
        # At the same time additions come before removals.
        changes = sorted([(life.begin, -1) for life in lives] + [(life.end, 1) for life in lives])
        alive = most = 0
        for _, removed in changes:
            alive -= removed
            most = max(most, alive)
        return most


class Attempt(NamedTuple):
    """A fetch that requested a session. Times are in ns. shard: of the granted session, None if it was refused."""

    asked_ns: int
    answered_ns: int
    shard: int | None


class Order(NamedTuple):
    """An order of the first attempts. cost: its difference from the order of the responses (ns); turn: the next shard;
    waiting: attempts that were passed over; next: the first attempt that was not considered yet; taken: a linked list
    of (attempt, shard), the last one first."""

    cost: int
    turn: int
    waiting: tuple[int, ...]
    next: int
    taken: tuple[int, int, object] | None


def turns(attempts: Sequence[Attempt], shards: int) -> list[int]:
    """Return the shard of each attempt. attempts: in the order of their responses."""
    if not attempts:
        return []
    orders = [Order(0, turn, (), 0, None) for turn in range(shards)]
    taken = 0
    while taken < len(attempts):
        best: dict[tuple[int, tuple[int, ...], int], Order] = {}
        for order in orders:
            for each in followers(order, attempts, shards):
                known = best.get(each[1:4])
                if known is None or each.cost < known.cost:
                    best[each[1:4]] = each
        orders = sorted(best.values(), key=lambda order: order[:4])[:WIDTH]
        taken += 1
    return shards_of(orders[0], len(attempts))


def followers(order: Order, attempts: Sequence[Attempt], shards: int) -> list[Order]:
    """Return the orders that extend this one by each attempt that may have been processed next."""
    reach = min(len(attempts), order.next + WINDOW - len(order.waiting))
    candidates = [*order.waiting, *range(order.next, max(reach, order.next + (not order.waiting)))]
    candidates = [each for each in candidates if each < len(attempts)]
    first = attempts[candidates[0]].answered_ns
    made = []
    for number in candidates:
        attempt = attempts[number]
        if attempt.asked_ns > first:
            # It was sent after the response to an attempt that is still waiting.
            break
        late = max(attempt.answered_ns - first, 0) + (number != candidates[0])
        skipped = 0 if attempt.shard is None else (attempt.shard - order.turn) % shards
        turn = (order.turn + skipped + 1) % shards
        passed = tuple(each for each in candidates if each < number or each in order.waiting)
        waiting = tuple(each for each in passed if each != number)
        taken = (number, (turn - 1) % shards, order.taken)
        next_ = max(order.next, number + 1)
        made.append(Order(order.cost + late + skipped * UNSEEN_NS * bool(order.taken), turn, waiting, next_, taken))
    return made


def shards_of(order: Order, count: int) -> list[int]:
    made = [0] * count
    taken = order.taken
    while taken is not None:
        number, shard, taken = taken  # type: ignore[assignment]
        made[number] = shard
    return made

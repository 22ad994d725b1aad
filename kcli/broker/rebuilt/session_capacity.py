"""The number of fetch sessions that a captured broker had room for, by which fetches were granted one.

A cache that refused or evicted anybody was full. What it held then is what was alive at once at the most: from the
grant of each session to the last fetch that it went on with. Slots are spread evenly over shards, and a session's id
says which one it is in; so the fullest shard stands for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from kcli.broker.rebuilt.shard_rotation import Attempt, turns
from kcli.sessions.epochs import EVICTION_MS, FINAL_EPOCH, FULL_EPOCH, ID_NOT_FOUND, SHARDS

# How long a request may lie in a broker before it is looked at.
LATE_NS = 50 * 10**6
# How far a broker's clock, and when it looks at it, may be from a packet's time.
AROUND_NS = 10**9


class Place(NamedTuple):
    """The place of a fetch in a capture: its connection ("server-client"), correlation id, and time of the request
    (ns).
    """

    connection: str
    correlation_id: int
    ns: int


class SessionSlots:
    """The fetches of one captured broker, in order."""

    def __init__(self) -> None:
        self.full = False
        self.shards = SHARDS
        # Session id -> when it was granted, and when it was last known to be there (ns).
        self._lives: dict[int, tuple[int, int]] = {}
        # Who asked for a session, when it was answered (ns), and the id that it got (0: none).
        self._attempts: list[tuple[Place, int, int]] = []
        # Session id, and when the fetch that gave it back was asked and answered (ns).
        self._closes: list[tuple[int, int, int]] = []

    @property
    def id_range(self) -> int:
        """How many session ids a shard has."""
        return (2**31 - 1) // self.shards

    def take(self, place: Place, told_ns: int, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Take in a fetch that knows of sessions."""
        named, granted, error = request["sessionId"], response["sessionId"], response["errorCode"]
        if error:
            self.full = self.full or error == ID_NOT_FOUND
        elif request["sessionEpoch"] == FULL_EPOCH:
            self._end(named, place.ns)
            if granted or response["responses"]:
                self._attempts.append((place, told_ns, granted))
            if granted:
                self._lives[granted] = (told_ns, told_ns)
            elif response["responses"]:
                self.full = True
        if named and request["sessionEpoch"] <= FULL_EPOCH:
            self._closes.append((named, place.ns, told_ns))
        if not error and (granted == named or request["sessionEpoch"] == FINAL_EPOCH):
            self._end(named, place.ns)

    def _end(self, session: int, ns: int) -> None:
        """Note that a session lived until then, at least."""
        if session:
            since, until = self._lives.get(session, (0, 0))
            self._lives[session] = (since, max(until, ns))

    def steps(self) -> list[int]:
        """Return by how many shards each session is after the one before; mostly 1 if there are shards."""
        granted = [granted // self.id_range for _, _, granted in self._attempts if granted]
        return [(other - one) % self.shards for one, other in pairwise(granted)]

    def merge(self, other: SessionSlots) -> None:
        """Add the fetches that came to the same broker at another address."""
        self.full = self.full or other.full
        self._lives |= other._lives
        self._closes += other._closes
        self._attempts = sorted(self._attempts + other._attempts, key=lambda attempt: attempt[1])

    def granted(self, session: int) -> bool:
        """Return whether the capture shows how a session began."""
        return self._lives.get(session, (0, 0))[0] > 0

    def taken_in(self, session: int, asked_ns: int, answered_ns: int, *, ends: bool) -> int:
        """Return when the broker took in a request of a session (ns). ends: it gives the session's slot back.

        That is while it is under way, but not before another fetch was refused in the same shard: a slot given back, or
        a session just old enough to be evicted, would have gone to that fetch.
        """
        late = self._refused.get(session // self.id_range, ())
        before = answered_ns if ends else min(answered_ns, asked_ns + LATE_NS)
        at = [until for since, until in late if asked_ns < until and (until < before if not ends else since < before)]
        return max(at) + 1 if at else asked_ns

    def granted_at(self, place: Place, answered_ns: int) -> int:
        """Return when a session was granted (ns): with the response, or before another fetch that
        found the shard full.
        """
        return self._early.get(place, answered_ns)

    @cached_property
    def _early(self) -> dict[Place, int]:
        """Who was granted a session before somebody was refused whose answer is older: the shard was full by then."""
        made: dict[Place, int] = {}
        room = (self.slots or 0) // self.shards
        for shard, refused in self._refused.items():
            grants = [each for each in self._attempts if each[2] and each[2] // self.id_range == shard]
            closes = [since for session, since, _ in self._closes if session // self.id_range == shard]
            for _, at in sorted(refused, key=lambda span: span[1]):
                before = sum(made.get(place, answered) <= at for place, answered, _ in grants)
                free = room - before + sum(since <= at for since in closes)
                waiting = [place for place, answered, _ in grants if place.ns <= at < made.get(place, answered)]
                made.update(dict.fromkeys(waiting[: max(free, 0)], at - 1))
        return made

    def unclear(self, shard: int, asked_ns: int, answered_ns: int) -> str:
        """Return why the holders of this shard's slots after a fetch are unknown; "" where they are known."""
        spans = self._events.get(shard, ())
        if sum(since <= answered_ns and until >= asked_ns for since, until in spans) > 1:
            return "which of several requests that were under way at once came first"
        just_old = (
            asked_ns - AROUND_NS <= since + EVICTION_MS * 10**6 <= answered_ns + AROUND_NS
            for session, (since, _) in self._lives.items()
            if since and session // self.id_range == shard
        )
        return "whether a session was just old enough to be evicted" if any(just_old) else ""

    @cached_property
    def _events(self) -> dict[int, list[tuple[int, int]]]:
        """By shard, when who asked for a session there, or gave one back, was under way."""
        made: dict[int, list[tuple[int, int]]] = {}
        for place, answered, _ in self._attempts:
            made.setdefault(self.turns[place], []).append((place.ns, answered))
        for session, since, until in self._closes:
            made.setdefault(session // self.id_range, []).append((since, until))
        return made

    @cached_property
    def _refused(self) -> dict[int, list[tuple[int, int]]]:
        """By shard, when who was refused there was under way."""
        made: dict[int, list[tuple[int, int]]] = {}
        for place, answered, granted in self._attempts:
            if not granted:
                made.setdefault(self.turns[place], []).append((place.ns, answered))
        return made

    @cached_property
    def turns(self) -> dict[Place, int]:
        """The shard whose turn it was, by the fetch that asked for a session."""
        if not self.full:
            return {place: granted // self.id_range for place, _, granted in self._attempts if granted}
        attempts = [
            Attempt(place.ns, answered, granted // self.id_range if granted else None)
            for place, answered, granted in self._attempts
        ]
        return dict(zip((place for place, _, _ in self._attempts), turns(attempts, self.shards), strict=True))

    @property
    def slots(self) -> int | None:
        """What `max.incremental.fetch.session.cache.slots` was; None: there were always enough."""
        if not self.full:
            return None
        return self.shards * max(map(self._most, range(self.shards)))

    def _most(self, shard: int) -> int:
        """Return how many sessions of a shard were alive at once."""
        last, width = self.shards - 1, self.id_range
        lives = [life for session, life in self._lives.items() if min(session // width, last) == shard]
        ends = sorted([(since, 1) for since, _ in lives] + [(until, -1) for _, until in lives], key=later_first)
        alive = most = 0
        for _, change in ends:
            alive += change
            most = max(most, alive)
        return most


def later_first(end: tuple[int, int]) -> tuple[int, int]:
    """Order by time; at the same time additions come before removals."""
    return end[0], -end[1]

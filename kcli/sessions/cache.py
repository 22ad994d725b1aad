"""The broker's cache of fetch sessions: slots in shards, and the session that a full shard evicts.

Source: KIP-227 and Kafka's FetchSessionCache and FetchSessionCacheShard (sharded since KAFKA-9401).
"""

import random
import secrets
from bisect import bisect_left, insort
from collections.abc import Iterator

from kcli.sessions.cached_session import CachedSession
from kcli.sessions.epochs import EVICTION_MS, NO_SESSION
from kcli.sessions.rules import RULES, Rules


class EvictionOrder:
    """Keys of sessions in ascending order, at most as many as a shard has slots."""

    def __init__(self) -> None:
        self.keys: list[tuple[int, ...]] = []

    def add(self, key: tuple[int, ...]) -> None:
        insort(self.keys, key)

    def discard(self, key: tuple[int, ...]) -> None:
        at = bisect_left(self.keys, key)
        if at < len(self.keys) and self.keys[at] == key:
            del self.keys[at]

    def first(self) -> tuple[int, ...] | None:
        return self.keys[0] if self.keys else None


class Shard:
    """A part of the slots, with its own eviction order. Its keys end with the session's id."""

    def __init__(self, number: int, slots: int, eviction_ms: int, id_range: int, rules: Rules) -> None:
        self.number, self.slots, self.eviction_ms, self.id_range = number, slots, eviction_ms, id_range
        self.rules = rules
        self.sessions: dict[int, CachedSession] = {}
        self.evictions = 0
        self._used = EvictionOrder()
        self._by_all = EvictionOrder()
        self._by_privileged = EvictionOrder()

    def make_room(self, privileged: bool, size: int, now: int) -> bool:
        """Return whether there is a free slot, after evicting a session if this one may displace one. size: number of
        partitions; now: ms.
        """
        if len(self.sessions) < self.slots:
            return True
        victim = self._victim(privileged, size, now)
        if victim is None:
            return False
        self.remove(self.sessions[victim])
        self.evictions += 1
        return True

    def add(self, session: CachedSession, now: int) -> None:
        """Add a new session at `now` (ms)."""
        self.sessions[session.id] = session
        self.touch(session, now)

    def touch(self, session: CachedSession, now: int) -> None:
        """Note that the session was used at `now` (ms), and that its number of partitions may have changed."""
        self._unfile(session)
        session.last_used, session.cached_size = now, len(session.partitions)
        self._used.add((now, session.id))
        old = now - session.created > self.eviction_ms or not self.rules.keep_young
        worth = self._worth(session)
        if old or not session.privileged:
            self._by_privileged.add(worth)
        if old:
            self._by_all.add(worth)

    def remove(self, session: CachedSession) -> None:
        """Remove a session of this shard."""
        self._unfile(session)
        del self.sessions[session.id]
        session.release()

    def new_id(self, rng: random.Random) -> int:
        """Return an unused, random session id of this shard above 0."""
        while True:
            session_id = rng.randrange(max(1, self.number * self.id_range), (self.number + 1) * self.id_range)
            if session_id not in self.sessions and session_id != NO_SESSION:
                return session_id

    def _victim(self, privileged: bool, size: int, now: int) -> int | None:
        used = self._used.first()
        if used is None:
            return None
        if now - used[0] > self.eviction_ms:
            return used[-1]
        least = (self._by_privileged if privileged else self._by_all).first()
        if least is None or self.rules.worth(privileged, size, 0) < least:
            return None
        return least[-1]

    def _worth(self, session: CachedSession) -> tuple[int, ...]:
        return self.rules.worth(session.privileged, session.cached_size, session.id)

    def _unfile(self, session: CachedSession) -> None:
        worth = self._worth(session)
        self._used.discard((session.last_used, session.id))
        self._by_all.discard(worth)
        self._by_privileged.discard(worth)


class FetchSessionCache:
    """Sessions by id.

    slots: `max.incremental.fetch.session.cache.slots`, divided evenly among the shards and rounded down, so that fewer
      slots than shards are none at all
    shards: 8 as in Kafka since 3.8, 1 as before
    rng: source of session ids; a cryptographic one unless a test passes its own
    """

    def __init__(
        self,
        slots: int = 1000,
        *,
        eviction_ms: int = EVICTION_MS,
        shards: int = 8,
        rng: random.Random | None = None,
        rules: Rules = RULES,
    ) -> None:
        self.rng = rng or secrets.SystemRandom()
        self.id_range = (2**31 - 1) // shards
        self.shards = [Shard(n, slots // shards, eviction_ms, self.id_range, rules) for n in range(shards)]
        self._turn = 0
        self._foreseen: tuple[int, int] | None = None
        self._next_id = NO_SESSION

    def __len__(self) -> int:
        return sum(len(shard.sessions) for shard in self.shards)

    def __iter__(self) -> Iterator[CachedSession]:
        for shard in self.shards:
            yield from shard.sessions.values()

    @property
    def evictions(self) -> int:
        """Return the number of sessions that all shards have evicted."""
        return sum(shard.evictions for shard in self.shards)

    def get(self, session_id: int) -> CachedSession | None:
        """Return the session with this id; None if the cache has none."""
        shard = self.shard_of(session_id)
        return shard.sessions.get(session_id) if shard else None

    def shard_of(self, session_id: int) -> Shard | None:
        """Return the shard that this id belongs to; None if it is in no shard's range."""
        number = session_id // self.id_range
        return self.shards[number] if 0 <= number < len(self.shards) else None

    def next_shard(self) -> Shard:
        """Return the shard of the next session; the shards take turns."""
        self._turn, self._next_id = self._foreseen or (self._turn, NO_SESSION)
        self._foreseen = None
        shard = self.shards[self._turn % len(self.shards)]
        self._turn += 1
        return shard

    def foresee(self, shard: int, session_id: int) -> None:
        """Choose the shard and the id (0: any) of the next session."""
        self._foreseen = shard, session_id

    def new_id(self, shard: Shard) -> int:
        """Return an id for a session of this shard: the one that `foresee` has chosen if it is free, else a random
        one.
        """
        foreseen = self._next_id
        free = self.shard_of(foreseen) is shard and foreseen not in shard.sessions
        return foreseen if foreseen and free else shard.new_id(self.rng)

    def remove(self, session: CachedSession) -> None:
        """Remove a session, if the cache still has it."""
        shard = self.shard_of(session.id)
        if shard is not None and shard.sessions.get(session.id) is session:
            shard.remove(session)

    def touch(self, session: CachedSession, now: int) -> None:
        """Note that a session was used at `now` (ms)."""
        shard = self.shard_of(session.id)
        if shard is not None:
            shard.touch(session, now)

"""How many fetch sessions a captured broker had room for, by which fetches were granted one.

A cache that refused or evicted anybody was full. What it held then is what was alive at once at the most: from the
grant of each session to the last fetch that it went on with. Slots are spread evenly over shards, and a session's id
says which one it is in; so the fullest shard stands for all of them. New sessions go to the shards in turn, and who is
refused takes a turn, too: between two that are granted one, the ids say how many turns there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kcli.sessions.cache import FetchSessionCache
from kcli.sessions.epochs import FULL_EPOCH, ID_NOT_FOUND

__all__ = ["Place", "SessionSlots"]


class Place(NamedTuple):
    """Where a fetch was said: its connection ("server-client"), correlation id, and when (ns) it was asked."""

    connection: str
    correlation_id: int
    ns: int


class SessionSlots:
    """The fetches of one captured broker, in order."""

    def __init__(self) -> None:
        self.full = False
        self._cache = FetchSessionCache()
        # Session id -> when it was granted, and when it was last known to be there (ns).
        self._lives: dict[int, tuple[int, int]] = {}
        self._attempts: list[tuple[Place, int]] = []

    def take(self, place: Place, told_ns: int, request: Mapping[str, Any], response: Mapping[str, Any]) -> None:
        """Take in a fetch that knows of sessions."""
        named, granted, error = request["sessionId"], response["sessionId"], response["errorCode"]
        if error:
            self.full = self.full or error == ID_NOT_FOUND
        elif request["sessionEpoch"] == FULL_EPOCH:
            self._attempts.append((place, granted))
            if granted:
                self._lives[granted] = (told_ns, told_ns)
            elif response["responses"]:
                self.full = True
        elif granted and granted == named:
            since, _ = self._lives.get(named, (0, 0))
            self._lives[named] = (since, place.ns)

    def turns(self) -> dict[Place, int]:
        """The shard whose turn it was, by the fetch that asked for a session.

        Answers made at about the same time go out in any order. Where more were refused before a grant than there were
        turns, the last of them therefore come behind it.
        """
        shards = len(self._cache.shards)
        made: dict[Place, int] = {}
        refused: list[Place] = []
        turn: int | None = None
        for place, granted in self._attempts:
            if not granted:
                refused.append(place)
                continue
            shard = granted // self._cache.id_range
            late = 0 if turn is None else (len(refused) - (shard - turn)) % shards
            early = len(refused) - (late if late <= len(refused) else 0)
            first = shard - early if turn is None else turn
            made.update((each, (first + at) % shards) for at, each in enumerate(refused[:early]))
            made[place] = shard
            refused, turn = refused[early:], shard + 1
        made.update((each, ((turn or 0) + at) % shards) for at, each in enumerate(refused))
        return made

    @property
    def slots(self) -> int | None:
        """What `max.incremental.fetch.session.cache.slots` was; None: there were always enough."""
        if not self.full:
            return None
        return len(self._cache.shards) * max(self._most(each.number) for each in self._cache.shards)

    def _most(self, shard: int) -> int:
        """How many sessions of a shard were alive at once."""
        lives = [life for session, life in self._lives.items() if session // self._cache.id_range == shard]
        ends = sorted([(since, 1) for since, _ in lives] + [(until, -1) for _, until in lives], key=later_first)
        alive = most = 0
        for _, change in ends:
            alive += change
            most = max(most, alive)
        return most


def later_first(end: tuple[int, int]) -> tuple[int, int]:
    """By time; who comes, before who goes."""
    return end[0], -end[1]

"""Fetches that wait for records: woken by writes, without polling.

A fetch in a session waits under its session; any other one under each of its partitions. Either way the cost of a write
grows only with the number of fetches that wait for its partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from kcli.broker.partition import Partition


class CapturedMoment(NamedTuple):
    """The rest of a fetch that waits for its captured response: the partitions of the response, and a function that
    brings a partition into the state that the fetcher saw then. throttle_ms: other than 0, a quota was used up; lacks:
    called where records that it would read are missing.
    """

    partitions: Sequence[Partition]
    restore: Callable[[Partition], None]
    throttle_ms: int = 0
    lacks: Callable[[], None] = lambda: None


def draft_key(fetcher: int | str) -> Hashable:
    """Return the key under which a fetch of KIP-227's draft waits: its fetcher, a replica or client id."""
    return "draft", fetcher


class DelayedFetch:
    """One waiting fetch. missing: bytes that have to come before it is worth looking again."""

    __slots__ = ("keys", "missing", "woken")

    def __init__(self, keys: Iterable[Hashable], missing: int) -> None:
        self.keys = tuple(keys)
        self.missing = missing
        self.woken = asyncio.Event()

    def arrive(self, size: int) -> None:
        """Count `size` written bytes; 0 for another change, which ends the wait at once."""
        self.missing -= size
        if size == 0 or self.missing <= 0:
            self.woken.set()


class Purgatory:
    """All waiting fetches of one node. events: how many changes there were, whether a fetch waited or not."""

    def __init__(self) -> None:
        self.events = 0
        self._watching: dict[Hashable, set[DelayedFetch]] = {}

    def add(self, watch: DelayedFetch) -> None:
        """Add a fetch that waits."""
        for key in watch.keys:
            self._watching.setdefault(key, set()).add(watch)

    def remove(self, watch: DelayedFetch) -> None:
        """Stop the wait of a fetch."""
        for key in watch.keys:
            group = self._watching.get(key)
            if group is not None:
                group.discard(watch)
                if not group:
                    del self._watching[key]

    def arrive(self, key: Hashable, size: int) -> None:
        """Notify the fetches under a key of `size` new bytes; 0: of another change."""
        self.events += 1
        for watch in tuple(self._watching.get(key, ())):
            watch.arrive(size)

    def wake_all(self) -> None:
        """Wake every fetch."""
        self.events += 1
        for group in tuple(self._watching.values()):
            for watch in tuple(group):
                watch.arrive(0)

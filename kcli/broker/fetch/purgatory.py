"""Fetches that wait for records. Writes wake them, so that they don't poll.

A fetch in a session waits under the key of its session, another one under the key of each partition. In both cases the
cost of a write grows only with the number of fetches that wait for its partition.
"""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

from kcli.broker.partition import Partition


class CapturedMoment(NamedTuple):
    """The moment of a captured Fetch response. partitions: those of the response; restore: sets a partition to the
    state that the client saw then; throttle_ms: not 0 if a quota was used up; report_missing: called if records that
    the fetch should read are missing.
    """

    partitions: Sequence[Partition]
    restore: Callable[[Partition], None]
    throttle_ms: int = 0
    report_missing: Callable[[], None] = lambda: None


def draft_key(fetcher: int | str) -> Hashable:
    """Return the key under which a fetch of KIP-227's draft waits. fetcher: a replica id or a client id."""
    return "draft", fetcher


class DelayedFetch:
    """A waiting fetch. missing: bytes that have to be written before the fetch reads again."""

    __slots__ = ("keys", "missing", "woken")

    def __init__(self, keys: Iterable[Hashable], missing: int) -> None:
        self.keys = tuple(keys)
        self.missing = missing
        self.woken = asyncio.Event()

    def arrive(self, size: int) -> None:
        """Count `size` written bytes; 0 is another change, which wakes the fetch at once."""
        self.missing -= size
        if size == 0 or self.missing <= 0:
            self.woken.set()


class Purgatory:
    """All waiting fetches of one node. events: the number of changes so far, with or without a waiting fetch."""

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
        """Notify the fetches under a key of `size` written bytes, or of another change (0)."""
        self.events += 1
        for watch in tuple(self._watching.get(key, ())):
            watch.arrive(size)

    def wake_all(self) -> None:
        """Wake every fetch."""
        self.events += 1
        for group in tuple(self._watching.values()):
            for watch in tuple(group):
                watch.arrive(0)

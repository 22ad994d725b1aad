"""The partitions that a fetcher of a replay fetches now, with their positions, by the node that they are fetched from.

A session has thousands of partitions and a step moves a few. So the changes since the last update of a node's session
are kept apart.
"""

from collections import Counter
from collections.abc import Container, Mapping
from typing import Protocol

from kcli.sessions.fetch_exchange import Key
from kcli.sessions.values import Position


class SessionMachine(Protocol):
    """The client's side of a fetch session, of the final design or the draft."""

    partitions: dict[Key, Position]

    def want(self, partition: Key, position: Position) -> None:
        """Fetch this partition from this position on."""

    def forget(self, partition: Key) -> None:
        """Stop fetching this partition."""


class Wants:
    """The wanted partitions. homes: the node that each partition is fetched from, also of those not wanted now."""

    def __init__(self) -> None:
        self.homes: dict[Key, int] = {}
        self._settled: Counter[int] = Counter()
        self._wanted: dict[int, dict[Key, Position]] = {}
        self._changed: dict[int, dict[Key, None]] = {}

    @property
    def home_nodes(self) -> set[int]:
        """Return the nodes of all partitions, also of those not wanted now."""
        return {node for node, count in self._settled.items() if count}

    @property
    def nodes(self) -> set[int]:
        """Return the nodes from which a partition is wanted."""
        return {node for node, wanted in self._wanted.items() if wanted}

    def of(self, node: int) -> Mapping[Key, Position]:
        """Return the partitions that are wanted from a node."""
        return self._wanted.get(node, {})

    def partitions(self) -> list[Key]:
        """Return all wanted partitions."""
        return [key for wanted in self._wanted.values() for key in wanted]

    def settle(self, key: Key, node: int) -> None:
        """Fetch a partition from this node from now on."""
        before = self.homes.get(key)
        if before == node:
            return
        position = self.drop(key) if before is not None else None
        if before is not None:
            self._settled[before] -= 1
        self._settled[node] += 1
        self.homes[key] = node
        if position is not None:
            self.want(key, position)

    def want(self, key: Key, position: Position) -> None:
        """Fetch a partition, whose node is known, from this position on."""
        node = self.homes[key]
        wanted = self._wanted.setdefault(node, {})
        if wanted.get(key) != position:
            wanted[key] = position
            self._note(node, key)

    def drop(self, key: Key) -> Position | None:
        """Stop fetching a partition. Returns its position, None if it was not wanted."""
        node = self.homes.get(key)
        position = self._wanted[node].pop(key, None) if node in self._wanted else None
        if position is not None and node is not None:
            self._note(node, key)
        return position

    def keep(self, keys: Container[Key]) -> None:
        """Drop all partitions but these."""
        for key in [key for key in self.partitions() if key not in keys]:
            self.drop(key)

    def changed(self, node: int) -> list[Key]:
        """Return the partitions of a node that were added, moved or dropped since the last call."""
        return list(self._changed.pop(node, {}))

    def _note(self, node: int, key: Key) -> None:
        self._changed.setdefault(node, {})[key] = None

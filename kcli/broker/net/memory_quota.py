"""The limit on memory of requests not answered yet, in all connections of a broker together.

A client may send a frame of socket.request.max.bytes up to its last byte, on as many connections as it likes. Kafka's
queued.max.request.bytes makes all others wait then; here the connection is closed that holds most.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)

# Bytes.
LIMIT = 256 << 20
# Bytes that every connection may hold without being counted.
SMALL = 64 << 10


class Intake(Generic[C]):
    """limit: bytes that all connections together may hold; one alone may hold more."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.total = 0
        self._held: dict[C, int] = {}

    def hold(self, connection: C, size: int) -> C | None:
        """Count the bytes that a connection holds now. Return the one to close where all together hold too much."""
        self.forget(connection)
        if size:
            self._held[connection] = size
            self.total += size
        if self.total <= self.limit or len(self._held) < 2:
            return None
        return max(self._held, key=lambda each: self._held[each])

    def forget(self, connection: C) -> None:
        """Stop counting a connection's bytes."""
        self.total -= self._held.pop(connection, 0)

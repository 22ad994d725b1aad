"""The limit on the memory of unanswered requests in all connections of a broker.

A client may send a frame of socket.request.max.bytes except for its last byte, on any number of connections. With
Kafka's queued.max.request.bytes all other clients wait then; here the connection that holds most is closed.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

C = TypeVar("C", bound=Hashable)

# Bytes.
LIMIT = 256 << 20
# Bytes up to which a connection is not counted.
SMALL = 64 << 10


class Intake(Generic[C]):
    """Counts bytes by connection. limit: bytes for all connections together; a single one may hold more."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.total = 0
        self._held: dict[C, int] = {}

    def hold(self, connection: C, size: int) -> C | None:
        """Set the bytes that a connection holds. Returns the connection to close if all together hold too much."""
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

"""What a handler gets and gives: a decoded request with where it came from, and the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kcli.broker.apis import Route
    from kcli.broker.broker import Broker
    from kcli.broker.connection import Connection
    from kcli.broker.node import Node

__all__ = ["Answer", "EncodedBody", "HangUpError", "Lazy", "Outcome", "Piece", "Request"]


class Lazy(Protocol):
    """Bytes that are made while they are sent: a slice of a file, or what it is converted to. size: how many."""

    @property
    def size(self) -> int: ...

    def __iter__(self) -> Iterator[bytes]: ...


Piece = bytes | Lazy


class HangUpError(Exception):
    """The connection is to be closed without an answer; the text says why."""


class EncodedBody:
    """A response's body that is encoded already, in pieces: bytes, and what is made while it is sent."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = pieces


# The body as a value or in pieces; None: there is no response.
Answer = dict[str, Any] | EncodedBody | None
Outcome = Answer | Awaitable[Answer]


class Request:
    """One request. body: as MessageCodec.read gives it; dialect: the one both sides speak, None for Apache's."""

    __slots__ = ("body", "broker", "client_id", "connection", "correlation", "node", "route")

    def __init__(
        self, connection: Connection, route: Route, correlation: int, client_id: str | None, body: dict[str, Any]
    ) -> None:
        self.connection, self.route, self.correlation, self.body = connection, route, correlation, body
        self.node: Node = connection.node
        self.broker: Broker = connection.node.broker
        self.client_id = client_id or ""

    @property
    def version(self) -> int:
        return self.route.version

    def fault(self, topic: str = "", partition: int = -1, among: frozenset[int] | None = None) -> int:
        """The error code that a fault wants told of the whole request, or of a partition in it; 0: none."""
        faults = self.broker.faults
        return faults.error(self, topic, partition, among) if faults.rules else 0

    def places(self) -> Iterator[tuple[str, int]]:
        """The topics and partitions that the request names (-1: the topic as a whole)."""
        for topic in (*(self.body.get("topics") or ()), *(self.body.get("topicData") or ())):
            if not isinstance(topic, dict):
                continue
            name = topic.get("name") or topic.get("topic") or self.topic_name(topic.get("topicId"))
            parts = topic.get("partitions") or topic.get("partitionData") or topic.get("partitionIndexes") or ()
            if not parts:
                yield name, -1
            for each in parts:
                yield name, each if isinstance(each, int) else index_of(each)

    def topic_name(self, topic_id: str | None) -> str:
        topic = self.broker.topics.by_id.get(topic_id or "")
        return topic.name if topic is not None else ""


def index_of(row: dict[str, Any]) -> int:
    """A partition's index, whichever way the API calls it."""
    return next((int(row[name]) for name in ("partition", "partitionIndex", "index") if name in row), -1)

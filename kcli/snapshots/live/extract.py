"""Reassembles snapshots from the FetchSnapshot responses in a capture."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from kcli.schemas.apikeys import FETCH_SNAPSHOT
from kcli.snapshots.reading.names import SnapshotId

# Bytes: more than any snapshot has, and less than file systems refuse.
LARGEST = 1 << 40


class Key(NamedTuple):
    """Identifies a file. The server is a part of it because two nodes' snapshots of one id may have the records in
    different orders.
    """

    server: str
    topic: str
    partition: int
    id: SnapshotId


class FileRange(NamedTuple):
    """Bytes of a file: `data` is at `position` of a file of `size` bytes."""

    key: Key
    size: int
    position: int
    data: bytes


class Answered(Protocol):
    """The part of a captured exchange that `pieces_of` reads."""

    @property
    def api_key(self) -> int: ...
    @property
    def connection(self) -> str: ...
    @property
    def response(self) -> dict[str, Any] | None: ...


def pieces_of(exchanges: Iterable[Answered]) -> Iterator[FileRange]:
    """Yield the pieces of snapshots in FetchSnapshot responses without an error, in the order of the exchanges. Pieces
    outside the file's size are left out.
    """
    for exchange in exchanges:
        if exchange.api_key != FETCH_SNAPSHOT or not exchange.response:
            continue
        server = exchange.connection.partition("-")[0]
        for topic in exchange.response["topics"]:
            for each in topic["partitions"]:
                data = bytes(each["unalignedRecords"] or b"")
                fits = 0 <= each["position"] <= each["size"] - len(data) and 0 < each["size"] <= LARGEST
                if each["errorCode"] == 0 and fits:
                    identity = SnapshotId(each["snapshotId"]["endOffset"], each["snapshotId"]["epoch"])
                    key = Key(server, topic["name"], each["index"], identity)
                    yield FileRange(key, each["size"], each["position"], data)


@dataclass(slots=True)
class Assembly:
    """The known bytes of a file. covered: sorted, disjoint ranges (start, end)."""

    size: int
    covered: list[tuple[int, int]] = field(default_factory=list)

    def add(self, position: int, length: int) -> None:
        """Note that `length` bytes from `position` on are known."""
        if length <= 0:
            return
        start, end = position, position + length
        first = bisect_left(self.covered, start, key=lambda each: each[1])
        behind = bisect_right(self.covered, end, key=lambda each: each[0])
        if first < behind:
            start, end = min(start, self.covered[first][0]), max(end, self.covered[behind - 1][1])
        self.covered[first:behind] = [(start, end)]

    @property
    def whole(self) -> bool:
        """Return whether every byte of the file is known."""
        return self.covered == [(0, self.size)]

    def missing(self) -> list[tuple[int, int]]:
        """Return the ranges (start, end) of unknown bytes."""
        gaps, at = [], 0
        for low, high in self.covered:
            if low > at:
                gaps.append((at, low))
            at = high
        return [*gaps, (at, self.size)] if at < self.size else gaps

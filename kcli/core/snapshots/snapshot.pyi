from collections.abc import Iterable, Iterator
from typing import Any

FACTS: dict[str, int]

def partition_facts(framed: Any) -> tuple[int, int, tuple[int, ...], tuple[int, ...]] | None: ...
def same_partition(mine: Any, yours: Any) -> bool | None: ...
def count_facts(partitions: dict[int, Any], totals: list[int]) -> list[Any]: ...

class Partitions:
    count: int
    size: int
    broken_count: int
    topics: dict[bytes, list[int]]
    pairs: dict[tuple[int, bytes | None], int]
    store: dict[bytes, Any] | None
    broken: list[tuple[int, bytes, int, str]]
    most: int
    def __init__(
        self,
        references: bool = False,
        store: dict[bytes, Any] | None = None,
        most: int = 100,
        quiet: Iterable[int] = (),
        changes: bool = False,
    ) -> None: ...
    @property
    def tallies(self) -> dict[tuple[int, int], list[int]]: ...
    @property
    def facts(self) -> dict[str, int]: ...
    @property
    def by_version(self) -> dict[int, list[int]]: ...
    def forget(self, topic: bytes) -> None: ...
    def close(self) -> None: ...

class StateCounts:
    counts: list[int]
    most: list[int]
    moves: dict[tuple[bytes, int], list[Any]]
    records: int
    size: int
    time: Any
    def __init__(self, counts: list[int]) -> None: ...
    def begin(self) -> None: ...
    def shift(self, before: int, after: int) -> None: ...
    def move(self, topic: bytes, partition: int) -> None: ...

class PartitionChanges:
    paused: bool
    counts: StateCounts | None
    def __init__(self, topics: dict[bytes, Any], watched: dict[str, set[int]] | None = None) -> None: ...
    def leave(self, topic: bytes) -> int: ...
    def forget(self, topic: bytes) -> None: ...
    def settle(self, topic: bytes | None = None) -> int: ...
    def end_matching(self) -> int: ...

class Walk:
    def __init__(
        self,
        body: Any,
        base_offset: int,
        count: int,
        control: bool = False,
        partitions: Partitions | None = None,
        mapped: bool = False,
        changes: PartitionChanges | None = None,
        matching: bool = False,
    ) -> None: ...
    def __iter__(self) -> Iterator[tuple[int, int | None, int | None, int, int, str]]: ...
    def __next__(self) -> tuple[int, int | None, int | None, int, int, str]: ...

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kcli.core.codec.sink import Sink

Key: TypeAlias = tuple[str, int]
Asked: TypeAlias = tuple[int, int, int, int, int]
Reported: TypeAlias = tuple[int, int, int, int, int, int, bool]

class PartitionState:
    asked: Asked | None
    high: int
    stable: int
    start: int
    answered: int
    informed: int
    delivered: int
    ever: int
    redirected: int
    late: int
    skipped: int
    def __init__(self, asked: Asked | None, informed: bool) -> None: ...
    def is_behind(self, isolation: int) -> bool: ...
    def is_news(self, reported: Reported) -> bool: ...
    def note(self, reported: Reported, number: int) -> None: ...

class Histogram:
    count: int
    most: int
    steps: dict[int, int]
    def add(self, ns: int) -> int: ...

class Timeline:
    @property
    def width(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def bytes(self) -> list[int]: ...
    @property
    def full(self) -> list[int]: ...
    def add(self, ns: int, size: int, full: bool) -> int: ...

class Counts:
    first_ns: int
    last_ns: int
    fetches: int
    full: int
    empty: int
    unanswered: int
    throttled: int
    request_bytes: int
    response_bytes: int
    records_bytes: int
    full_request_bytes: int
    full_response_bytes: int
    next_epoch: int
    answered_ns: int
    used_ns: int
    quiet_since: int
    changed: int
    late: int
    request_cost: int
    response_cost: int
    topics: int
    not_wanted: int
    not_granted: int
    unsure: bool
    errors: dict[int, int]
    latencies: Histogram
    strip: Timeline
    @property
    def seats(self) -> dict[Key, PartitionState]: ...
    @property
    def size(self) -> int: ...
    def fill(
        self, asked: list[tuple[Key, Asked]], reported: list[tuple[Key, Reported]], isolation: int, privileged: bool
    ) -> None: ...
    def enter(self, key: Key, seat: PartitionState) -> None: ...
    def leave(self, key: Key) -> PartitionState | None: ...
    def silent(self, limit: int) -> tuple[list[Key], int]: ...
    def clear(self) -> None: ...

class HighWatermarks:
    def learn_all(
        self, server: str, reported: list[tuple[Key, Reported]], ids: bool, owner: int, when: int
    ) -> None: ...
    def moved_past(self, server: str, key: Key, ids: bool, high: int, before: int) -> int | None: ...

class FetchFrames:
    def __init__(
        self,
        fetches: Any,
        ns: Any,
        answered: Any,
        connections: tuple[Any, Any],
        requests: tuple[Any, Any],
        responses: tuple[Any, Any],
        cuts: tuple[Any, Any],
    ) -> None: ...

class Kernel(Sink):
    fetches: int
    now: int
    opener: Callable[..., Counts] | None
    keeper: Callable[[str, str], tuple[Counts, str] | None] | None
    loose: dict[tuple[bytes, bytes], Counts]
    marks: HighWatermarks
    def __init__(self, layout: Callable[[int], Any], heard: Iterable[int] = ()) -> None: ...
    def adopt(self, session: Counts, topic_ids: bool) -> None: ...
    def attach(
        self,
        session: Counts,
        connection: str,
        server: str,
        session_id: int,
        version: int,
        privileged: bool,
        sizes: tuple[int, ...],
    ) -> None: ...
    def detach(self, session: Counts) -> None: ...
    def offer(
        self, connection: str, version: int, ns: int, request: bytes, answered: int | None, response: bytes | None
    ) -> bool: ...
    def offer_rows(self, frames: FetchFrames, start: int, stop: int) -> int: ...
    def columns(
        self, request: bytes, response: bytes | None, version: int
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None: ...

def filled(response: bytes, cuts: bytes) -> bytes: ...

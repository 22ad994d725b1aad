"""Makes columns of exchanges (see exchange_columns.pyx)."""

from collections.abc import Callable, Container, Iterable
from typing import Any, Protocol, TypeAlias

from kcli.core.codec.messages import Node, Selection
from kcli.core.codec.sink import Sink

ROW_COLUMNS: dict[str, tuple[str, ...]]  # the columns of each kind of row from `take_columns`

# (selection, column of each slot, whether records follow the slots, whether topics have ids instead of names).
Side: TypeAlias = tuple[Selection, list[int], bool, bool]

class Layout:
    def __init__(self, request: Side, response: Side) -> None: ...

# (slot in the selection, column, whether it is text).
FieldPlace: TypeAlias = tuple[int, int, bool]

class Fields:
    def __init__(
        self, request: tuple[Selection, list[FieldPlace]] | None, response: tuple[Selection, list[FieldPlace]] | None
    ) -> None: ...

def position_key(topic: bytes, is_id: bool, index: int) -> int: ...

class SayingNumbers:
    number: int
    lacks_offsets: bool
    def __init__(self, said: Iterable[int], never: Iterable[int], start: int) -> None: ...
    def read_commits(self, find: Callable[[int, int], tuple[Node, Selection, list[int]] | None]) -> None: ...
    def add_offsets(self, offsets: list[int]) -> None: ...
    def take(self) -> tuple[bytes, bytes]: ...
    def take_links(self) -> tuple[int, tuple[bytes, bytes], tuple[bytes, bytes], bytes, tuple[bytes, bytes]]: ...

class Owner(Protocol):
    bodies: Any
    def layout(self, api_key: int, version: int) -> Layout | None: ...
    def partitions(self, link: bytes, *exchange: Any) -> tuple[Any, ...] | None: ...
    def fields(self, api_key: int, version: int) -> Fields | None: ...
    def voice(self, link: bytes) -> int: ...
    def heard(self, link: bytes, voice: int, *exchange: Any) -> int: ...
    def learn(self, link: bytes, *exchange: Any) -> None: ...
    def more(self, link: bytes, *exchange: Any) -> None: ...
    def flush(self) -> None: ...

class ExchangeRows(Sink):
    count: int
    def __init__(
        self,
        owner: Owner,
        forwarded: Iterable[int] = (),
        rows: int = 20000,
        size: int = ...,
        parted: bool = True,
        framed: Iterable[int] = (),
        headed: bool = True,
        texts: Container[int] | None = None,
        fields: int = 0,
        bodies: bool = True,
        sayings: SayingNumbers | None = None,
        since: int | None = None,
        until: int | None = None,
        counted: bool = True,
        positions: bool = True,
        checksums: bool = True,
        talks: dict[str, Any] | None = None,
        failing: dict[int, frozenset[int]] | None = None,
    ) -> None: ...
    def put(self, item: Any, clock: int) -> bool: ...
    def put_texts(
        self,
        item: Any,
        clock: int,
        header: bytes,
        request: bytes | None,
        response: bytes | None,
        fields: list[int | str | None] = ...,
    ) -> None: ...
    def hear(self, item: Any) -> None: ...
    def end_connection(self, link: str, round_trip: int, _retransmissions: int) -> None: ...
    def kept_positions(self, links: list[bytes]) -> list[bytes]: ...
    def restore_positions(self, link: bytes, kept: bytes) -> None: ...
    def take_columns(self, last: bool = False) -> dict[str, Any]: ...

"""Reads exchanges from packets (see engine.pyx)."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from kcli.core.capture.draft import Draft
from kcli.core.capture.fragments import Fragments
from kcli.core.capture.line_order import LineOrder
from kcli.core.capture.packets import PacketReader
from kcli.core.capture.segment_dealer import SegmentDealer
from kcli.core.capture.streams import Streams
from kcli.core.capture.tcp_facts import TcpFacts
from kcli.core.codec.sink import Sink

Buffer: TypeAlias = bytes | bytearray | memoryview

class CaptureEngine:
    """Reads exchanges and events from packets."""

    streams: Streams
    segments: int
    payload: int
    duplicate: int
    stray: int

    packets: int
    wire_bytes: int
    others: int
    cuts: int
    fragments: int
    unjoined: int
    joiner: Fragments
    unknown_links: int
    ignored: int
    connections: int
    mid_stream: int
    unread: dict[int, int]
    exchanges: int
    answered: int
    message_bytes: int
    kept: int
    nameless: dict[str, int]
    first_ns: int | None
    last_ns: int
    earliest: int
    latest: int
    next_ns: int
    held: int
    def __init__(
        self,
        handover: Any,
        ports: Sequence[int] = (),
        text: bool = False,
        chosen: Any = None,
        memory: int = ...,
        sink: Sink | None = None,
        connection_end: Callable[[str, int, int], None] | None = None,
    ) -> None: ...
    in_step: bool
    order: LineOrder | None
    def share(self, count: int, dealer: SegmentDealer | None = None) -> None: ...
    def receive_dealt(self, data: Buffer) -> None: ...
    def add_counts(self, connections: int, ignored: int, duplicate: int, stray: int) -> None: ...
    def choose(self, ends: int, alone: bool) -> None: ...
    def choose_sample(self, fraction: float) -> None: ...
    def since(self, earliest: int, latest: int) -> None: ...
    def run(self, reader: PacketReader, data: Buffer, limit: int) -> tuple[int, str]: ...
    def push(self, data: Buffer, ns: int, link: int, length: int) -> None: ...
    def finish(self) -> None: ...
    def counts(self) -> dict[int, int]: ...
    def write(self, line: bytes) -> None: ...
    def drain_text(self, write: Callable[[memoryview], Any]) -> None: ...
    def dump(self) -> list[tuple[Any, ...]]: ...
    def restore(self, dumped: list[tuple[Any, ...]], clock: int) -> None: ...
    def begin_at(self, first_ns: int) -> None: ...
    drafting: DraftHandler | None
    def draft(self, owner: Any, draft: Draft, names: Any, keep: bool) -> None: ...
    facts: TcpFacts | None
    def count_tcp(self, facts: TcpFacts) -> None: ...

class DraftHandler:
    """Writes packets into a draft, with redacted frames."""

    number: int
    current: Places

class Places:
    """A connection in a draft."""

    draft: Draft
    number: int
    track: Any
    login: Any
    def forget(self) -> None: ...
    def entries(self) -> int: ...
    def write(self, d: int, offset: int, data: bytes) -> None: ...
    def sample(self, d: int) -> tuple[int, bytes, tuple[int, int]]: ...
    def first(self, d: int) -> int: ...
    def closed(self, d: int) -> bool: ...
    def retransmitted(self, d: int) -> int: ...

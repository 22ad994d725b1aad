"""Distributes packets by connection (see packet_shuffle.pyx)."""

from collections.abc import Callable
from typing import Any, TypeAlias

from kcli.core.capture.packets import PacketReader

Buffer: TypeAlias = bytes | bytearray | memoryview

class Scatter:
    count: int
    only: int
    packets: int
    tcp: int
    others: int
    cuts: int
    fragments: int
    unknown_links: int
    payload: int
    kept: int
    wire_bytes: int
    first_ns: int
    last_ns: int
    outside: int
    outside_bytes: int
    end: int | None
    done: int
    next_ns: int
    place: int
    known: bytes
    described: bytes
    def __init__(
        self,
        count: int,
        write: Callable[[int, int, bool, int, int, int, int, int, int, bytes], Any],
        *,
        only: int = -1,
        refer: bool = False,
        sample: float | None = None,
    ) -> None: ...
    def run(self, reader: PacketReader, data: Buffer, limit: int) -> tuple[int, str]: ...
    def prime(self, reader: PacketReader, data: Buffer) -> int: ...
    def passed(self, size: int) -> None: ...
    def finish(self) -> None: ...

def is_sampled(hash: int, fraction: float) -> bool: ...  # noqa: A002
def pcap_header(link: int) -> bytes: ...
def hash_of(ends: bytes) -> int: ...
def share_of(ends: bytes, count: int) -> int: ...

"""Packets out of pcap and pcapng bytes (see packets.pyx)."""

from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

class PacketReader:
    """Where one capture file stands: its byte order, interfaces and time resolutions."""

    problem: str | None
    def peek(self, data: Buffer) -> int | None: ...
    def rows(self, data: Buffer) -> tuple[int, list[tuple[int, int, int, int, bytes, bytes]]]: ...
    def skip(self, data: Buffer, until: int) -> tuple[int, int | None]: ...
    def resume(self, data: Buffer) -> int: ...

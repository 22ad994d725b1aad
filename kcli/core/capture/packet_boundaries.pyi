"""Finds the start of packets in the middle of a capture file (see packet_boundaries.pyx)."""

from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

class Boundaries:
    def __init__(self, head: Buffer) -> None: ...
    def find(self, data: Buffer, chain: int, whole: bool) -> int: ...

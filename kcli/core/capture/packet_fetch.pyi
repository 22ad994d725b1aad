"""Reads packets at their places in a capture, as pcap records (see packet_fetch.pyx)."""

from typing import TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

class Gatherer:
    def __init__(self, file: int, index: Buffer) -> None: ...
    def readinto(self, room: Buffer) -> int: ...

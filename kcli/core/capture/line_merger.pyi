"""Merges the lines of several processes in order (see line_merger.pyx)."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

class LineMerger:
    written: int
    def __init__(self, write: Callable[[memoryview], Any]) -> None: ...
    def merge(self, parts: Iterable[tuple[Buffer, Buffer, Buffer]]) -> bytes | None: ...

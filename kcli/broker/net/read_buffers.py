"""Reusable read buffers of the connections of a node or a proxy: new pages of memory cost more than the copy into
them.
"""

from __future__ import annotations

SCRATCH = 256 * 1024
MOST_SPARE = 32 << 20  # bytes that wait to be used again


class ReadBuffers:
    """scratch: for reads that are consumed at once. Incomplete frames have buffers of their own, lent from here. most:
    bytes of free buffers that are kept.
    """

    def __init__(self, most: int = MOST_SPARE) -> None:
        self.most = most
        self.scratch = memoryview(bytearray(SCRATCH))
        self._spare: list[bytearray] = []
        self._size = 0

    def lend(self) -> bytearray | None:
        """Lend a buffer of any size; None if there is none."""
        if not self._spare:
            return None
        buffer = self._spare.pop()
        self._size -= len(buffer)
        return buffer

    def give_back(self, buffer: bytearray) -> None:
        """Take back a buffer that is not read any more."""
        if self._size + len(buffer) <= self.most:
            self._spare.append(buffer)
            self._size += len(buffer)

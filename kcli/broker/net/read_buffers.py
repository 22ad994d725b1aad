"""Reusable read buffers for the connections of a node or a proxy. New memory pages would cost more than the copy into
them.
"""

SCRATCH = 256 * 1024
MOST_SPARE = 32 << 20  # bytes of free buffers


class ReadBuffers:
    """The buffers. scratch: for reads that are consumed at once; incomplete frames have buffers of their own, lent from
    here. most: bytes of free buffers to keep.
    """

    def __init__(self, most: int = MOST_SPARE) -> None:
        self.most = most
        self.scratch = memoryview(bytearray(SCRATCH))
        self._spare: list[bytearray] = []
        self._size = 0

    def lend(self) -> bytearray | None:
        """Lend a free buffer, of any size; None if there is none."""
        if not self._spare:
            return None
        buffer = self._spare.pop()
        self._size -= len(buffer)
        return buffer

    def give_back(self, buffer: bytearray) -> None:
        """Take back a buffer that is no longer in use."""
        if self._size + len(buffer) <= self.most:
            self._spare.append(buffer)
            self._size += len(buffer)

"""The latest packets of a stream, so that exchanges of the last moments can be decoded again."""

import io
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal

from kcli.capture.io.capture_files import SECTION

MOST_BYTES = 16 << 20
PCAP_HEADER, PCAP_RECORD, BLOCK = 24, 16, 12
# Types of blocks of pcapng that later ones refer to: a section, an interface, secrets.
KEPT = (int.from_bytes(SECTION, "big"), 1, 10)
LARGEST = 1 << 24  # bytes of a packet or block; a larger size is no capture's


class RecentPackets(io.RawIOBase):
    """A stream of pcap or pcapng that is read through this; `recent` gives a capture of its latest packets.

    pipe: the source. In a stream of any other form nothing is kept.
    """

    def __init__(self, pipe: Any, most: int = MOST_BYTES) -> None:
        self.pipe, self.most = pipe, most
        self.lock = threading.Lock()
        self.header = b""
        self.kept: deque[bytes] = deque()
        self.size = 0
        self.rest = bytearray()
        self.is_known = True

    def fileno(self) -> int:
        """Return the descriptor of the pipe."""
        return int(self.pipe.fileno())

    def readable(self) -> bool:
        """Return True (io.RawIOBase)."""
        return True

    def readinto(self, room: Any) -> int | None:
        """Read the available bytes, see io.RawIOBase."""
        count = self.pipe.readinto(room)
        if count and self.is_known:
            with self.lock:
                self.rest += memoryview(room)[:count]
                self.keep()
        return count  # type: ignore[no-any-return]

    def keep(self) -> None:
        """Store complete packets, and drop the oldest beyond the limit."""
        at = 0
        for start, end, is_head in self.parts():
            data = bytes(self.rest[start:end])
            at = end
            if is_head:
                self.header += data
            else:
                self.kept.append(data)
                self.size += len(data)
        del self.rest[:at]
        if len(self.rest) > LARGEST or len(self.header) > self.most:
            self.is_known = False
            self.kept.clear()
        while self.size > self.most:
            self.size -= len(self.kept.popleft())

    def parts(self) -> Iterator[tuple[int, int, bool]]:
        """Yield the start and end of complete packets and blocks, and whether later ones need them."""
        rest, at = self.rest, 0
        started = bool(self.header)
        if not started:
            if len(rest) < PCAP_HEADER:
                return
            if rest[:4] != SECTION:
                yield 0, PCAP_HEADER, True
                at = PCAP_HEADER
        first = self.header or bytes(rest[:PCAP_HEADER])
        blocks = first[:4] == SECTION
        is_little = first[8] == 0x4D if blocks else first[0] in (0xD4, 0x4D)
        order: Literal["little", "big"] = "little" if is_little else "big"
        while len(rest) - at >= (BLOCK if blocks else PCAP_RECORD):
            if blocks:
                kind, size = (int.from_bytes(rest[at + skip : at + skip + 4], order) for skip in (0, 4))
            else:
                kind, size = -1, PCAP_RECORD + int.from_bytes(rest[at + 8 : at + 12], order)
            if not (BLOCK if blocks else PCAP_RECORD) <= size <= LARGEST:
                self.is_known = False
                return
            if len(rest) - at < size:
                return
            yield at, at + size, kind in KEPT
            at += size

    def recent(self) -> io.BytesIO:
        """Return a capture of the latest packets."""
        with self.lock:
            return io.BytesIO(self.header + b"".join(self.kept))

"""The proxy's traffic as a growing capture: packets as if clients had connected to the brokers directly.

Addresses are the client's and the broker's own. The bytes are those that each side sent, so responses are recorded
before they are rewritten.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from kcli.capture.io.packet_writing import Direction, Endpoint, PacketStream, file_start

RECORDED = "kcli proxy"  # the name of the interface
FLUSH_SECONDS = 0.02  # how long packets wait to be written together
MOST_WAITING = 1 << 18  # the most bytes that wait, as more would cost new memory pages each time


class Recorder:
    """Gathers packets, and writes them every FLUSH_SECONDS. write: gets whole blocks of one pcapng file; interface: the
    name of its interface.
    """

    def __init__(self, write: Callable[[bytes], None], interface: str = RECORDED) -> None:
        self.write = write
        self._waiting: list[bytes] = [file_start(interface)]
        self._size = 0
        self._timer: asyncio.TimerHandle | None = None
        self._failure: OSError | None = None  # of a write by the timer, which has no caller

    def begin(self, client: Endpoint, server: Endpoint, comment: str) -> Recording:
        """Begin recording a connection. comment: for its first packet."""
        return Recording(self, PacketStream(client, server), comment)

    def put(self, blocks: bytes) -> None:
        """Add blocks, which are written soon, or at once if more than MOST_WAITING bytes wait. Raises OSError then.

        Blocks are dropped after a failed write by the timer; `flush` raises its error.
        """
        if self._failure is not None:
            return
        self._waiting.append(blocks)
        self._size += len(blocks)
        if self._size > MOST_WAITING:
            self.flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush_later)

    def _flush_later(self) -> None:
        try:
            self.flush()
        except OSError as error:
            self._failure = error

    def flush(self) -> None:
        """Write all waiting blocks. Raises OSError, also that of an earlier write."""
        if self._failure is not None:
            raise self._failure
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting:
            self.write(b"".join(waiting))


class Recording:
    """The recording of one connection. Each packet has the current time."""

    def __init__(self, recorder: Recorder, packets: PacketStream, comment: str) -> None:
        self.recorder, self.packets = recorder, packets
        recorder.put(packets.begin(time.time_ns(), comment))

    def data(self, direction: Direction, data: bytes | memoryview) -> None:
        """Record bytes that came from one side."""
        self.recorder.put(self.packets.data(direction, time.time_ns(), data))

    def end(self, direction: Direction) -> None:
        """Record that a side sends no more."""
        self.recorder.put(self.packets.end(direction, time.time_ns()))

    def reset(self, direction: Direction) -> None:
        """Record that a side was lost."""
        self.recorder.put(self.packets.reset(direction, time.time_ns()))

"""What is under way on a connection: its streams, the requests that wait, what is known of it; how it is handed over.

The compiled engine reads connections by itself while nothing odd happens, and gives them back and forth.
"""

from __future__ import annotations

from collections.abc import Callable

from kcli.capture.bodies import Bodies
from kcli.capture.events import Event, Exchange, Link
from kcli.capture.frames import FrameStream
from kcli.capture.pending import Pending, PendingRequests
from kcli.capture.trial import Trial

__all__ = ["ConnectionState"]

PLENTY = 256  # waiting requests beyond which a connection is not steady
MUCH = 1 << 18  # ... and bytes that it holds: handing them over has to cost little


class ConnectionState:
    """Streams and fields are numbered by end: 0 or 1, in the order of `ends`."""

    def __init__(
        self,
        ends: tuple[str, str],
        client: int | None,
        started: tuple[bool, bool],
        bodies: Bodies,
        emit: Callable[[Exchange | Event], None],
    ) -> None:
        self.ends = ends
        self.bodies = bodies
        self.emit = emit
        self.client = client
        self.streams = (FrameStream(started[0]), FrameStream(started[1]))
        self.pending = PendingRequests()
        self.trial: Trial | None = Trial()  # None: it is proved to be Kafka's
        self.searched = False  # its requests had to be looked for
        self.spoke = False  # a request was found
        self.tokens = False  # SASL tokens stand where requests did
        self.lossy = False  # an answer may be missing
        self.foreign: str | None = None  # why this is not Kafka
        self.began = 0

    # What is asked from outside

    @property
    def steady(self) -> bool:
        """Nothing odd is under way: frames follow each other in both directions, and each answer has its request."""
        return (
            self.trial is None and not self.tokens and not self.lossy and self.foreign is None
            and all(stream.synced and not stream.skip for stream in self.streams)
            and len(self.pending) < PLENTY and not self.pending.odd and self.weight < MUCH
        )  # fmt: skip

    @property
    def weight(self) -> int:
        """Bytes of memory counted for what it holds."""
        held = sum(len(stream.buffer) for stream in self.streams) + self.pending.size
        return held if self.trial is None else held + self.trial.size

    def restore(
        self,
        spoke: bool,
        pending: list[tuple[int, int, int, int, bytes]],
        buffers: list[bytes],
        offsets: tuple[int, int],
        heard: tuple[int, int],
        began: int,
        proved: bool,
    ) -> None:
        """Take over a connection that was steady, with what was under way.

        heard: when each end last sent bytes. proved: an exchange was read to its last byte.
        """
        self.spoke = spoke
        self.began = self.began or began
        self.pending = PendingRequests(Pending(*request) for request in pending)
        for stream, buffer, offset, ns in zip(self.streams, buffers, offsets, heard, strict=True):
            stream.buffer[:] = buffer
            stream.offset, stream.ns = offset, ns
            stream.received = offset + len(buffer)
        if proved:
            self.trial = None

    def release(self) -> tuple[list[tuple[int, int, int, int, bytes]], list[bytes], tuple[int, int]]:
        """The reverse, for a connection that is steady: waiting requests, parts of frames that have come, and when."""
        pending = [(p.correlation_id, p.api_key, p.api_version, p.ns, p.frame or b"") for p in self.pending]
        buffers = [bytes(stream.buffer) for stream in self.streams]
        self.pending.clear()
        for stream in self.streams:
            stream.buffer.clear()
        return pending, buffers, (self.streams[0].ns, self.streams[1].ns)

    @property
    def link(self) -> Link:
        """Server and client; a guess by port where nobody is known to be the client."""
        client = self.client if self.client is not None else self.guess_client()
        return Link(self.ends[1 - client], self.ends[client])

    def guess_client(self) -> int:
        """Servers have the lower port, as a rule."""
        ports = [int(end.rpartition(":")[2]) for end in self.ends]
        return 0 if ports[0] > ports[1] else 1

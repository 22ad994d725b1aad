"""The state of a connection: its streams, waiting requests and findings so far, and its output.

The compiled engine reads steady connections itself: it takes over their state, and hands it back.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from kcli.capture.kafka.bodies import Bodies, Cut
from kcli.capture.kafka.events import Event, Kind, Link
from kcli.capture.kafka.exchange import Exchange, Timing
from kcli.capture.kafka.frames import LARGEST, FrameStream
from kcli.capture.kafka.kafka_probe import Trial
from kcli.capture.kafka.pending import Pending, PendingRequests
from kcli.grammar.request_start import client_id_of

TWIN = "#"  # separates an end from a connection's number, if several connections have the same two ends
PENDING = tuple(each.name for each in fields(Pending))
# A handover copies what a connection holds. So it has to be small, at most PLENTY waiting requests and MUCH bytes, or
# to be worth it: reading a byte here takes as long as handing over WORTH bytes.
PLENTY = 256  # requests
MUCH = 1 << 18  # bytes
WORTH = 16  # bytes
MOST_WAITING = 2048  # waiting requests of a steady connection: half of those that the core takes
LONGEST_KNOWN = 64  # longest client id that is remembered, in bytes
UNKNOWN = "a request of an unknown API or version"


class ConnectionState:
    """Streams and fields are numbered by end: 0 or 1, in the order of `ends`."""

    def __init__(
        self,
        ends: tuple[str, str],
        client: int | None,
        started: tuple[bool, bool],
        bodies: Bodies,
        emit: Callable[[Exchange | Event], None],
        *,
        to_broker: bool = False,
    ) -> None:
        """Begin. to_broker: the server is known to be a broker, so bytes that look like a request are one."""
        self.to_broker = to_broker
        self.ends = ends
        self.bodies = bodies
        self.emit = emit
        self.client = client
        self.streams = (FrameStream(started[0]), FrameStream(started[1]))
        self.pending = PendingRequests()
        self.trial: Trial | None = Trial()  # None: the connection is proved to be Kafka's
        self.searched = False  # the first request had to be searched for
        self.spoke = False  # a request was found
        self.odd_frame = False  # the first frame was skipped
        self.tokens = False  # SASL tokens are sent in place of requests
        self.lossy = False  # a response may be missing
        self.foreign: str | None = None  # why this connection is not Kafka's
        self.is_cut = False  # whether the snapshot length cut off bytes of it
        self.began = 0
        self.answered = 0  # when the latest response was complete (ns); 0 without responses
        self.client_id = b""  # the client id of an answered request
        self.read_by_core = 0  # bytes of both streams that the core had read when it handed the connection over

    @property
    def steady(self) -> bool:
        """True if the connection is steady: frames follow each other in both directions, and each response has its
        request.
        """
        return (
            self.trial is None and not self.tokens and not self.lossy and self.foreign is None
            and all(stream.synced and not stream.skip for stream in self.streams)
            and not self.pending.odd and len(self.pending) < MOST_WAITING and self.may_be_handed_over()
        )  # fmt: skip

    def may_be_handed_over(self) -> bool:
        """Return whether a handover takes little time, or no more than reading took since the last one."""
        held = self.weight
        small = len(self.pending) < PLENTY and held < MUCH
        return small or held <= WORTH * (sum(stream.received for stream in self.streams) - self.read_by_core)

    @property
    def fresh(self) -> bool:
        """True if the connection's first bytes are still to come, and none are missing."""
        return (
            self.client is not None and self.foreign is None and self.trial is not None and not self.trial.lossy
            and all(stream.synced and not stream.received for stream in self.streams)
        )  # fmt: skip

    @property
    def weight(self) -> int:
        """The memory counted for held data, in bytes."""
        held = sum(len(stream.buffer) for stream in self.streams) + self.pending.size
        return held if self.trial is None else held + self.trial.size

    def restore(  # noqa: PLR0913
        self,
        spoke: bool,
        pending: list[tuple[Any, ...]],
        buffers: list[bytes],
        offsets: tuple[int, int],
        heard: tuple[int, int],
        began: int,
        proved: bool,
        begun: tuple[int, int],
        answered: int,
        client_id: bytes,
    ) -> None:
        """Take over a steady connection with its requests and partial frames.

        pending: the fields of Pending. heard: when each end last sent bytes. proved: an exchange was read to its last
        byte. begun: when the first bytes of the buffers came. answered: when the latest response was complete.
        client_id: the client id of an answered request; b"" if unknown.
        """
        self.answered = answered
        self.client_id = client_id or self.client_id
        self.spoke = spoke
        self.began = self.began or began
        self.pending = PendingRequests(Pending(*request) for request in pending)
        for stream, buffer, offset, ns, first in zip(self.streams, buffers, offsets, heard, begun, strict=True):
            stream.buffer[:] = buffer
            stream.offset, stream.ns, stream.begun = offset, ns, first
            stream.received = offset + len(buffer)
        self.read_by_core = sum(stream.received for stream in self.streams)
        if proved:
            self.trial = None

    def release(self) -> tuple[list[tuple[Any, ...]], list[bytes], tuple[int, int], tuple[int, int], int, bytes]:
        """Return a steady connection's state and forget it: waiting requests, partial frames, the times of their last
        and first bytes, the time of the latest response, and the client id.
        """
        pending = [tuple(getattr(each, name) for name in PENDING) for each in self.pending]
        buffers = [bytes(stream.buffer) for stream in self.streams]
        self.pending.clear()
        for stream in self.streams:
            stream.buffer.clear()
        one, other = self.streams
        return pending, buffers, (one.ns, other.ns), (one.begun, other.begun), self.answered, self.client_id

    @property
    def link(self) -> Link:
        """Server and client; guessed from the ports if the client is unknown."""
        client = self.probable_client
        return Link(bare(self.ends[1 - client]), self.ends[client])

    @property
    def probable_client(self) -> int:
        """The client's end; if unknown, the end with the higher port, as servers mostly have the lower one."""
        if self.client is not None:
            return self.client
        ports = [int(bare(end).rpartition(":")[2]) for end in self.ends]
        return 0 if ports[0] > ports[1] else 1

    def least_size(self, d: int) -> int:
        """Return the least length that a frame of end `d` may have."""
        return 0 if self.tokens else 8 if d == self.client else 4

    def plausible_size(self, d: int, size: int) -> bool:
        """Return whether a frame of end `d` may have this length."""
        return self.least_size(d) <= size < LARGEST

    # Output

    def put(self, item: Exchange | Event) -> None:
        """Emit an exchange or event, or hold it back until the connection is known to be Kafka's."""
        if self.trial is None:
            self.emit(item)
        elif self.foreign is None:
            self.trial.hold(item)

    def exchange(self, request: Pending, ns: int | None, frame: bytes | None, cut: int | None = None) -> None:
        """Emit a request with its response, or without one (None). ns: the response's time. cut: its size on the wire
        (bytes) if the frame has only its first bytes.
        """
        assert request.frame is not None and self.client is not None
        if ns is None and not self.vouches_for(request):
            self.event("undecodable", self.client, 0, request.size, f"{UNKNOWN}, without a response", request.ns)
            return
        if ns is not None:
            self.remember_client(request)
        answering = None if ns is None else self.streams[1 - self.client].first
        timing = Timing(request.began, answering, request.pause, request.in_flight)
        sizes = Cut(request.cut, cut)
        self.put(Exchange(self.link, request.ns, request.frame, ns, frame, self.bodies, timing, sizes))

    def remember_client(self, request: Pending) -> None:
        """Remember the client id of a request that was answered, unless it is empty or too long."""
        found = client_id_of(request.frame or b"") or b""
        self.client_id = found if 0 < len(found) <= LONGEST_KNOWN else self.client_id

    def vouches_for(self, request: Pending) -> bool:
        """Return whether an unanswered request certainly is one: the tables have its version, or its client is known.
        Anything else may be a password, so only its size is shown.
        """
        known = self.bodies.knows(request.api_key, request.api_version)
        return known or bool(self.client_id and client_id_of(request.frame or b"") == self.client_id)

    def event(  # noqa: PLR0913
        self,
        kind: Kind,
        d: int,
        offset: int,
        size: int,
        reason: str,
        ns: int | None = None,
        data: bytes | None = None,
        captured: bool = True,
        asked: Pending | None = None,
    ) -> None:
        """Emit an event about bytes of end `d`.

        offset: of the first byte, in that end's bytes. ns: None for the latest time. data: the bytes that could not be
        decoded. asked: the request to which they are the response; None if unknown.
        """
        sender = "client" if d == self.probable_client else "server"
        ns = self.streams[d].ns if ns is None else ns
        known = asked is not None and not self.bodies.hides(asked.api_key, asked.api_version)
        hidden = data is not None and not known and not self.bodies.secrets
        self.put(
            Event(kind, str(self.link), ns, offset, size, reason, sender, data=data, hidden=hidden, captured=captured)
        )

    def unread(self, d: int, count: int, why: str) -> None:
        """Skip bytes of end `d`, with an event."""
        stream = self.streams[d]
        offset = stream.offset
        stream.take(count)
        self.event("undecodable", d, offset, count, why)

    def describe(self, request: Pending) -> str:
        """Describe a request in a reason: API, version and correlation id, if the tables have them."""
        api = self.bodies.api(request.api_key)
        if api is None or request.api_version not in api.versions:
            return UNKNOWN
        return f"{api.name} v{request.api_version} request {request.correlation_id}"


def bare(end: str) -> str:
    """Return an end without the number of its connection."""
    return end.partition(TWIN)[0]

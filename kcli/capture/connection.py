"""One connection: frames out of its two streams, and exchanges out of its frames. The rules, in prose:

- The client is who connected, or who was found to send requests, or who does not have a port that was pinned.
- A connection whose client's first bytes make no request is not Kafka, TLS if they look like it: counted, not read. So
  is one in which nothing proves to be Kafka's (kcli/capture/trial.py); until then what comes out of it is held back.
- Responses answer requests by correlation id, nearly always in order. A Produce with acks 0 has no response.
- After a SaslHandshake v0 the frames are raw tokens, each way in turn, until a frame is a request again.
- Bytes that a capture lacks (a gap, or a packet cut short) damage the frame they fall into. Its length says where the
  next one starts if the loss ends within it; if not, the stream is searched for one.
- After a loss on the server's side, an answer to a later request means that the earlier ones' answers were lost.
- Every byte ends in an exchange or an event.
"""

from __future__ import annotations

from typing import Any

from kcli.capture.connection_state import ConnectionState
from kcli.capture.events import Event, Exchange, Kind
from kcli.capture.frames import (
    LARGEST,
    PREFIX,
    FrameStream,
    acks_of,
    find_request,
    find_response,
    looks_like_tls,
    plausible_request,
)
from kcli.capture.pending import Pending, PendingRequests
from kcli.schemas.apikeys import PRODUCE, SASL_HANDSHAKE

__all__ = ["CapturedConnection"]

UNANSWERED = 10_000  # requests that wait; the oldest gives up its place
NOTHING = "no request of Kafka's in it"
UNPROVED = "nothing in it decodes to its last byte as Kafka's"
GIVEN_UP = "given up, as more is held than --memory allows"
STRANGE = 1 << 20  # bytes without any frame, in a connection never seen to speak Kafka, after which it is given up


class CapturedConnection(ConnectionState):
    """Feed it ordered bytes of both directions (0 and 1: the two ends), losses, and the end."""

    def restore(self, *state: Any) -> None:
        """See ConnectionState.restore."""
        super().restore(*state)
        for request in self.pending:
            self.judge(request)
        if self.client is not None and not self.spoke:
            self.spoke = bool(plausible_request(self.streams[self.client].buffer, 0, self.bodies))

    def data(self, d: int, ns: int, data: bytes) -> None:
        """Bytes that end `d` sent."""
        stream = self.streams[d]
        stream.ns = ns
        self.began = self.began or ns
        if self.foreign is not None:
            stream.foreign += len(data)
            return
        stream.receive(data)
        self.advance(d)

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """Bytes that end `d` sent and the capture lacks; 0: the number is unknown."""
        stream = self.streams[d]
        stream.ns = ns
        self.began = self.began or ns
        if self.foreign is None:
            if self.trial is not None:
                self.trial.lossy = True
            self.event(
                kind, d, stream.offset + len(stream.buffer), count, reason + self.damage(d, count), captured=False
            )
        self.lossy = self.lossy or d != self.client
        stream.offset += count

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        """The end of the connection, or of the capture; `extra`: bytes counted elsewhere once it was foreign."""
        if self.foreign is None and not self.spoke and any(s.buffer or s.seen for s in self.streams):
            self.refuse(NOTHING)
        self.end_trial()
        if self.foreign is not None:
            self.close_foreign(ns, extra)
            return
        for d, stream in enumerate(self.streams):
            if stream.damaged:
                self.report_damaged(d)
            if stream.buffer:
                self.leftover(d, stream, why)
        self.end_pending(why, ns)
        self.pending.clear()

    def give_up(self) -> None:
        """Let go of what is held, as more is held in all than may be: what waits stays without an answer."""
        if self.foreign is not None:
            return
        if self.trial is not None and self.trial.held:
            self.end_trial()
        for d, stream in enumerate(self.streams):
            self.give_up_buffer(d, stream)
        self.end_pending(GIVEN_UP, max(stream.ns for stream in self.streams))
        self.pending = PendingRequests([request for request in self.pending if request.frame is None])

    def give_up_buffer(self, d: int, stream: FrameStream) -> None:
        """Let go of the part of a frame that end `d` has sent."""
        if not stream.buffer or stream.skip:
            return
        have = len(stream.buffer)
        if not stream.synced or not self.spoke:
            stream.seen += have
            self.unread(d, have, f"no frame found in it: {GIVEN_UP}")
            stream.unsync()
            return
        size = stream.frame_size()
        if size is not None and self.plausible_size(d, size):
            text = self.damaged_frame(d, size)
            offset = stream.offset
            stream.take(have)
            stream.skip = PREFIX + size - have
            self.event("truncated", d, offset, have, f"{have} of {PREFIX + size} bytes{text}: {GIVEN_UP}")

    def end_pending(self, why: str, ns: int) -> None:
        """Requests that wait, as exchanges without an answer, and the event that says so."""
        waiting = [request for request in self.pending if request.frame is not None]
        for request in waiting:
            self.exchange(request, None, None)
        if waiting:
            count = sum(len(request.frame or b"") + PREFIX for request in waiting)
            ids = ", ".join(str(request.correlation_id) for request in waiting[:8]) + (
                ", ..." if len(waiting) > 8 else ""
            )
            assert self.client is not None
            self.event(
                "unanswered-at-end",
                self.client,
                self.streams[self.client].offset,
                count,
                f"no response to {ids}: {why}",
                ns,
                captured=False,
            )

    # Is it Kafka's?

    def judge(self, request: Pending) -> None:
        """What a request says for or against that."""
        if self.trial is None:
            return
        self.trial.see_request(request, self.bodies)
        self.decide()

    def decide(self) -> None:
        """Act on the trial's verdict, if there is one."""
        if self.trial is None or self.foreign is not None:
            return
        if self.trial.proved:
            self.prove()
        elif self.trial.fails(self.searched):
            self.refuse(UNPROVED)

    def prove(self) -> None:
        """It is: what was held back comes out."""
        if self.trial is not None:
            held = self.trial.release()
            self.trial, self.searched = None, False
            for item in held:
                self.emit(item)

    def end_trial(self) -> None:
        """The verdict, where there is no more to wait for."""
        if self.trial is None or self.foreign is not None:
            return
        if self.client is not None and self.spoke:
            self.judge_rest(self.streams[self.client])
        if self.trial.convinces(self.searched) or not any(stream.received for stream in self.streams):
            self.prove()
        else:
            self.refuse(UNPROVED)

    def judge_rest(self, stream: FrameStream) -> None:
        """The header of a request whose rest never came."""
        head = stream.buffer[PREFIX : PREFIX + 4]
        if self.trial is not None and stream.synced and len(head) == 4 and not stream.skip:
            key, version = (int.from_bytes(head[a : a + 2], "big", signed=True) for a in (0, 2))
            self.trial.see_header(key, version, self.bodies)

    def put(self, item: Exchange | Event) -> None:
        """Out with it, or held back until it is known whether this is Kafka's."""
        if self.trial is None:
            self.emit(item)
        elif self.foreign is None:
            self.trial.hold(item)

    # Bytes

    def advance(self, d: int) -> None:
        """Read what the new bytes of end `d` make whole."""
        if not self.spoke and not self.greet(d):
            return
        self.read(d)
        if d == self.client:
            self.read(1 - d)  # answers that were there first

    def greet(self, d: int) -> bool:
        """Whether a request has been found: the client's first bytes, where they were seen from the start."""
        if self.client is None or not self.streams[self.client].synced:
            return self.identify(d)
        start = self.streams[self.client].buffer
        verdict = not looks_like_tls(start) and plausible_request(start, 0, self.bodies)
        if verdict is False:
            return self.refuse("TLS" if looks_like_tls(start) else f"begins with {bytes(start[:12])!r}")
        self.spoke = bool(verdict)
        return self.spoke

    def identify(self, d: int) -> bool:
        """Which end is the client, of a connection that was under way: the one in whose bytes a request is found."""
        stream = self.streams[d]
        if looks_like_tls(stream.buffer) and not stream.seen:
            return self.refuse("TLS")
        at = find_request(stream, self.bodies) if self.client in (None, d) else None
        if at is None:
            self.bound(d)
            if sum(s.seen for s in self.streams) > STRANGE:
                self.refuse(NOTHING)
            return False
        self.client, self.spoke, self.searched = d, True, True
        return True

    def refuse(self, why: str) -> bool:
        """It is not Kafka's: drop what was read, and only count from now on. Returns False."""
        self.foreign = why
        if self.trial is not None:
            self.trial.release()
        self.pending.clear()
        for stream in self.streams:
            stream.foreign = stream.received
            stream.buffer.clear()
            stream.unsync()
        return False

    def read(self, d: int) -> None:
        """All frames that are whole."""
        stream = self.streams[d]
        while stream.buffer:
            if stream.skip:
                stream.pass_damaged()
                if not stream.skip:
                    self.report_damaged(d)
                continue
            if not stream.synced and not self.synchronise(d):
                return
            size = stream.frame_size()
            if size is None:
                return
            if not self.plausible_size(d, size):
                self.event("undecodable", d, stream.offset, 0, f"a frame cannot have a length of {size}")
                stream.unsync()
                self.contradict()
                continue
            if len(stream.buffer) < PREFIX + size:
                return
            offset = stream.offset
            frame = stream.take(PREFIX + size)[PREFIX:]
            if d == self.client:
                self.request(frame, offset)
            else:
                self.response(frame, offset)

    def contradict(self) -> None:
        """Something that Kafka's connections don't have, unless the capture lacks something of them."""
        if self.trial is not None:
            self.trial.see_contradiction()
            self.decide()

    def plausible_size(self, d: int, size: int) -> bool:
        """Whether a frame of end `d` may have this length."""
        return (0 if self.tokens else 8 if d == self.client else 4) <= size < LARGEST

    def synchronise(self, d: int) -> bool:
        """Find a frame; what comes before it is no longer to be read."""
        stream = self.streams[d]
        if d == self.client:
            at = find_request(stream, self.bodies)
            self.searched = self.trial is not None
        else:
            at = find_response(stream, self.pending, self.bodies)
        if at is None:
            self.bound(d)
            return False
        if at:
            self.unread(d, at, "before the first whole frame")
        stream.synced = True
        stream.end_search()
        return True

    def bound(self, d: int) -> None:
        """Give up the oldest bytes of a search that has become long."""
        stream = self.streams[d]
        count = stream.give_up()
        if count:
            stream.seen += count
            self.unread(d, count, "no frame found in it")
            stream.dropped(count)

    def unread(self, d: int, count: int, why: str) -> None:
        """Pass over bytes of end `d`, with an event."""
        stream = self.streams[d]
        offset = stream.offset
        stream.take(count)
        self.event("undecodable", d, offset, count, why)

    # Losses

    def damage(self, d: int, count: int) -> str:
        """What a loss does to the frame it falls into; for the event's reason."""
        stream = self.streams[d]
        have = len(stream.buffer)
        if stream.skip > have and 0 < count <= stream.skip - have:
            stream.skip -= count
            if stream.damaged and not stream.skip:
                self.report_damaged(d)
            return ", in the same frame"
        if stream.damaged:
            self.report_damaged(d)
        size = stream.frame_size() if stream.synced and not stream.skip else None
        if size is None or not self.plausible_size(d, size) or self.client is None:
            self.drop_partial(d)
            stream.unsync()
            return ""
        text = self.damaged_frame(d, size)
        missing = PREFIX + size - have - count
        self.drop_partial(d)
        if missing < 0 or not count:
            stream.unsync()
        else:
            stream.skip = missing
        return text

    def report_damaged(self, d: int) -> None:
        """The event for the bytes behind a loss, to the end of their frame or to the next loss that ends it."""
        stream = self.streams[d]
        count, stream.damaged = stream.damaged, 0
        self.event("undecodable", d, stream.offset - count, count, "in a frame that is not whole")

    def drop_partial(self, d: int) -> None:
        """Pass over the part of a frame that has come."""
        stream = self.streams[d]
        if stream.buffer:
            self.unread(d, len(stream.buffer), "the rest of the frame is missing")

    def damaged_frame(self, d: int, size: int) -> str:
        """The request or response that a loss made unreadable."""
        head = bytes(self.streams[d].buffer[PREFIX : PREFIX + 8])
        if d != self.client:
            number = int.from_bytes(head[:4], "big", signed=True)
            request = self.pending.take(number) if len(head) >= 4 else None
            if request is None:
                return f", in a response of {size} bytes"
            if request.frame is not None:
                self.exchange(request, None, None)
            return f", in the response of {size} bytes to {self.describe(request)}"
        if len(head) < 8:
            return f", in a request of {size} bytes"
        key, version, number = (int.from_bytes(head[a:b], "big", signed=True) for a, b in ((0, 2), (2, 4), (4, 8)))
        request = Pending(number, key, version, self.streams[d].ns, None)
        self.pending.append(request)
        self.judge(request)
        return f", in {self.describe(request)}, {size} bytes"

    def describe(self, request: Pending) -> str:
        """A request's API, version and correlation id, for a reason."""
        api = self.bodies.api(request.api_key)
        return f"{api.name if api else request.api_key} v{request.api_version} request {request.correlation_id}"

    # Frames

    def request(self, frame: bytes, offset: int) -> None:
        """Take in a frame of the client. offset: of its length, in the client's bytes."""
        assert self.client is not None
        ns = self.streams[self.client].ns
        if self.tokens:
            self.tokens = not self.is_request(frame)
        if self.tokens:
            self.pending.append(Pending(0, -1, -1, ns, None, token=True))
            self.event("not-kafka", self.client, offset, len(frame) + PREFIX, "SASL token of the client")
            return
        if len(frame) < 8:
            self.event("undecodable", self.client, offset, len(frame) + PREFIX, "too short for a request", data=frame)
            return
        key, version, number = (int.from_bytes(frame[a:b], "big", signed=True) for a, b in ((0, 2), (2, 4), (4, 8)))
        request = Pending(number, key, version, ns, frame)
        self.judge(request)
        if self.foreign is not None:
            return
        if key == PRODUCE and self.bodies.knows(key, version) and acks_of(frame, self.bodies.dialect) == 0:
            self.exchange(request, None, None)
            return
        self.tokens = key == SASL_HANDSHAKE and version == 0
        self.pending.append(request)
        if len(self.pending) > UNANSWERED:
            oldest = self.pending.popleft()
            if oldest.frame is not None:
                self.exchange(oldest, None, None)

    def is_request(self, frame: bytes) -> bool:
        """Whether a frame is a request to its last byte, and no SASL token."""
        whole = len(frame).to_bytes(4, "big") + frame
        return bool(plausible_request(whole, 0, self.bodies)) and self.bodies.request_fits(frame)

    def response(self, frame: bytes, offset: int) -> None:
        """Take in a frame of the server. offset: of its length, in the server's bytes."""
        assert self.client is not None
        server = 1 - self.client
        ns = self.streams[server].ns
        if self.pending.first is not None and self.pending.first.token:
            self.pending.popleft()
            self.event("not-kafka", server, offset, len(frame) + PREFIX, "SASL token of the server")
            return
        number = int.from_bytes(frame[:4], "big", signed=True)
        if self.lossy and self.pending.find(number) is not None:
            self.pass_unanswered(number)
        request = self.pending.take(number)
        if request is None:
            why = f"answers request {number}, which is not in the capture"
            self.event("undecodable", server, offset, len(frame) + PREFIX, why, data=frame)
            if not self.searched:
                self.contradict()
            return
        if request.frame is None:
            why = f"answers {self.describe(request)}, which is not whole in the capture"
            self.event("undecodable", server, offset, len(frame) + PREFIX, why, data=frame, api_key=request.api_key)
            return
        if self.trial is not None and self.trial.see_response(request, frame, self.bodies):
            self.prove()
        self.exchange(request, ns, frame)
        self.decide()

    def pass_unanswered(self, number: int) -> None:
        """Requests before one that was answered, where answers were lost."""
        for request in self.pending.before(number):
            if request.frame is not None:
                self.exchange(request, None, None)
        self.lossy = False

    # What comes out

    def exchange(self, request: Pending, ns: int | None, frame: bytes | None) -> None:
        """Put out a request with its response, or without one (None). ns: the response's time."""
        assert request.frame is not None
        self.put(Exchange(self.link, request.ns, request.frame, ns, frame, self.bodies))

    def event(
        self,
        kind: Kind,
        d: int,
        offset: int,
        size: int,
        reason: str,
        ns: int | None = None,
        data: bytes | None = None,
        captured: bool = True,
        api_key: int | None = None,
    ) -> None:
        """data: what could not be decoded. api_key: of that API, None where that is unknown."""
        link = self.link
        sender = "server" if self.ends[d] == link.server else "client"
        ns = self.streams[d].ns if ns is None else ns
        hidden = data is not None and self.bodies.hides(api_key)
        self.put(Event(kind, str(link), ns, offset, size, reason, sender, data=data, hidden=hidden, captured=captured))

    def leftover(self, d: int, stream: FrameStream, why: str) -> None:
        """Bytes at the end that make no whole frame."""
        if not stream.synced:
            self.unread(d, len(stream.buffer), "no frame found in it")
            return
        size = stream.frame_size()
        have = len(stream.buffer)
        says = f"{have} of {PREFIX + size} bytes of a frame" if size is not None else f"{have} bytes of a frame"
        self.event("truncated", d, stream.offset, have, f"{says}: {why}")
        stream.buffer.clear()

    def close_foreign(self, ns: int, extra: tuple[int, int]) -> None:
        """Report the end of a connection that is not Kafka's, with its bytes."""
        count = sum(stream.foreign for stream in self.streams) + sum(extra)
        self.emit(Event("not-kafka", str(self.link), self.began or ns, 0, count, self.foreign or ""))

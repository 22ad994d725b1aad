"""Reads frames from the two streams of a connection, and pairs them to exchanges. The rules:

- The client is the end that connected, or that was found to send requests, or that does not have a pinned port.
- A connection whose client does not begin with a request is not Kafka's (it is TLS if it looks like it), and is only
  counted. So is one in which nothing proves to be Kafka's (kafka_probe.py); until then its exchanges and events
  are held back.
- Responses match requests by correlation id, nearly always in order. A Produce with acks 0 has no response.
- After a SaslHandshake v0 the frames are raw tokens, in turn from each end, until a frame is a request again.
- Bytes missing from a capture (a gap, or a cut packet) damage the frame that they belong to. If the loss ends within
  that frame, its length gives the start of the next one; if not, the stream is searched for it. Cut frames are messages
  without a body all the same.
- After a loss on the server's side, a response to a later request means that earlier responses were lost.
- Every byte is in an exchange or an event.
"""

from typing import Any

from kcli.capture.first_bytes import protocol_of, token_mechanism
from kcli.capture.kafka.connection_state import ConnectionState
from kcli.capture.kafka.correlation import add_request, add_response, end_pending
from kcli.capture.kafka.events import CUT_OFF, WHY_GIVEN_UP, Event, Kind
from kcli.capture.kafka.frame_search import NOTHING, identify, synchronise
from kcli.capture.kafka.frames import FrameStream, names_api, plausible_request
from kcli.capture.kafka.gaps import damage, end_damaged, give_up_buffer, leftover, report_damaged
from kcli.capture.kafka.pending import PendingRequests
from kcli.capture.kafka.probe_result import contradict, end_trial, judge, refuse
from kcli.grammar.files.tls import is_record_header
from kcli.grammar.request_start import PREFIX

LARGEST_ODD = 1 << 16  # longest first frame that is skipped, in bytes


class CapturedConnection(ConnectionState):
    """Receives ordered bytes of both directions (0 and 1, the two ends), losses, and the connection's end."""

    def restore(self, *state: Any) -> None:
        super().restore(*state)
        for request in list(self.pending):  # a verdict empties the queue
            if self.foreign is None:
                judge(self, request)
        if self.client is not None and not self.spoke:
            self.spoke = bool(plausible_request(self.streams[self.client].buffer, 0, self.bodies))

    def data(self, d: int, ns: int, data: bytes) -> None:
        """Read bytes that end `d` sent."""
        stream = self.streams[d]
        stream.ns = ns
        self.began = self.began or ns
        if self.foreign is not None:
            stream.foreign += len(data)
            return
        stream.receive(data)
        self.advance(d)

    def pass_proxy_header(self, d: int, ns: int, size: int, reason: str) -> None:
        """Skip the PROXY protocol header that end `d` begins with. size: its bytes."""
        stream = self.streams[d]
        stream.ns, self.began = ns, self.began or ns
        self.emit(Event("not-kafka", str(self.link), ns, stream.offset, size, reason, "client"))
        stream.offset += size

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """Note that bytes of end `d` are missing from the capture. count: their number, 0 if unknown."""
        stream = self.streams[d]
        stream.ns = ns
        self.began = self.began or ns
        if self.foreign is None:
            self.is_cut = self.is_cut or kind == "truncated"
            if self.trial is not None:
                self.trial.lossy = True
            offset, cut = stream.offset + len(stream.buffer), kind == "truncated"
            self.event(kind, d, offset, count, reason + damage(self, d, count, cut=cut), captured=False)
            self.lossy = self.lossy or (d != self.client and not stream.synced)
        stream.offset += count

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        """End the connection, or the capture. extra: bytes that were counted elsewhere since the connection was not
        Kafka's.
        """
        if self.foreign is None and not self.spoke and any(s.buffer or s.seen for s in self.streams):
            first = self.streams[self.client].buffer if self.client is not None else b""
            refuse(self, start_text(first) if first and self.streams[self.client or 0].synced else NOTHING)
        end_trial(self)
        if self.foreign is not None:
            self.close_foreign(ns, extra)
            return
        for d, stream in enumerate(self.streams):
            if stream.damaged:
                report_damaged(self, d)
            if stream.buffer:
                leftover(self, d, stream, why)
        end_pending(self, why, ns)
        self.pending.clear()

    def give_up(self) -> None:
        """Drop the held data, to stay within the memory limit; waiting requests stay unanswered."""
        if self.foreign is not None:
            return
        if self.trial is not None and self.trial.held:
            end_trial(self)
        for d, stream in enumerate(self.streams):
            give_up_buffer(self, d, stream)
        end_pending(self, WHY_GIVEN_UP, max(stream.ns for stream in self.streams))
        self.pending = PendingRequests([request for request in self.pending if request.frame is None])

    def advance(self, d: int) -> None:
        """Read the frames that the new bytes of end `d` complete."""
        if not self.spoke:
            if not self.greet(d) or self.client is None:
                return
            d = self.client
        self.read(d)
        if d == self.client:
            self.read(1 - d)  # responses that came before their request was found

    def greet(self, d: int) -> bool:
        """Return whether a request has been found: the client's first bytes, if they were captured from the start."""
        if self.client is None or not self.streams[self.client].synced:
            return identify(self, d)
        stream = self.streams[self.client]
        verdict = not is_record_header(stream.buffer) and plausible_request(stream.buffer, 0, self.bodies)
        if verdict is False:
            verdict = self.greet_oddly(stream)
        self.spoke = bool(verdict)
        return self.spoke

    def greet_oddly(self, stream: FrameStream) -> bool | None:
        """Return whether requests may follow the client's first bytes, which are no request.

        Return None if there are too few bytes so far.
        """
        start = stream.buffer
        if token_mechanism(start[PREFIX:]):
            self.tokens = True
            return True
        name = protocol_of(start)
        if not name:
            found = self.is_unknown_request(start)
            found = self.passes_odd_frame(stream) if found is False else found
            if found is not False:
                return found
        return refuse(self, start_text(start))

    def is_unknown_request(self, start: bytearray) -> bool | None:
        """Return whether the client begins with a request of an unknown API, and the response matches it.

        Return None if there is no response yet.
        """
        assert self.client is not None
        answer = self.streams[1 - self.client].buffer[PREFIX : 2 * PREFIX]
        if not names_api(start, self.bodies) or (len(answer) == PREFIX and answer != start[8:12]):
            return False
        return len(answer) == PREFIX or None

    def passes_odd_frame(self, stream: FrameStream) -> bool | None:
        """Skip a first frame that is no request of Kafka's if requests follow it; None if that is not known yet."""
        size = stream.frame_size() or 0
        if not 0 < size <= LARGEST_ODD or self.odd_frame:
            return False
        found = plausible_request(stream.buffer, PREFIX + size, self.bodies)
        if found:
            self.odd_frame = True
            self.unread(self.client or 0, PREFIX + size, "a first frame that is no request of Kafka's")
        return found

    def read(self, d: int) -> None:
        """Read all whole frames."""
        stream = self.streams[d]
        while stream.buffer:
            if stream.skip:
                stream.pass_damaged()
                if not stream.skip:
                    end_damaged(self, d)
                continue
            if not stream.synced and not synchronise(self, d):
                return
            offset, frame = stream.offset, stream.take_frame(self.least_size(d))
            if frame is None:
                return
            if isinstance(frame, int):
                name = "" if offset else protocol_of(stream.buffer)
                why = f"answers in {name}: a Kafka client on a port of another kind" if name else ""
                self.event("undecodable", d, offset, 0, why or "no frame has such a length")
                stream.unsync()
                contradict(self)
                continue
            self.take_frame(d, frame, offset)

    def take_frame(self, d: int, frame: bytes, offset: int) -> None:
        """Process a whole frame of end `d`. offset: of its length, in that end's bytes."""
        if d == self.client:
            add_request(self, frame, offset)
        else:
            add_response(self, frame, offset)

    def close_foreign(self, ns: int, extra: tuple[int, int]) -> None:
        """Report the end of a connection that is not Kafka's, with its bytes."""
        count = sum(stream.foreign for stream in self.streams) + sum(extra)
        reason = f"{self.foreign}{CUT_OFF if self.is_cut else ''}"
        self.emit(Event("not-kafka", str(self.link), self.began or ns, 0, count, reason))


def start_text(start: bytes | bytearray) -> str:
    """Return the protocol with which a connection begins that is not Kafka's. Its bytes are not shown, as they may be a
    password.
    """
    return protocol_of(start) or "begins with no request of Kafka's"

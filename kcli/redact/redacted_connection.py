"""A captured connection that passes on its frames redacted, with their positions in its two streams."""

from collections.abc import Callable
from typing import Any

from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.correlation import is_request
from kcli.capture.kafka.events import Kind
from kcli.grammar.request_start import PREFIX, api_of
from kcli.redact.batches import BLANK
from kcli.redact.logins import Login
from kcli.redact.messages import API, NUMBER, UNNUMBERED, FrameRedactor

Write = Callable[[int, int, bytes], None]  # write(end, offset in its stream, redacted bytes)
Came = Callable[[int, int, int, int], None]  # came(end, ns, position after the bytes in its stream, number of bytes)


class RedactedConnection(CapturedConnection):
    """A CapturedConnection that passes what it can read to `write`, redacted.

    unnumbered: correlation ids of waiting requests that can't be decoded, and so get another id in the redacted capture
    """

    def __init__(self, *state: Any, frames: FrameRedactor, login: Login, write: Write, came: Came) -> None:
        """Follow a connection. state: the arguments of CapturedConnection."""
        super().__init__(*state)
        self.frames, self.login, self.write, self.came = frames, login, write, came
        self.unnumbered: set[int] = set()

    def restore(self, *state: Any) -> None:
        super().restore(*state)
        for request in self.pending:
            if request.frame is not None and not self.frames.is_numbered(request.frame):
                self.unnumbered.add(request.correlation_id)

    @property
    def steady(self) -> bool:
        return super().steady and not self.unnumbered

    def data(self, d: int, ns: int, data: bytes) -> None:
        if self.foreign is None:
            self.came(d, ns, self.streams[d].offset + len(self.streams[d].buffer) + len(data), len(data))
        super().data(d, ns, data)

    def take_frame(self, d: int, frame: bytes, offset: int) -> None:
        made = self.redacted(d, frame)
        self.write(d, offset, len(frame).to_bytes(PREFIX, "big") + made)
        super().take_frame(d, frame, offset)

    def redacted(self, d: int, frame: bytes) -> bytes:
        """Return a frame without names. Only the size stays of a frame that can't be read, or is a token."""
        if d == self.client:
            if (self.tokens and not is_request(self, frame)) or len(frame) < 8:
                return BLANK * len(frame)
            made = self.frames.request(frame, self.login)
            if made[NUMBER] != frame[NUMBER]:
                self.unnumbered.add(int.from_bytes(frame[NUMBER], "big", signed=True))
            return made
        first, number = self.pending.first, int.from_bytes(frame[:4], "big", signed=True)
        request = self.pending.find(number)
        if (first is not None and first.token) or request is None or request.frame is None:
            self.unnumbered.discard(number)
            return BLANK * len(frame)
        made = self.frames.response(frame, request.api_key, request.api_version, request.frame)
        if number in self.unnumbered:
            self.unnumbered.remove(number)
            return UNNUMBERED[: len(frame)] + made[4:]
        return made

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        self.write_head(d, is_message=True)
        super().lost(d, ns, count, kind, reason)

    def give_up(self) -> None:
        self.write_heads()
        super().give_up()

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        self.write_heads()
        super().close(ns, why, extra)

    def write_heads(self) -> None:
        """Call `write_head` for both ends."""
        self.write_head(0)
        self.write_head(1)

    def write_head(self, d: int, *, is_message: bool = False) -> None:
        """Write what may stay of a frame that will never be complete: its length, and the bytes that identify the
        message. is_message: bytes in its middle or at its end are missing, so that it is a message all the same.
        """
        stream = self.streams[d]
        size = stream.frame_size()
        if self.foreign is not None or not stream.synced or stream.skip or size is None:
            return
        if self.plausible_size(d, size):
            received = bytes(stream.buffer[PREFIX : PREFIX + size])
            head = self.known_head(d, received, is_message=is_message)
            self.write(d, stream.offset, bytes(stream.buffer[:PREFIX]) + head[: len(received)])

    def known_head(self, d: int, received: bytes, *, is_message: bool) -> bytes:
        """Return what may stay of the first bytes of an incomplete frame: see kcli.redact.messages."""
        if self.tokens or len(received) < API:
            return b""
        if d == self.client:
            if not self.frames.bodies.knows(*api_of(received)):
                return b""
            if is_message and len(received) >= NUMBER.stop:
                self.unnumbered.add(int.from_bytes(received[NUMBER], "big", signed=True))
            return received[:API] + UNNUMBERED
        number = int.from_bytes(received[:API], "big", signed=True)
        request = self.pending.find(number)
        if request is None or request.frame is None:
            return b""
        if number not in self.unnumbered:
            return received[:API]
        if not is_message:
            return b""
        self.unnumbered.remove(number)
        return UNNUMBERED

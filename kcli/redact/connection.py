"""A captured connection whose frames are handed on redacted, with their places in its two streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.capture.kafka.connection import CapturedConnection
from kcli.capture.kafka.correlation import is_request
from kcli.capture.kafka.events import Kind
from kcli.grammar.request_start import PREFIX
from kcli.redact.batches import BLANK
from kcli.redact.messages import FrameRedactor

Write = Callable[[int, int, bytes], None]  # write(end, offset in what it sent, redacted bytes)
Came = Callable[[int, int, int, int], None]  # came(end, ns, place behind them in what it sent, bytes to be read)
HEADS = (8, 4)  # bytes behind a frame's length that stay of one that is not whole: of a request, of a response


class RedactedConnection(CapturedConnection):
    """As a CapturedConnection; what it reads goes to `write`, and what it can't read does not."""

    def __init__(self, *state: Any, frames: FrameRedactor, write: Write, came: Came) -> None:
        """state: as CapturedConnection has it."""
        super().__init__(*state)
        self.frames, self.write, self.came = frames, write, came

    def data(self, d: int, ns: int, data: bytes) -> None:
        """See CapturedConnection."""
        if self.foreign is None:
            self.came(d, ns, self.streams[d].offset + len(self.streams[d].buffer) + len(data), len(data))
        super().data(d, ns, data)

    def take_frame(self, d: int, frame: bytes, offset: int) -> None:
        """See CapturedConnection."""
        made = self.redacted(d, frame)
        self.write(d, offset, len(frame).to_bytes(PREFIX, "big") + made)
        super().take_frame(d, frame, offset)

    def redacted(self, d: int, frame: bytes) -> bytes:
        """A frame without names; of one that nobody can read, a token among them, what stands at fixed places."""
        if d == self.client:
            if (self.tokens and not is_request(self, frame)) or len(frame) < 8:
                return BLANK * len(frame)
            return self.frames.request(frame)
        first = self.pending.first
        if first is not None and first.token:
            return BLANK * len(frame)
        request = self.pending.find(int.from_bytes(frame[:4], "big", signed=True))
        if request is None or request.frame is None:
            return frame[:4] + BLANK * (len(frame) - 4)
        return self.frames.response(frame, request.api_key, request.api_version, request.frame)

    def lost(self, d: int, ns: int, count: int, kind: Kind, reason: str) -> None:
        """See CapturedConnection."""
        self.write_head(d)
        super().lost(d, ns, count, kind, reason)

    def give_up(self) -> None:
        """See CapturedConnection."""
        self.write_heads()
        super().give_up()

    def close(self, ns: int, why: str, extra: tuple[int, int] = (0, 0)) -> None:
        """See CapturedConnection."""
        self.write_heads()
        super().close(ns, why, extra)

    def write_heads(self) -> None:
        """As `write_head`, for both ends."""
        self.write_head(0)
        self.write_head(1)

    def write_head(self, d: int) -> None:
        """Write what may stay of a frame that will never be whole: its length, and which message it is."""
        stream = self.streams[d]
        size = stream.frame_size()
        if self.foreign is not None or not stream.synced or stream.skip or size is None:
            return
        if self.plausible_size(d, size):
            kept = PREFIX + (0 if self.tokens else min(size, HEADS[d != self.client]))
            self.write(d, stream.offset, bytes(stream.buffer[:kept]))

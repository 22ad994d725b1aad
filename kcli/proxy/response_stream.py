"""A broker's responses that pass to the client. Those with addresses are held until they are complete, and rewritten.

All others pass in the pieces in which they arrive.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from kcli.broker.faults import Plan
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.broker.net.receiving import FrameBuffer
from kcli.errors import DecodeError, EncodeError
from kcli.grammar.frames import decode_response
from kcli.grammar.request_start import PREFIX
from kcli.proxy.error_answers import merge
from kcli.proxy.request_stream import Awaited
from kcli.proxy.rewriting import AddressRewriter

CORRELATION = 4
NOTHING = b"", b""

Buffer = bytes | memoryview


class Planned(NamedTuple):
    """A response that fault rules affect. frame: with its length; original: the same with the broker's own
    addresses.
    """

    plan: Plan
    frame: bytes
    original: bytes


class ResponseStream:
    """One connection's responses. awaited: the requests without a response; reached: see `AddressRewriter.rewrite`.

    limit: bytes of the longest response to hold and rewrite; note: called with a line if responses pass unread.
    planned: a response that fault rules affect; nothing else passes until it is set to None.
    """

    def __init__(
        self,
        awaited: deque[Awaited],
        rewriter: AddressRewriter,
        reached: str,
        buffers: ReadBuffers,
        limit: int,
        note: Callable[[str], None],
    ) -> None:
        self.awaited, self.rewriter, self.reached = awaited, rewriter, reached
        self.buffers, self.limit, self.note = buffers, limit, note
        self.planned: Planned | None = None
        self._rest = b""  # the start of a response, or all bytes after a planned one
        self._held: FrameBuffer | None = None  # an incomplete response that may have to be rewritten
        self._retired: bytearray | None = None  # the buffer of a former one, which may not be sent yet
        self._skip = 0  # the bytes to come of a response that passes
        self.is_lost = False  # the beginnings of frames are unknown, so that everything passes

    def buffer(self) -> memoryview:
        """Return the buffer of the next read."""
        return self.buffers.scratch if self._held is None else self._held.buffer()

    def take(self, count: int) -> tuple[Buffer, Buffer]:
        """Process received bytes; return the bytes for the client, and the same with the broker's own addresses."""
        held = self._held
        if held is None:
            return self._feed(bytes(self.buffers.scratch[:count]))
        if not held.take(count) and not self.is_lost:
            return NOTHING
        self._held, self._retired = None, held.data
        return self._pass(held.came)

    def release(self) -> None:
        """Release the buffer of bytes that were sent to the client."""
        if self._retired is not None:
            self.buffers.give_back(self._retired)
            self._retired = None

    def proceed(self) -> tuple[Buffer, Buffer]:
        """Return the bytes that can pass without new ones, after the proxy answered a request or a planned response was
        sent; like `take`.
        """
        return self._feed(b"") if self._held is None else NOTHING

    def _feed(self, data: bytes) -> tuple[Buffer, Buffer]:
        if self._rest:
            data, self._rest = self._rest + data, b""
        if self.planned is not None:
            self._rest = data
            return NOTHING
        return self._pass(data)

    def _pass(self, data: Buffer) -> tuple[Buffer, Buffer]:
        """Process bytes of the broker; return those for the client, and the same as the broker sent them. The bytes of
        held frames are returned when the frames are complete.
        """
        if self.is_lost:
            return data, data
        start = min(self._skip, len(data))
        self._skip -= start
        passed = Passed(data)
        while not self._skip and self.planned is None:
            if self.awaited and self.awaited[0].answer is not None:
                passed.replace(start, start, *self._finished(self.awaited.popleft(), b"", b""))
                continue
            size = int.from_bytes(data[start : start + PREFIX], "big", signed=True)
            end = start + PREFIX + size
            if len(data) - start < PREFIX + min(max(size, 0), CORRELATION):
                break
            awaited = self._awaited_by(size, data[start + PREFIX : start + PREFIX + CORRELATION])
            if awaited is None:
                start = len(data)
                break
            if self._is_held(awaited, size):
                if end > len(data):
                    self._held = FrameBuffer(PREFIX + size, data[start:], self.buffers.lend())
                    return passed.up_to(start)
                frame = data[start:end]
                made = self._changed(awaited, frame)
                if made[0] is not frame:
                    passed.replace(start, end, *made)
            self.awaited.popleft()
            start = min(end, len(data))
            self._skip = end - start
        self._rest = bytes(data[start:])
        return passed.up_to(start)

    def _changed(self, awaited: Awaited, frame: Buffer) -> tuple[Buffer, Buffer]:
        """Return a complete response with its length: for the client, and with the broker's own addresses."""
        original = frame if awaited.more is None else self._with_more(awaited, frame)
        made = self.rewriter.rewrite(awaited.api_key, awaited.version, original[PREFIX:], self.reached)
        return self._finished(awaited, original if made is None else len(made).to_bytes(PREFIX, "big") + made, original)

    def _finished(self, awaited: Awaited, frame: Buffer, original: Buffer) -> tuple[Buffer, Buffer]:
        """Return the response, or nothing if fault rules affect it first (`planned`)."""
        if awaited.answer is not None:
            frame = original = awaited.answer
        if awaited.plan is None:
            return frame, original
        self.planned = Planned(awaited.plan, bytes(frame), bytes(original))
        return NOTHING

    def _with_more(self, awaited: Awaited, frame: Buffer) -> Buffer:
        """Add the proxy's own rows to a response."""
        assert awaited.more is not None
        key, version, dialect = awaited.api_key, awaited.version, self.rewriter.dialect
        try:
            response = decode_response(frame, key, version, PREFIX, dialect)
            merge(response.body, awaited.more)
            made = response.encode()
        except (DecodeError, EncodeError) as error:
            self.note(f"{error}: it passes without the error of a fault rule")
            return frame
        return len(made).to_bytes(PREFIX, "big") + made

    def _awaited_by(self, size: int, correlation_id: Buffer) -> Awaited | None:
        """Return the request that a response belongs to; None if there is none, or it is no response."""
        if not self.awaited or size < 0:
            self.give_up("it sent a response without a request")
            return None
        awaited = self.awaited[0]
        got = int.from_bytes(correlation_id, "big", signed=True)
        if awaited.correlation_id is None or (size >= CORRELATION and got == awaited.correlation_id):
            return awaited
        self.give_up(f"it answered request {awaited.correlation_id} with correlation id {got}")
        return None

    def give_up(self, why: str) -> None:
        """Pass everything unread from now on, and drop the awaited requests."""
        if not self.is_lost:
            self.is_lost = True
            self.note(f"{why}: from here on, its responses pass unread")
        self.awaited.clear()

    def _is_held(self, awaited: Awaited, size: int) -> bool:
        """Return whether a response has to be held until it is complete."""
        if awaited.plan is not None or awaited.more is not None:
            return True
        if self.rewriter.find(awaited.api_key, awaited.version) is None:
            return False
        if size > self.limit:
            self.note(f"a response of {size:,} bytes passes unread: addresses in it, if any, are the broker's own")
        return size <= self.limit


class Passed:
    """Bytes that pass, with some parts replaced, differently for the client and for the recording."""

    def __init__(self, data: Buffer) -> None:
        self.data, self.at = data, 0  # bytes before `at` are in the pieces already
        self.client: list[Buffer] = []
        self.record: list[Buffer] = []

    def replace(self, start: int, end: int, client: Buffer, record: Buffer) -> None:
        """Replace the bytes between two positions."""
        before = self.data[self.at : start]
        self.client += before, client
        self.record += before, record
        self.at = end

    def up_to(self, end: int) -> tuple[Buffer, Buffer]:
        """Return the bytes before a position: for the client, and for the recording."""
        rest = self.data[self.at : end]
        if not self.client:
            return rest, rest
        return b"".join((*self.client, rest)), b"".join((*self.record, rest))

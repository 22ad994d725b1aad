"""A broker's responses on their way to the client: those with addresses are held until they are whole, and rewritten.

All else passes by its length, in the pieces in which it comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from kcli.proxy.request_stream import Awaited
from kcli.proxy.rewriting import AddressRewriter

__all__ = ["ResponseStream"]

PREFIX = CORRELATION = 4


class ResponseStream:
    """One connection's responses. awaited: the requests that wait for one; reached: see `AddressRewriter.rewrite`.

    limit: bytes of the longest response that is held and rewritten; note: gets a line where responses pass unread.
    """

    def __init__(
        self,
        awaited: deque[Awaited],
        rewriter: AddressRewriter,
        reached: str,
        limit: int,
        note: Callable[[str], None],
    ) -> None:
        self.awaited, self.rewriter, self.reached, self.limit, self.note = awaited, rewriter, reached, limit, note
        self._rest = bytearray()  # what is held: the start of a response, or one that is to be rewritten
        self._need = 0  # bytes that it takes to go on with what is held
        self._skip = 0  # bytes of a response that pass
        self._lost = False  # frames no longer follow each other: everything passes

    def feed(self, data: bytes) -> bytes:
        """What goes to the client now that these bytes have come."""
        if self._lost:
            return data
        if self._rest:
            self._rest += data
            if len(self._rest) < self._need:
                return b""
            data, self._rest, self._need = bytes(self._rest), bytearray(), 0
        start = min(self._skip, len(data))
        self._skip -= start
        pieces: list[bytes] = []
        passed = 0  # from here on, data is yet to be put into pieces
        while len(data) - start >= PREFIX:
            size = int.from_bytes(data[start : start + PREFIX], "big", signed=True)
            end = start + PREFIX + size
            if len(data) - start < PREFIX + min(size, CORRELATION):
                break
            awaited = self._awaited_by(size, data[start + PREFIX : start + PREFIX + CORRELATION])
            if awaited is None:
                self._lost = True
                start = len(data)
                break
            if self._is_held(awaited, size):
                if end > len(data):
                    self._need = PREFIX + size
                    break
                frame = self.rewriter.rewrite(
                    awaited.api_key, awaited.version, data[start + PREFIX : end], self.reached
                )
                if frame is not None:
                    pieces += [data[passed:start], len(frame).to_bytes(PREFIX, "big"), frame]
                    passed = end
            self.awaited.popleft()
            start = min(end, len(data))
            self._skip = end - start
        if start < len(data):
            self._rest = bytearray(data[start:])
        pieces.append(data[passed:start])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _awaited_by(self, size: int, correlation_id: bytes) -> Awaited | None:
        """The request that a response answers; None where it answers none, or is none."""
        if not self.awaited or size < 0:
            self.note("it sent what answers no request: from here on, its responses pass unread")
            return None
        awaited = self.awaited[0]
        got = int.from_bytes(correlation_id, "big", signed=True)
        if awaited.correlation_id is None or (size >= CORRELATION and got == awaited.correlation_id):
            return awaited
        self.note(
            f"it answered request {awaited.correlation_id} with correlation id {got}: "
            "from here on, its responses pass unread"
        )
        return None

    def _is_held(self, awaited: Awaited, size: int) -> bool:
        """Whether a response has to be whole before it goes on."""
        if self.rewriter.find(awaited.api_key, awaited.version) is None:
            return False
        if size > self.limit:
            self.note(f"a response of {size:,} bytes passes unread: addresses in it, if any, are the broker's own")
        return size <= self.limit

"""Handles missing bytes.

They damage a frame, whose length tells where the next one starts. If the loss extends beyond that frame, or its length
is unknown, the stream is searched for the next frame.
"""

from __future__ import annotations

from kcli.capture.kafka.connection_state import ConnectionState
from kcli.capture.kafka.events import IN_BROKEN_FRAME, REST_MISSING
from kcli.capture.kafka.frames import FrameStream
from kcli.capture.kafka.pending import Pending
from kcli.capture.kafka.probe_result import judge
from kcli.grammar.request_start import CLIENT_ID as HEAD
from kcli.grammar.request_start import LEAST, PREFIX, api_of

WHY_GIVEN_UP = "given up, as more is held than --memory allows"


def give_up_buffer(connection: ConnectionState, d: int, stream: FrameStream) -> None:
    """Drop the partial frame of end `d`, as the memory limit is reached."""
    if not stream.buffer or stream.skip:
        return
    have = len(stream.buffer)
    if not stream.synced or not connection.spoke:
        stream.seen += have
        connection.unread(d, have, f"no frame found in it: {WHY_GIVEN_UP}")
        stream.unsync()
        return
    size = stream.frame_size()
    if size is not None and connection.plausible_size(d, size):
        text = damaged_frame(connection, d)
        offset = stream.offset
        stream.take(have)
        stream.skip = PREFIX + size - have
        connection.event("truncated", d, offset, have, f"{have} bytes{text}: {WHY_GIVEN_UP}")


def damage(connection: ConnectionState, d: int, count: int) -> str:
    """Skip the frame that a loss falls into. Return the damaged message's name, as the end of the event's reason."""
    stream = connection.streams[d]
    have = len(stream.buffer)
    if stream.skip > have and 0 < count <= stream.skip - have:
        stream.skip -= count
        if stream.damaged and not stream.skip:
            report_damaged(connection, d)
        return ", in the same frame"
    if stream.damaged:
        report_damaged(connection, d)
    size = stream.frame_size() if stream.synced and not stream.skip else None
    if size is None or not connection.plausible_size(d, size) or connection.client is None:
        drop_partial(connection, d)
        stream.unsync()
        return ""
    text = damaged_frame(connection, d)
    missing = PREFIX + size - have - count
    drop_partial(connection, d)
    if missing < 0 or not count:
        stream.unsync()
    else:
        stream.skip = missing
    return text


def report_damaged(connection: ConnectionState, d: int) -> None:
    """Emit the event for the bytes of a damaged frame after the loss."""
    stream = connection.streams[d]
    count, stream.damaged = stream.damaged, 0
    connection.event("undecodable", d, stream.offset - count, count, IN_BROKEN_FRAME)


def drop_partial(connection: ConnectionState, d: int) -> None:
    """Skip a partial frame."""
    stream = connection.streams[d]
    if stream.buffer:
        connection.unread(d, len(stream.buffer), REST_MISSING)


def damaged_frame(connection: ConnectionState, d: int) -> str:
    """Note the request or response that a loss made unreadable, and return its name for the event's reason.

    A frame without a known message may be anything, so not even its length prefix is shown.
    """
    stream = connection.streams[d]
    head, size = bytes(stream.buffer[PREFIX : PREFIX + HEAD]), stream.frame_size()
    if d != connection.client:
        number = int.from_bytes(head[:4], "big", signed=True)
        request = connection.pending.take(number) if len(head) >= 4 else None
        if request is None:
            return ", in a response"
        if request.frame is not None:
            connection.exchange(request, None, None)
        return f", in the response of {size} bytes to {connection.describe(request)}"
    if len(head) < HEAD:
        return ", in a request"
    key, version = api_of(head)
    number = int.from_bytes(head[LEAST:], "big", signed=True)
    request = Pending(number, key, version, stream.ns, None)
    connection.pending.append(request)
    judge(connection, request)
    known = connection.bodies.knows(key, version)
    return f", in {connection.describe(request)}" + (f", {size} bytes" if known else "")


def leftover(connection: ConnectionState, d: int, stream: FrameStream, why: str) -> None:
    """Emit the event for a partial frame at the end."""
    if not stream.synced:
        connection.unread(d, len(stream.buffer), "no frame found in it")
        return
    have = len(stream.buffer)
    of = f" of {PREFIX + (stream.frame_size() or 0)}" if names_message(connection, d) else ""
    connection.event("truncated", d, stream.offset, have, f"{have}{of} bytes of a frame: {why}")
    stream.buffer.clear()


def names_message(connection: ConnectionState, d: int) -> bool:
    """Return whether a partial frame is that of a known request, or of the response to a waiting one."""
    head = bytes(connection.streams[d].buffer[PREFIX : PREFIX + HEAD])
    if d == connection.client:
        return len(head) == HEAD and connection.bodies.knows(*api_of(head))
    return len(head) >= LEAST and connection.pending.find(int.from_bytes(head[:LEAST], "big", signed=True)) is not None

"""Handles missing bytes.

They damage a frame, whose length tells where the next one starts. If the loss extends beyond that frame, or its length
is unknown, the stream is searched for the next frame.

A frame that the snapshot length cuts off is still a message: its size is known, its times are those of its packets, and
its first bytes name the API and the correlation id. The same holds for a frame with a gap, if its last byte is there.
"""

from kcli.capture.kafka.bodies import LOST
from kcli.capture.kafka.connection_state import ConnectionState
from kcli.capture.kafka.correlation import add_cut
from kcli.capture.kafka.events import IN_BROKEN_FRAME, REST_MISSING, WHY_GIVEN_UP
from kcli.capture.kafka.frame_search import resume_at_packet
from kcli.capture.kafka.frames import CutFrame, FrameStream
from kcli.capture.kafka.pending import Pending
from kcli.capture.kafka.probe_result import judge
from kcli.grammar.request_start import BIG, CLIENT_ID, HEAD, LEAST, PREFIX, api_of


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
        stream.cut = CutFrame(bytes(stream.buffer[PREFIX:]), PREFIX + size, stream.begun)
        text = name_of_frame(connection, d, stream.cut)
        offset = stream.offset
        stream.take(have)
        note_broken(connection, d)
        stream.skip = PREFIX + size - have
        connection.event("truncated", d, offset, have, f"{have} bytes{text}: {WHY_GIVEN_UP}")


def damage(connection: ConnectionState, d: int, count: int, *, cut: bool = False) -> str:
    """Skip the frame that a loss falls into. Return the damaged message's name, as the end of the event's reason.

    cut: the snapshot length cuts off the bytes of a packet whose time and length are known, so that the frame's end is
    known, too. Otherwise the packet is missing, and the end is known only if the frame continues after the loss.
    """
    stream = connection.streams[d]
    have = len(stream.buffer)
    if stream.skip > have and 0 < count <= stream.skip - have:
        stream.skip -= count
        if not stream.skip:
            end_lost(connection, d, cut=cut)
        return ", in the same frame"
    if stream.skip and cut:
        end_damaged(connection, d)
    elif stream.damaged:
        report_damaged(connection, d)
    note_broken(connection, d)
    if cut and not stream.synced:
        resume_at_packet(connection, d)
        have = len(stream.buffer)
    size = stream.frame_size() if stream.synced and not stream.skip else None
    if size is None or not connection.plausible_size(d, size) or connection.client is None:
        drop_partial(connection, d)
        stream.unsync()
        return ""
    frame = CutFrame(bytes(stream.buffer[PREFIX:]), PREFIX + size, stream.begun)
    text = name_of_frame(connection, d, frame)
    missing = PREFIX + size - have - count
    stream.cut = frame
    drop_partial(connection, d)
    if missing <= 0:
        end_lost(connection, d, cut=cut)
    if missing < 0 or not count:
        stream.unsync()
    else:
        stream.skip = missing
        connection.spoke = connection.spoke or d == connection.client
    return text


def end_lost(connection: ConnectionState, d: int, *, cut: bool) -> None:
    """Process a damaged frame whose last byte is missing. cut: see `damage`."""
    if not cut:
        note_broken(connection, d)
    end_damaged(connection, d)


def end_damaged(connection: ConnectionState, d: int) -> None:
    """Process a damaged frame whose last byte has come: it is a message, of which the first bytes are known."""
    stream = connection.streams[d]
    if stream.damaged:
        report_damaged(connection, d)
    frame, stream.cut = stream.cut, None
    if frame is not None:
        add_cut(connection, d, frame)


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


def name_of_frame(connection: ConnectionState, d: int, frame: CutFrame) -> str:
    """Return the name of a damaged request or response, for the event's reason.

    A frame without a known message may be anything, so not even its length prefix is shown.
    """
    head, size = frame.head, frame.size - PREFIX
    if d != connection.client:
        request = connection.pending.find(BIG.unpack_from(head)[0]) if len(head) >= LEAST else None
        return f", in the response of {size} bytes to {connection.describe(request)}" if request else ", in a response"
    if len(head) < CLIENT_ID:
        return ", in a request"
    key, version, number = HEAD.unpack_from(head)
    known = connection.bodies.knows(key, version)
    request = Pending(number, key, version, 0, None)
    return f", in {connection.describe(request)}" + (f", {size} bytes" if known else "")


def note_broken(connection: ConnectionState, d: int) -> None:
    """Note that the damaged frame of end `d` is unreadable, and that it is not known when it was complete."""
    stream = connection.streams[d]
    frame, stream.cut = stream.cut, None
    if frame is None:
        return
    if d != connection.client:
        number = BIG.unpack_from(frame.head)[0] if len(frame.head) >= LEAST else None
        request = None if number is None else connection.pending.take(number)
        connection.lossy = connection.lossy or number is None
        if request is not None and request.frame is not None:
            connection.exchange(request, None, None, LOST)
    elif len(frame.head) >= CLIENT_ID:
        key, version, number = HEAD.unpack_from(frame.head)
        request = Pending(number, key, version, stream.ns, None)
        connection.pending.append(request)
        judge(connection, request)


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
    head = bytes(connection.streams[d].buffer[PREFIX : PREFIX + CLIENT_ID])
    if d == connection.client:
        return len(head) == CLIENT_ID and connection.bodies.knows(*api_of(head))
    return len(head) >= LEAST and connection.pending.find(int.from_bytes(head[:LEAST], "big", signed=True)) is not None

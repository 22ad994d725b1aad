"""Finds the start of frames in a connection that began before the capture, or after a loss."""

from kcli.capture.kafka.connection_state import ConnectionState
from kcli.capture.kafka.events import BEFORE_FRAMES
from kcli.capture.kafka.frames import begins_request, begins_response, find_request, find_response, names_api
from kcli.capture.kafka.probe_result import refuse
from kcli.grammar.files.tls import is_record_header
from kcli.grammar.request_start import PREFIX

NOTHING = "no request of Kafka's in it"
STRANGE = 1 << 20  # bytes without a frame after which a connection without any request so far is rejected


def identify(connection: ConnectionState, d: int) -> bool:
    """Find the client of a connection that began before the capture: the end whose bytes contain a request."""
    stream = connection.streams[d]
    if is_record_header(stream.buffer) and not stream.seen:
        return refuse(connection, "TLS")
    at = find_request(stream, connection.bodies) if connection.client in (None, d) else None
    if at is None and (client := client_of_unknown(connection)) is not None:
        connection.client, connection.spoke = client, True
        for each in connection.streams:
            each.synced = True
        return True
    if at is None:
        bound(connection, d)
        if sum(s.seen for s in connection.streams) > STRANGE:
            refuse(connection, NOTHING)
        return False
    connection.client, connection.spoke, connection.searched = d, True, True
    return True


def client_of_unknown(connection: ConnectionState) -> int | None:
    """Return the end that begins with a request of an unknown API, whose correlation id the other end repeats."""
    for d in (0, 1) if connection.client is None else (connection.client,):
        start, answer = connection.streams[d], connection.streams[1 - d]
        if start.seen or answer.seen or len(answer.buffer) < 2 * PREFIX:
            continue
        if names_api(start.buffer, connection.bodies) and start.buffer[8:12] == answer.buffer[PREFIX : 2 * PREFIX]:
            return d
    return None


def synchronise(connection: ConnectionState, d: int) -> bool:
    """Find the next frame of end `d`, and skip the bytes before it. Return whether there is one."""
    stream = connection.streams[d]
    if d == connection.client:
        at = find_request(stream, connection.bodies)
        connection.searched = connection.trial is not None
    else:
        at = find_response(stream, connection.pending, connection.bodies)
    if at is None:
        bound(connection, d)
        return False
    if at:
        connection.unread(d, at, BEFORE_FRAMES)
    stream.synced = True
    stream.end_search()
    return True


def resume_at_packet(connection: ConnectionState, d: int) -> None:
    """Find the next frame of end `d`, whose packets the snapshot length cuts off, where its latest packet begins. A
    search finds whole frames alone, but ends mostly send a message in packets of its own.
    """
    stream = connection.streams[d]
    at = stream.part
    if connection.client in (None, d):
        if not begins_request(stream.buffer, at, connection.bodies):
            return
        connection.searched = connection.trial is not None
        connection.client, connection.spoke = d, True
    elif not begins_response(stream.buffer, at, connection.pending):
        return
    if at:
        connection.unread(d, at, BEFORE_FRAMES)
    stream.synced = True
    stream.end_search()


def bound(connection: ConnectionState, d: int) -> None:
    """Drop the oldest bytes of a long search."""
    stream = connection.streams[d]
    count = stream.give_up()
    if count:
        stream.seen += count
        connection.unread(d, count, "no frame found in it")
        stream.dropped(count)

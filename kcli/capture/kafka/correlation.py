"""Pairs frames of a connection: a request waits for the response with its correlation id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kcli.capture.kafka.connection_state import UNKNOWN, ConnectionState
from kcli.capture.kafka.events import BROKEN_REQUEST
from kcli.capture.kafka.frames import acks_of, plausible_request
from kcli.capture.kafka.pending import Pending
from kcli.capture.kafka.probe_result import contradict, decide, judge, prove
from kcli.counting import counted
from kcli.grammar.request_start import PREFIX
from kcli.schemas.apikeys import PRODUCE, SASL_HANDSHAKE

UNANSWERED = 10_000  # most waiting requests; beyond it the oldest is emitted without a response
MOST_IDS = 8  # most correlation ids in a reason


def end_pending(connection: ConnectionState, why: str, ns: int) -> None:
    """Emit the waiting requests as exchanges without a response, and an event that lists them."""
    whole = [request for request in connection.pending if request.frame is not None]
    for request in whole:
        connection.exchange(request, None, None)
    waiting = [request for request in whole if connection.vouches_for(request)]
    if waiting:
        count = sum(len(request.frame or b"") + PREFIX for request in waiting)
        ids = ", ".join(shown_ids(connection, waiting))
        assert connection.client is not None
        connection.event(
            "unanswered-at-end",
            connection.client,
            connection.streams[connection.client].offset,
            count,
            f"no response to {ids or counted(len(waiting), 'request')}: {why}",
            ns,
            captured=False,
        )


def shown_ids(connection: ConnectionState, waiting: list[Pending]) -> Iterator[str]:
    """Yield the correlation ids of the first requests that can be decoded; other requests are not shown."""
    shown = [request for request in waiting[:MOST_IDS] if connection.bodies.request_decodes(request.frame or b"")]
    yield from (str(request.correlation_id) for request in shown)
    if shown and len(shown) < len(waiting):
        yield "..."


def add_request(connection: ConnectionState, frame: bytes, offset: int) -> None:
    """Process a frame of the client. offset: of its length, in the client's bytes."""
    assert connection.client is not None
    ns = connection.streams[connection.client].ns
    if connection.tokens:
        connection.tokens = not is_request(connection, frame)
    if connection.tokens:
        connection.pending.append(Pending(0, -1, -1, ns, None, token=True))
        connection.event("not-kafka", connection.client, offset, len(frame) + PREFIX, "SASL token of the client")
        return
    if len(frame) < 8:
        connection.event(
            "undecodable", connection.client, offset, len(frame) + PREFIX, "too short for a request", data=frame
        )
        return
    key, version, number = (int.from_bytes(frame[a:b], "big", signed=True) for a, b in ((0, 2), (2, 4), (4, 8)))
    began = connection.streams[connection.client].first
    paused = not connection.pending and 0 < connection.answered <= began
    pause = began - connection.answered if paused else -1
    request = Pending(number, key, version, ns, frame, False, began, pause, len(connection.pending))
    if connection.trial is not None:
        judge(connection, request)
    if connection.foreign is not None:
        return
    if not connection.bodies.knows(key, version) and not connection.bodies.has_header(frame):
        connection.event("undecodable", connection.client, offset, len(frame) + PREFIX, UNKNOWN)
        connection.pending.append(replace(request, frame=None))
        return
    if key == PRODUCE and connection.bodies.knows(key, version) and acks_of(frame, connection.bodies.dialect) == 0:
        connection.exchange(request, None, None)
        return
    connection.tokens = key == SASL_HANDSHAKE and version == 0
    connection.pending.append(request)
    if len(connection.pending) > UNANSWERED:
        oldest = connection.pending.popleft()
        if oldest.frame is not None:
            connection.exchange(oldest, None, None)


def is_request(connection: ConnectionState, frame: bytes) -> bool:
    """Return whether a frame is exactly one request, and no SASL token."""
    whole = len(frame).to_bytes(4, "big") + frame
    return bool(plausible_request(whole, 0, connection.bodies)) and connection.bodies.request_fits(frame)


def add_response(connection: ConnectionState, frame: bytes, offset: int) -> None:
    """Process a frame of the server. offset: of its length, in the server's bytes."""
    assert connection.client is not None
    server = 1 - connection.client
    ns = connection.streams[server].ns
    oldest = connection.pending.first if connection.pending.odd else None  # a token has no frame, so it is odd
    if oldest is not None and oldest.token:
        connection.pending.popleft()
        connection.event("not-kafka", server, offset, len(frame) + PREFIX, "SASL token of the server")
        return
    number = int.from_bytes(frame[:4], "big", signed=True)
    if connection.lossy and connection.pending.find(number) is not None:
        pass_unanswered(connection, number)
    request = connection.pending.take(number)
    if request is None:
        why = "answers no request in the capture"
        connection.event("undecodable", server, offset, len(frame) + PREFIX, why, data=frame)
        if not connection.searched:
            contradict(connection)
        return
    if request.frame is None:
        what = connection.describe(request)
        why = f"answers {what}" if what == UNKNOWN else f"answers {what}, {BROKEN_REQUEST}"
        connection.event("undecodable", server, offset, len(frame) + PREFIX, why, data=frame, asked=request)
        return
    if connection.trial is not None and connection.trial.see_response(request, frame, connection.bodies):
        prove(connection)
    connection.answered = ns
    connection.exchange(request, ns, frame)
    decide(connection)


def pass_unanswered(connection: ConnectionState, number: int) -> None:
    """Emit the requests before an answered one as exchanges without a response, as their responses were lost."""
    for request in connection.pending.before(number):
        if request.frame is not None:
            connection.exchange(request, None, None)
    connection.lossy = False

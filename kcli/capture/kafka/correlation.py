"""Pairs frames of a connection: a request waits for the response with its correlation id."""

from collections.abc import Iterator
from dataclasses import replace

from kcli.capture.kafka.bodies import LOST
from kcli.capture.kafka.connection_state import UNKNOWN, ConnectionState
from kcli.capture.kafka.events import BROKEN_REQUEST, WHY_GIVEN_UP
from kcli.capture.kafka.frames import CutFrame, acks_of, plausible_request
from kcli.capture.kafka.pending import Pending
from kcli.capture.kafka.probe_result import contradict, decide, judge, prove
from kcli.counting import counted
from kcli.grammar.request_start import CLIENT_ID, HEAD, LEAST, PREFIX
from kcli.schemas.apikeys import PRODUCE, SASL_HANDSHAKE

UNANSWERED = 10_000  # most waiting requests; beyond it the oldest is emitted without a response
MOST_IDS = 8  # most correlation ids in a reason


def end_pending(connection: ConnectionState, why: str, ns: int) -> None:
    """Emit the waiting requests as exchanges without a response, and an event that lists them."""
    known = [request for request in connection.pending if request.frame is not None]
    unknown = LOST if connection.lossy or why == WHY_GIVEN_UP else None
    for request in known:
        connection.exchange(request, None, None, unknown)
    waiting = [request for request in known if connection.vouches_for(request) and wants_answer(connection, request)]
    if waiting:
        count = sum(request.size for request in waiting)
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
    shown = [
        request for request in waiting[:MOST_IDS]
        if request.cut is not None or connection.bodies.request_decodes(request.frame or b"")
    ]  # fmt: skip
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
    request = new_request(connection, frame, connection.streams[connection.client].first)
    if connection.trial is not None:
        judge(connection, request)
    if connection.foreign is not None:
        return
    key, version = request.api_key, request.api_version
    if not connection.bodies.knows(key, version) and not connection.bodies.has_header(frame):
        connection.event("undecodable", connection.client, offset, len(frame) + PREFIX, UNKNOWN)
        connection.pending.append(replace(request, frame=None))
        return
    await_response(connection, request)


def new_request(connection: ConnectionState, frame: bytes, began: int, cut: int | None = None) -> Pending:
    """Return the request that the client's last bytes complete, with its times. began, cut: see Pending."""
    assert connection.client is not None
    key, version, number = HEAD.unpack_from(frame)
    paused = not connection.pending and 0 < connection.answered <= began
    pause = began - connection.answered if paused else -1
    ns = connection.streams[connection.client].ns
    return Pending(number, key, version, ns, frame, False, began, pause, len(connection.pending), cut)


def await_response(connection: ConnectionState, request: Pending) -> None:
    """Queue a request until its response comes; a Produce with acks 0 gets none."""
    key, version = request.api_key, request.api_version
    frame = request.frame or b""
    if key == PRODUCE and connection.bodies.knows(key, version) and acks_of(frame, connection.bodies.dialect) == 0:
        connection.exchange(request, None, None)
        return
    connection.tokens = key == SASL_HANDSHAKE and version == 0
    connection.pending.append(request)
    if len(connection.pending) > UNANSWERED:
        oldest = connection.pending.popleft()
        if oldest.frame is not None:
            connection.exchange(oldest, None, None)


def wants_answer(connection: ConnectionState, request: Pending) -> bool:
    """Return whether a request without a response lacks one; False for a Produce that is cut off before its acks."""
    if request.cut is None or request.api_key != PRODUCE:
        return True
    return acks_of(request.frame or b"", connection.bodies.dialect) is not None


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
        name = connection.describe(request)
        why = f"answers {name}" if name == UNKNOWN else f"answers {name}, {BROKEN_REQUEST}"
        connection.event("undecodable", server, offset, len(frame) + PREFIX, why, data=frame, asked=request)
        return
    if connection.trial is not None and connection.trial.see_response(request, frame, connection.bodies):
        prove(connection)
    connection.answered = ns
    connection.exchange(request, ns, frame)
    decide(connection)


def add_cut(connection: ConnectionState, d: int, cut: CutFrame) -> None:
    """Process a frame of end `d` whose last bytes came now, and of which only the first bytes are known."""
    if d == connection.client:
        add_cut_request(connection, cut)
    else:
        add_cut_response(connection, d, cut)


def add_cut_request(connection: ConnectionState, cut: CutFrame) -> None:
    """Process a cut request, if the bytes of its header are known that name its API and correlation id."""
    if connection.tokens:
        start = (cut.size - PREFIX).to_bytes(PREFIX, "big") + cut.head
        connection.tokens = not plausible_request(start, 0, connection.bodies, found=True)
    if connection.tokens:
        connection.pending.append(Pending(0, -1, -1, 0, None, token=True))
        return
    if len(cut.head) < CLIENT_ID:
        return
    request = new_request(connection, cut.head, cut.began, cut.size)
    if connection.trial is not None:
        judge(connection, request)
    if connection.foreign is not None:
        return
    if connection.bodies.knows(request.api_key, request.api_version):
        await_response(connection, request)
    else:
        connection.pending.append(replace(request, frame=None))  # it may be anything, so only its size is shown


def add_cut_response(connection: ConnectionState, server: int, cut: CutFrame) -> None:
    """Process a cut response, if its correlation id is known."""
    oldest = connection.pending.first
    if oldest is not None and oldest.token:
        connection.pending.popleft()
        return
    if len(cut.head) < LEAST:
        connection.lossy = True
        return
    number = int.from_bytes(cut.head[:LEAST], "big", signed=True)
    if connection.lossy and connection.pending.find(number) is not None:
        pass_unanswered(connection, number)
    request = connection.pending.take(number)
    if request is None or request.frame is None:
        return
    stream = connection.streams[server]
    if connection.trial is not None and connection.bodies.knows(request.api_key, request.api_version):
        prove(connection)
    connection.answered, stream.first = stream.ns, cut.began
    connection.exchange(request, stream.ns, cut.head, cut.size)


def pass_unanswered(connection: ConnectionState, number: int) -> None:
    """Emit the requests before an answered one as exchanges without a response, as their responses were lost."""
    for request in connection.pending.before(number):
        if request.frame is not None:
            connection.exchange(request, None, None, LOST)
    connection.lossy = False

"""The fetcher's side of a fetch session, as a state machine without sockets: builds requests, accepts responses.

    session = ClientSession()
    session.want(("orders-topic-id", 0), Position(fetch_offset=17))
    request = session.build()          # full, or incremental with the changes since the last one
    session.accept(request, response)  # or session.lose(request) when the connection broke

The cost of a request grows with the changes, except for a full fetch, which names every partition.
"""

from dataclasses import dataclass

from kcli.sessions.epochs import FINAL_EPOCH, FIRST_EPOCH, FULL_EPOCH, ID_NOT_FOUND, NO_SESSION
from kcli.sessions.rules import RULES, Came, Rules, SessionState
from kcli.sessions.values import FetchRequest, FetchResponse, Partition, Position


@dataclass(frozen=True, slots=True)
class Accepted:
    """The verdict on a response. usable: its partitions may be processed; problem: why they may not."""

    came: Came
    problem: str = ""

    @property
    def usable(self) -> bool:
        """Return whether the records of the response may be used."""
        return self.came in (Came.GRANTED, Came.NOT_GRANTED, Came.CONTINUED, Came.ENDED)


class ClientSession:
    """The consumer's or follower's side of a fetch session with one broker. It has one request at a time.

    replica_id: the follower's node id, -1 for a consumer

    Source: KIP-227; Kafka's FetchSessionHandler. This one differs from it in that a response with a foreign session id
    counts as malformed, and that a switch between topic names and ids starts a new session without waiting for error
    106.
    """

    def __init__(self, *, replica_id: int = -1, rules: Rules = RULES) -> None:
        self.replica_id = replica_id
        self.rules = rules
        self.state = SessionState.OPENING
        self.session_id = NO_SESSION
        self.epoch = FULL_EPOCH
        self.topic_ids = True
        self.partitions: dict[Partition, Position] = {}
        self._known: dict[Partition, Position] = {}
        self._moved: dict[Partition, None] = {}
        self._pending: FetchRequest | None = None
        self._closing_sent = False

    def want(self, partition: Partition, position: Position) -> None:
        """Fetch this partition from this position on. A topic that was deleted and created again has another id."""
        self.partitions[partition] = position
        if self._known.get(partition) == position:
            self._moved.pop(partition, None)
        else:
            self._moved[partition] = None

    def forget(self, partition: Partition) -> None:
        """Stop fetching this partition."""
        if self.partitions.pop(partition, None) is None:
            return
        if partition in self._known:
            self._moved[partition] = None
        else:
            self._moved.pop(partition, None)

    def build(self, *, topic_ids: bool = True) -> FetchRequest:
        """Build the next request. Raises RuntimeError while another one has no response, because a session has one at a
        time.
        """
        if self._pending is not None:
            raise RuntimeError(f"fetch session {self.session_id}: a request is under way already")
        if self.state is SessionState.LIVE and topic_ids != self.topic_ids:
            self._turn(SessionState.REOPENING, self.session_id)
        request = self._incremental() if self.state is SessionState.LIVE else self._full(topic_ids)
        self._moved = {}
        self._pending = request
        return request

    def accept(self, request: FetchRequest, response: FetchResponse) -> Accepted:
        """Process the response to `request`. A response to another request than the last is ignored (LOST)."""
        if request is not self._pending:
            return Accepted(Came.LOST, "not the response that was awaited")
        self._pending = None
        accepted = self._judge(request, response)
        self._follow(accepted.came, response.session_id)
        return accepted

    def lose(self, request: FetchRequest) -> None:
        """Note that the connection broke before the response to `request` was received, or before the request was
        sent.
        """
        if request is self._pending:
            self._pending = None
            self._follow(Came.LOST, NO_SESSION)

    def close(self) -> None:
        """Close the session with the next request. Requests after it want no session."""
        closing = self.session_id != NO_SESSION
        self._turn(SessionState.CLOSING if closing else SessionState.CLOSED, self.session_id)

    def _full(self, topic_ids: bool) -> FetchRequest:
        self.topic_ids = topic_ids
        self._closing_sent = self.state is SessionState.CLOSING
        positions = {} if self._closing_sent else dict(self.partitions)
        self._known = dict(positions)
        return FetchRequest(self.session_id, self.epoch, positions, topic_ids=topic_ids, replica_id=self.replica_id)

    def _incremental(self) -> FetchRequest:
        sent: dict[Partition, Position] = {}
        forgotten: list[Partition] = []
        for partition in self._moved:
            position = self.partitions.get(partition)
            if position is None:
                forgotten.append(partition)
                del self._known[partition]
            else:
                sent[partition] = self._known[partition] = position
        return FetchRequest(self.session_id, self.epoch, sent, tuple(forgotten), self.topic_ids, self.replica_id)

    def _judge(self, request: FetchRequest, response: FetchResponse) -> Accepted:
        if response.error:
            found = response.error != ID_NOT_FOUND
            return Accepted(Came.FAILED if found else Came.NOT_FOUND, f"error {response.error}")
        if request.epoch > 0:
            return self._judge_incremental(response)
        if not response.partitions and response.throttle_ms > 0 and request.partitions:
            return Accepted(Came.THROTTLED, f"throttled for {response.throttle_ms} ms")
        return self._judge_full(request, response)

    def _judge_full(self, request: FetchRequest, response: FetchResponse) -> Accepted:
        if self.rules.check_full and response.partitions.keys() != request.partitions.keys():
            missing = len(request.partitions.keys() - response.partitions.keys())
            foreign = len(response.partitions.keys() - request.partitions.keys())
            return Accepted(
                Came.MALFORMED, f"a full response without {missing} of its partitions and with {foreign} others"
            )
        return Accepted(Came.GRANTED if response.session_id else Came.NOT_GRANTED)

    def _judge_incremental(self, response: FetchResponse) -> Accepted:
        if response.session_id not in (NO_SESSION, self.session_id):
            return Accepted(Came.MALFORMED, f"session {response.session_id} in response to {self.session_id}")
        if self.rules.check_known:
            foreign = [partition for partition in response.partitions if partition not in self._known]
            if foreign:
                return Accepted(Came.MALFORMED, f"partitions outside the session: {foreign[:3]}")
        return Accepted(Came.CONTINUED if response.session_id else Came.ENDED)

    def _follow(self, came: Came, granted: int) -> None:
        if self.state in (SessionState.CLOSING, SessionState.CLOSED):
            self._follow_closing(came, granted)
            return
        state = self.rules.client[self.state, came]
        if state is SessionState.LIVE and came is Came.CONTINUED:
            self.epoch = self.rules.next_epoch(self.epoch)
            self.state = state
        else:
            self._turn(state, granted or self.session_id)

    def _follow_closing(self, came: Came, granted: int) -> None:
        """Close the session if the request with the close was sent. If `close` was called while another request had no
        response, it is still to be sent.
        """
        closed = self._closing_sent and came not in (Came.LOST, Came.FAILED)
        self._closing_sent = False
        is_closed = closed or came in (Came.NOT_FOUND, Came.ENDED)
        session_id = NO_SESSION if is_closed else granted or self.session_id
        self._turn(SessionState.CLOSING if session_id else SessionState.CLOSED, session_id)

    def _turn(self, state: SessionState, session_id: int) -> None:
        """Enter a state, and set the epoch to the first of that state."""
        self.state = state
        keeps = state in (SessionState.LIVE, SessionState.REOPENING, SessionState.CLOSING)
        self.session_id = session_id if keeps else NO_SESSION
        if state is SessionState.LIVE:
            self.epoch = FIRST_EPOCH
        else:
            self.epoch = FINAL_EPOCH if state in (SessionState.CLOSING, SessionState.CLOSED) else FULL_EPOCH

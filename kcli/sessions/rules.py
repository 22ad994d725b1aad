"""The rules of incremental fetch sessions (KIP-227, KIP-516 for topic ids): tables for both state machines.

Why there are sessions. A fetcher that follows many partitions used to name all of them in each request, and each
response named all of them, though only a few had changed. With a session, both sides remember the partitions, the
position of the fetcher in each, and what the broker last reported about each. A partition that is not mentioned is
then unchanged, in both directions. So the two sides must notice if what they remember differs.

That is what the epoch is for, a counter in each request. The broker only accepts a request with exactly the epoch that
it expects next, and expects a greater one as soon as it has processed the request. A request that is lost, repeated or
late leads to a wrong epoch and is refused (71). If a response is lost, the client does not know whether the broker
processed its request, so it can't continue the session: it names everything again in a full fetch, which also names
the old session for the broker to close.

Client. It is in one of these states, and the state alone decides how the next request begins:

    OPENING     epoch 0, session 0      name every partition, ask for a session
    LIVE        epoch n, session s      name what changed
    REOPENING   epoch 0, session s      name every partition, close session s, ask for another
    CLOSING     epoch -1, session s     close session s
    CLOSED      epoch -1, session 0     name every partition, want no session

* A full response grants a session. If the broker has no free slot, it grants none, and the next fetch is full again.
* A full response must contain each requested partition: a missing one would later look unchanged. A response that
  lacks some is ignored, and so is its session. An empty response with a throttle time (KIP-219) is not such a fault:
  the broker asks the client to wait.
* A response in a session may contain only partitions of that session: otherwise the two sides no longer agree.
* Session 0 in the response to an incremental fetch: the broker has closed the session (its last partition was
  forgotten).
* 70 FETCH_SESSION_ID_NOT_FOUND: the broker evicted the session, so there is nothing to close. After any other error (71
  INVALID_FETCH_SESSION_EPOCH, 106 FETCH_SESSION_TOPIC_ID_ERROR, ...) the session may still exist, and is closed.

Broker. The response depends on the kind of the request (by its epoch), and on the session that the cache has under its
id:

* A full fetch closes the session that it names, if there is one: the fetcher does not need it any more. With epoch 0
  it then asks for a new session, with -1 it does not.
* The partitions of an incremental fetch are added before the forgotten ones are removed. If none is left, the session
  is closed, and the response says so with session 0.
* A session uses either topic names or topic ids, from its first request on. A name and an id do not certainly identify
  the same partition (a topic may have been deleted and created again), hence 106.
* A fetch may wait for records. If its session got another request in the meantime, nobody waits for its response any
  more: it is refused with 71 (recheck).

What an incremental response includes (INCLUDE): records; a high watermark or log start offset other than the one last
reported; an error, each time; another replica to fetch from; a divergence. After an error the broker forgets the high
watermark that it reported, so that the end of the error is reported too.

Order: responses have a size limit, and the first partitions use it up. So partitions that returned records are moved
to the end of the session, and none starves.

Slots: a broker keeps a limited number of sessions (in several shards that are independent of each other). In a full
shard, a new session replaces an old one: one that was unused for the eviction time; otherwise the one with the lowest
rank that it may replace. Sessions of followers (privileged, since replication depends on them) have a higher rank than
those of consumers, and bigger sessions a higher one than smaller. Sessions of consumers may replace only sessions that
are older than the eviction time; those of followers may also replace those of any consumer. None replaces a session of
a higher rank. If no session can be replaced, the fetch is served without a session.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from kcli.sessions.epochs import EPOCH_MISMATCH, FINAL_EPOCH, FULL_EPOCH, ID_NOT_FOUND, TOPIC_ID_MISMATCH, next_epoch
from kcli.sessions.values import Result


class Kind(Enum):
    """The kind of a request, by its epoch."""

    FULL = auto()
    FINAL = auto()
    INCREMENTAL = auto()


class SessionState(Enum):
    """The state of a client's session."""

    OPENING = auto()
    LIVE = auto()
    REOPENING = auto()
    CLOSING = auto()
    CLOSED = auto()


class Came(Enum):
    """The outcome of a client's request."""

    GRANTED = auto()
    NOT_GRANTED = auto()
    THROTTLED = auto()
    CONTINUED = auto()
    ENDED = auto()
    MALFORMED = auto()
    NOT_FOUND = auto()
    FAILED = auto()
    LOST = auto()


class Found(Enum):
    """The state of the session in a broker's cache under the id of a request."""

    NOTHING = auto()
    CURRENT = auto()
    EMPTIED = auto()
    OTHER_EPOCH = auto()
    OTHER_NAMING = auto()


class Action(Enum):
    """The action of a broker on a request."""

    OPEN = auto()
    REPLACE = auto()
    SERVE = auto()
    CLOSE = auto()
    CONTINUE = auto()
    RELEASE = auto()
    REFUSE_ID = ID_NOT_FOUND
    REFUSE_EPOCH = EPOCH_MISMATCH
    REFUSE_NAMING = TOPIC_ID_MISMATCH


def kind_of(epoch: int) -> Kind:
    """Return FULL for epoch 0, FINAL for -1, INCREMENTAL for others."""
    return Kind.FULL if epoch == FULL_EPOCH else Kind.FINAL if epoch == FINAL_EPOCH else Kind.INCREMENTAL


@dataclass(slots=True)
class Reported:
    """The values of one partition that a broker last reported to a session."""

    high_watermark: int
    log_start_offset: int


CLIENT: Mapping[tuple[SessionState, Came], SessionState] = {
    (SessionState.OPENING, Came.GRANTED): SessionState.LIVE,
    (SessionState.OPENING, Came.NOT_GRANTED): SessionState.OPENING,
    (SessionState.OPENING, Came.THROTTLED): SessionState.OPENING,
    (SessionState.OPENING, Came.MALFORMED): SessionState.REOPENING,
    (SessionState.OPENING, Came.NOT_FOUND): SessionState.OPENING,
    (SessionState.OPENING, Came.FAILED): SessionState.OPENING,
    (SessionState.OPENING, Came.LOST): SessionState.OPENING,
    (SessionState.REOPENING, Came.GRANTED): SessionState.LIVE,
    (SessionState.REOPENING, Came.NOT_GRANTED): SessionState.OPENING,
    (SessionState.REOPENING, Came.THROTTLED): SessionState.OPENING,
    (SessionState.REOPENING, Came.MALFORMED): SessionState.REOPENING,
    (SessionState.REOPENING, Came.NOT_FOUND): SessionState.OPENING,
    (SessionState.REOPENING, Came.FAILED): SessionState.REOPENING,
    (SessionState.REOPENING, Came.LOST): SessionState.REOPENING,
    (SessionState.LIVE, Came.CONTINUED): SessionState.LIVE,
    (SessionState.LIVE, Came.ENDED): SessionState.OPENING,
    (SessionState.LIVE, Came.MALFORMED): SessionState.REOPENING,
    (SessionState.LIVE, Came.NOT_FOUND): SessionState.OPENING,
    (SessionState.LIVE, Came.FAILED): SessionState.REOPENING,
    (SessionState.LIVE, Came.LOST): SessionState.REOPENING,
}

BROKER: Mapping[tuple[Kind, Found], Action] = {
    (Kind.FULL, Found.NOTHING): Action.OPEN,
    (Kind.FULL, Found.CURRENT): Action.REPLACE,
    (Kind.FINAL, Found.NOTHING): Action.SERVE,
    (Kind.FINAL, Found.CURRENT): Action.CLOSE,
    (Kind.INCREMENTAL, Found.NOTHING): Action.REFUSE_ID,
    (Kind.INCREMENTAL, Found.OTHER_EPOCH): Action.REFUSE_EPOCH,
    (Kind.INCREMENTAL, Found.OTHER_NAMING): Action.REFUSE_NAMING,
    (Kind.INCREMENTAL, Found.CURRENT): Action.CONTINUE,
    (Kind.INCREMENTAL, Found.EMPTIED): Action.RELEASE,
}

INCLUDE: Mapping[str, Callable[[Reported, Result], bool]] = {
    "records": lambda reported, result: result.records_size > 0,
    "error": lambda reported, result: result.error != 0,
    "high watermark": lambda reported, result: result.high_watermark != reported.high_watermark,
    "log start offset": lambda reported, result: result.log_start_offset != reported.log_start_offset,
    "preferred replica": lambda reported, result: result.preferred_replica >= 0,
    "diverging epoch": lambda reported, result: result.diverging,
}


@dataclass(frozen=True)
class Rules:
    """All rules as one value, so that a test can change a single one and observe the effect.

    worth: the rank of a session among those that may be displaced, from (privileged, partitions, id)
    forgive: the high watermark that counts as reported after an error was reported
    rotate: partitions that returned records go to the back
    check_full, check_known: the client checks that a response has all, and only, the session's partitions
    forget_last: a session without partitions is closed
    recheck: the epoch is checked when the response is made, too
    keep_young: a consumer can only displace sessions older than the eviction time
    """

    client: Mapping[tuple[SessionState, Came], SessionState]
    broker: Mapping[tuple[Kind, Found], Action]
    include: Mapping[str, Callable[[Reported, Result], bool]]
    next_epoch: Callable[[int], int] = next_epoch
    worth: Callable[[bool, int, int], tuple[int, ...]] = lambda privileged, size, session_id: (
        int(privileged),
        size,
        session_id,
    )
    forgive: int | None = -1
    rotate: bool = True
    check_full: bool = True
    check_known: bool = True
    forget_last: bool = True
    recheck: bool = True
    keep_young: bool = True

    def reasons(self, reported: Reported, result: Result) -> list[str]:
        """Return why an incremental response must include this result; [] if it need not."""
        return [name for name, applies in self.include.items() if applies(reported, result)]


RULES = Rules(CLIENT, BROKER, INCLUDE)

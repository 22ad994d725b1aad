"""Sessions of KIP-227's third draft, followed fetch by fetch for a `tracker.Tracker`.

What differs from the final design (`kcli.sessions.draft` has why): only the uuid of a fetcher's latest full fetch is
good, no epoch counts, a set of partitions that changes takes a full fetch, and so does a fetch that nobody answered.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from kcli.sessions import checks
from kcli.sessions.epochs import NO_SESSION
from kcli.sessions.session import ObservedSession
from kcli.sessions.trace import FetchExchange

if TYPE_CHECKING:
    from kcli.sessions.tracker import Tracker

__all__ = ["DraftTracker"]

REMEMBERED = 512
# A server, and whose uuid counts there: a follower's replica id, a consumer's client id.
Fetcher = tuple[str, int | str]


class DraftTracker:
    """latest: the uuid that each fetcher's last full fetch brought; lost: sessions with a fetch that had no answer;
    full: of each session that a full fetch has ended, that fetch's connection, and when it was answered."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.latest: dict[Fetcher, int] = {}
        self.lost: set[tuple[str, int]] = set()
        self.full: OrderedDict[tuple[str, int], tuple[str, int | None]] = OrderedDict()

    def feed(self, x: FetchExchange) -> None:
        """Take in the next exchange of the draft, in order of time."""
        if x.session_epoch:
            self._incremental(x)
        else:
            self._full(x)

    # Full fetches.

    def _full(self, x: FetchExchange) -> None:
        tracker = self.tracker
        if len(x.asked) > 1:
            checks.asked_twice(tracker, x)
        self._end_latest(x)
        if not x.answered:
            tracker.count_sessionless(x)
            return
        checks.full_response(tracker, x)
        tracker.offsets.learn(x)
        if x.granted == NO_SESSION:
            tracker.count_sessionless(x)
            return
        self._check_new(x)
        tracker.begin_session(x)
        self.latest[fetcher_of(x)] = x.granted

    def _end_latest(self, x: FetchExchange) -> None:
        """A full fetch makes the fetcher's former uuid bad, whoever sent it."""
        uuid = self.latest.pop(fetcher_of(x), NO_SESSION)
        session = self.tracker.sessions.get((x.server, uuid))
        if session is not None:
            self._over(session, "replaced", x.response_ns or x.ns, x)
            self.full[x.server, uuid] = x.connection, x.response_ns
            if len(self.full) > REMEMBERED:
                self.full.popitem(last=False)

    def _check_new(self, x: FetchExchange) -> None:
        key = (x.server, x.granted)
        former = self.tracker.sessions.get(key) or self.tracker.ended.get(key)
        if former is not None:
            text = f"uuid {x.granted} granted again: {former.client_id} on {former.connection} was given it before"
            self.tracker.find(x, "session-id-taken", x.granted, text)

    # Incremental fetches.

    def _incremental(self, x: FetchExchange) -> None:
        tracker = self.tracker
        session = self._session_of(x)
        if session is None:
            return
        session.count(x, full=False)
        self._check_request(session, x)
        session.connection = x.connection
        if not x.answered:
            self.lost.add((x.server, x.session_id))
            return
        if x.error:
            checks.error_response(tracker, x)
            session.end_error = x.error
            self._over(session, "error", x.response_ns or x.ns)
            return
        checks.take_in(tracker, session, x)
        checks.tell(tracker, session, x)
        session.charge(x)
        tracker.offsets.learn(x)
        session.answered_ns = x.response_ns or x.ns
        session.used_ns = x.ns

    def _session_of(self, x: FetchExchange) -> ObservedSession | None:
        key = (x.server, x.session_id)
        session = self.tracker.sessions.get(key)
        if session is not None:
            return session
        ended = self.tracker.ended.get(key)
        if ended is not None:
            self._check_ended(ended, x)
            ended.count(x, full=False)
            return None
        # Older than the capture, or from a gap in it.
        self._end_latest(x)
        self.latest[fetcher_of(x)] = x.session_id
        return self.tracker.begin_unseen(x)

    def _check_ended(self, ended: ObservedSession, x: FetchExchange) -> None:
        """A uuid that is not good any more. Until the full fetch was answered, the broker took the one before."""
        connection, answered_ns = self.full.get((x.server, x.session_id), (x.connection, None))
        if answered_ns is not None and x.ns < answered_ns:
            return
        if connection == x.connection or not ended.since_start:
            checks.closed_used(self.tracker, ended, x)
            return
        text = f"a full fetch of the same fetcher, on {connection}, has made the uuid bad"
        self.tracker.find(x, "session-shared", x.session_id, text)
        if x.answered and not x.error:
            self.tracker.find(x, "closed-session-answered", x.session_id, f"{text}; it is answered without an error")

    def _check_request(self, session: ObservedSession, x: FetchExchange) -> None:
        tracker = self.tracker
        checks.same_client(tracker, session, x)
        if x.ns and x.ns < session.answered_ns:
            ms = (session.answered_ns - x.ns) / 1e6
            tracker.find(x, "two-in-flight", x.session_id, f"sent {ms:.3f} ms before the fetch before it was answered")
        if (x.server, x.session_id) in self.lost:
            text = "goes on after a fetch without an answer: nobody knows what the broker has taken in"
            tracker.find(x, "not-begun-anew", x.session_id, text)
            self.lost.discard((x.server, x.session_id))
            session.blur()
        new = [key for key, _ in x.asked if key not in session.seats] if session.complete else []
        if new:
            text = f"names {len(new)} partitions that the full fetch did not"
            tracker.find(x, "set-changed", x.session_id, text, new)
            if x.answered and not x.error:
                tracker.find(x, "set-accepted", x.session_id, f"{text}, and is answered without an error", new)

    def _over(self, session: ObservedSession, why: str, ns: int, follows: FetchExchange | None = None) -> None:
        self.lost.discard((session.server, session.session_id))
        self.tracker.end_session(session, why, ns, follows)


def fetcher_of(x: FetchExchange) -> Fetcher:
    return x.server, x.replica_id if x.replica_id >= 0 else x.client_id

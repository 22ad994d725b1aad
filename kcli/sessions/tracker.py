"""All fetch sessions of a capture, followed fetch by fetch: when they begin, what they hold, why they end, who errs.

    tracker = Tracker(on_finding=findings.append, on_end=ended.append)
    for exchange in fetches: tracker.feed(exchange)
    tracker.finish()

A capture is a keyhole: it may begin in the middle of a session, lack packets, or show one connection of two. What was
not seen is not judged: a session of which something is missing is `blurred`, and only what is seen from then on counts.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from kcli.sessions import checks
from kcli.sessions.draft_tracker import DraftTracker
from kcli.sessions.epochs import (
    EVICTION_MS,
    FINAL_EPOCH,
    FULL_EPOCH,
    ID_NOT_FOUND,
    NO_SESSION,
    next_epoch,
)
from kcli.sessions.findings import SessionFinding
from kcli.sessions.offsets import Offsets
from kcli.sessions.session import FetchStatistics, ObservedSession
from kcli.sessions.state import new_marks
from kcli.sessions.trace import SESSIONS_SINCE, FetchExchange, Key

__all__ = ["SessionlessFetches", "Tracker"]

REMEMBERED = 512
IDLE_NS = 5 * EVICTION_MS * 1_000_000
QUIET_NS = EVICTION_MS * 1_000_000  # no fetcher is silent for so long on purpose
SWEEP = 8192
SHARD_IDS = (2**31 - 1) // 8
SERVER = re.compile(r"^.+?:\d+(?=-)")


class SessionlessFetches(FetchStatistics):
    """Fetches of a client outside any session: it wants none, was granted none, or speaks an older version."""

    def __init__(self, x: FetchExchange) -> None:
        super().__init__()
        self.server, self.client_id, self.replica_id, self.version = x.server, x.client_id, x.replica_id, x.version
        self.not_granted = self.not_wanted = 0


class Tracker:
    """Follows sessions by server and id. Times in ns.

    on_finding(Finding), on_end(ObservedSession): called as things happen; `sessionless`: fetches without a session
    kernel: follows the steady fetches of sessions by itself (see `kcli.sessions.state`)
    """

    def __init__(
        self,
        on_finding: Callable[[SessionFinding], None] | None = None,
        on_end: Callable[[ObservedSession], None] | None = None,
        kernel: Any = None,
    ) -> None:
        self.on_finding = on_finding
        self.on_end = on_end
        self.sessions: dict[tuple[str, int], ObservedSession] = {}
        self.ended: OrderedDict[tuple[str, int], ObservedSession] = OrderedDict()
        self.sessionless: dict[tuple[str, str], SessionlessFetches] = {}
        self.kernel = kernel
        if kernel is not None:
            kernel.opener = self._opened
        self.offsets = Offsets(new_marks(kernel))
        self.fed = self.opened = 0
        self._holds: dict[tuple[str, str], int] = {}
        self._on: dict[str, set[ObservedSession]] = {}
        self._last_ns = 0
        self.drafts = DraftTracker(self)

    @property
    def fetches(self) -> int:
        """All that were followed, those of the kernel too."""
        return self.fed + (self.kernel.fetches if self.kernel is not None else 0)

    @property
    def _now(self) -> int:
        return max(self._last_ns, self.kernel.now if self.kernel is not None else 0)

    def feed(self, x: FetchExchange) -> None:
        """Take in one exchange, in the order of the capture."""
        self.fed += 1
        self._last_ns = max(self._last_ns, x.ns)
        if x.draft:
            self.drafts.feed(x)
        elif x.session_epoch > FULL_EPOCH and x.version >= SESSIONS_SINCE:
            self._incremental(x)
        else:
            self._full(x)
        if self.fed % SWEEP == 0:
            self._sweep()

    def blur(self, connection: str | None, ns: int = 0) -> None:
        """Bytes of this connection are missing (None: nobody knows of which): its sessions are no longer certain.

        ns: when; 0 when that is not known.
        """
        self.offsets.miss(ns or self._now)
        sessions = [*self.sessions.values()] if connection is None else [*self._on.get(connection, ())]
        for session in sessions:
            session.blur()
        for held in [held for held in self._holds if connection in (None, held[0])]:
            del self._holds[held]

    def finish(self) -> None:
        """The capture ends here, and with it all sessions that are still there."""
        for session in [*self.sessions.values()]:
            quiet = self._now - session.last_ns > QUIET_NS
            self.end_session(
                session, "not used any more" if quiet else "capture end", session.last_ns if quiet else self._now
            )

    def find(self, x: FetchExchange, rule: str, session_id: int, text: str, partitions: Iterable[Key] = ()) -> None:
        """Report that a fetch breaks a rule; session_id: the session that it is about."""
        finding = SessionFinding.at(x, rule, session_id, text, tuple(partitions))
        session = self.sessions.get((x.server, session_id)) or self.ended.get((x.server, session_id))
        if session is not None:
            session.findings += 1
        if self.on_finding is not None:
            self.on_finding(finding)

    # Full fetches.

    def _full(self, x: FetchExchange) -> None:
        holder = (x.connection, x.client_id)
        checks.full_request(self, x, self._holds.get(holder, NO_SESSION))
        self._close_named(x)
        held = self._holds.pop(holder, NO_SESSION)
        if held and held != x.session_id:
            self._end_held(x, held)
        if not x.answered or x.error:
            checks.error_response(self, x)
            self.count_sessionless(x)
            return
        checks.full_response(self, x)
        self.offsets.learn(x)
        if x.granted and x.session_epoch == FULL_EPOCH:
            self._open(x)
        else:
            self.count_sessionless(x)

    def _close_named(self, x: FetchExchange) -> None:
        session = self.sessions.get((x.server, x.session_id)) if x.session_id else None
        if session is None:
            return
        session.last_ns = x.ns
        if x.session_epoch == FINAL_EPOCH:
            self.end_session(session, "closed", x.ns)
        else:
            moved = session.connection != x.connection
            self.end_session(session, "connection lost" if moved else "replaced", x.ns, follows=x)

    def _end_held(self, x: FetchExchange, held: int) -> None:
        session = self.sessions.get((x.server, held))
        if session is not None:
            self.end_session(session, "left behind", x.ns, follows=x)

    def _open(self, x: FetchExchange) -> None:
        key = (x.server, x.granted)
        former = self.sessions.get(key)
        if former is not None:
            checks.id_taken(self, x, former)
            self.end_session(former, "id taken over", x.ns)
        if x.replica_id >= 0:
            self._end_former(x)
        self.begin_session(x)

    def begin_session(self, x: FetchExchange) -> None:
        """A full fetch was granted a session."""
        key = (x.server, x.granted)
        self.ended.pop(key, None)
        session = self.sessions[key] = ObservedSession(x, x.granted, True, None if x.draft else self.kernel)
        session.next_epoch = next_epoch(FULL_EPOCH)
        session.answered_ns = session.granted_ns = x.response_ns or x.ns
        session.used_ns = x.ns
        session.count(x, full=True)
        session.begin(x)
        session.attach()
        self._holds[x.connection, x.client_id] = x.granted
        self.opened += 1
        self._on.setdefault(x.connection, set()).add(session)
        self._name_successor(x, session)

    def _opened(
        self,
        connection: str,
        client_id: str,
        version: int,
        correlation_id: int,
        ns: int,
        response_ns: int,
        request_bytes: int,
        response_bytes: int,
        max_bytes: int,
        isolation: int,
        replica_id: int,
        granted: int,
        records: int,
        topics: list[tuple[str, int]],
    ) -> ObservedSession:
        """The kernel has read a full fetch that was granted a session, in order and without errors."""
        header = {"requestApiVersion": version, "correlationId": correlation_id, "clientId": client_id}
        x = FetchExchange(server_of(connection), connection, header, ns, response_ns)
        x.request_bytes, x.response_bytes = request_bytes, response_bytes
        x.take((NO_SESSION, FULL_EPOCH, max_bytes, isolation, replica_id, []), (0, 0, granted, []), True)
        x.seated, x.seated_records = topics, records
        self._full(x)
        return self.sessions[x.server, granted]

    def _end_former(self, x: FetchExchange) -> None:
        """A fetcher of a follower has one session at a leader: one on another connection is lost with it."""
        who = (x.server, x.client_id, x.replica_id)
        for former in [*self.sessions.values()]:
            if (former.server, former.client_id, former.replica_id) == who and former.connection != x.connection:
                self.end_session(former, "connection lost", former.last_ns)

    def count_sessionless(self, x: FetchExchange) -> None:
        """Count a fetch that belongs to no session."""
        if x.session_epoch == FINAL_EPOCH and x.session_id and not x.asked:
            ended = self.ended.get((x.server, x.session_id))
            if ended is not None:
                ended.count(x, full=False)
                return
        key = (x.server, x.client_id)
        sessionless = self.sessionless.get(key)
        if sessionless is None:
            sessionless = self.sessionless[key] = SessionlessFetches(x)
        sessionless.count(x, full=True)
        if x.version >= SESSIONS_SINCE:
            sessionless.not_wanted += x.session_epoch == FINAL_EPOCH
            sessionless.not_granted += x.session_epoch == FULL_EPOCH and x.answered and not x.error

    # Incremental fetches.

    def _incremental(self, x: FetchExchange) -> None:
        session = self._session_of(x)
        if session is None:
            return
        session.count(x, full=False)
        if session.unsure:
            session.blur()
        checks.epoch(self, session, x)
        session.connection = x.connection
        if not x.answered:
            session.unsure = True
            return
        if x.error:
            self._refused(session, x)
            return
        checks.take_in(self, session, x)
        checks.tell(self, session, x)
        session.charge(x)
        self.offsets.learn(x)
        session.next_epoch = next_epoch(x.session_epoch)
        session.answered_ns = x.response_ns or x.ns
        session.used_ns = x.ns
        if x.granted == NO_SESSION:
            checks.dropped(self, session, x)
            self.end_session(session, "emptied", x.response_ns or x.ns)

    def _session_of(self, x: FetchExchange) -> ObservedSession | None:
        key = (x.server, x.session_id)
        session = self.sessions.get(key)
        if session is not None:
            if session.connection != x.connection:
                self._moved(session, x)
            return session
        ended = self.ended.get(key)
        if ended is not None and not x.session_epoch < FULL_EPOCH:
            checks.closed_used(self, ended, x)
            ended.count(x, full=False)
            if not (x.answered and not x.error and ended.end == "error"):
                return None
            self.ended.pop(key)
        if x.session_id == NO_SESSION:
            checks.no_session(self, x)
            return None
        return self.begin_unseen(x)

    def begin_unseen(self, x: FetchExchange) -> ObservedSession:
        """A session that was there before, whose partitions are not known."""
        session = ObservedSession(x, x.session_id, False, None if x.draft else self.kernel)
        self.sessions[x.server, x.session_id] = session
        self.opened += 1
        self._on.setdefault(x.connection, set()).add(session)
        self._holds[x.connection, x.client_id] = x.session_id
        session.attach()
        return session

    def _moved(self, session: ObservedSession, x: FetchExchange) -> None:
        """The session goes on over another connection: what was under way on the old one is not known."""
        checks.same_client(self, session, x)
        session.blur()
        self._on.get(session.connection, set()).discard(session)
        self._on.setdefault(x.connection, set()).add(session)
        session.connection = x.connection
        session.attach()

    def _refused(self, session: ObservedSession, x: FetchExchange) -> None:
        checks.refused(self, session, x)
        checks.error_response(self, x)
        session.full_request_bytes += x.request_bytes
        session.full_response_bytes += x.response_bytes
        session.end_error = x.error
        if x.error == ID_NOT_FOUND:
            self._blame_evictor(session)
        self.end_session(session, "evicted" if x.error == ID_NOT_FOUND else "error", x.response_ns or x.ns)

    def _blame_evictor(self, session: ObservedSession) -> None:
        """The session that took the slot: opened since the last good fetch was sent, with an id of the same shard."""
        shard = session.session_id // SHARD_IDS
        opened = [other for other in (*self.ended.values(), *self.sessions.values()) if other.since_start]
        for other in sorted(opened, key=lambda other: other.granted_ns):
            near = other.server == session.server and other.session_id // SHARD_IDS == shard
            if near and other is not session and other.granted_ns >= session.used_ns and not other.displaced:
                session.evictor, session.evicted_ns = other.session_id, other.granted_ns
                other.displaced = session.session_id
                return

    # Ends.

    def end_session(self, session: ObservedSession, why: str, ns: int, follows: FetchExchange | None = None) -> None:
        """End a session at `ns`. why: in a word or two. follows: the fetch that ended it."""
        session.detach()
        session.finish(why, ns, self.on_end is not None)
        self.sessions.pop((session.server, session.session_id), None)
        on = self._on.get(session.connection)
        if on is not None:
            on.discard(session)
            if not on:
                del self._on[session.connection]
        if follows is None or why != "left behind":
            self._holds.pop((session.connection, session.client_id), None)
        self.ended[session.server, session.session_id] = session
        if len(self.ended) > REMEMBERED:
            self._report(self.ended.popitem(last=False)[1])

    def _name_successor(self, x: FetchExchange, session: ObservedSession) -> None:
        """The session that the same client had before, if one ended: this one follows it."""
        for former in reversed(self.ended.values()):
            same = former.connection == x.connection or former.end == "connection lost"
            if same and (former.server, former.client_id) == (x.server, x.client_id):
                if former.successor is None and former.end not in ("closed", "capture end"):
                    former.successor = (session.session_id, (x.response_ns or x.ns) - former.end_ns)
                return

    def _report(self, session: ObservedSession) -> None:
        if self.on_end is not None:
            self.on_end(session)

    def close(self) -> None:
        """End what is left, and hand over every session that was not yet."""
        self.finish()
        while self.ended:
            self._report(self.ended.popitem(last=False)[1])

    def _sweep(self) -> None:
        """Sessions that nobody has used for long are gone, whether or not the capture says so."""
        for session in [s for s in self.sessions.values() if self._now - s.last_ns > IDLE_NS]:
            self.end_session(session, "not used any more", session.last_ns)


def server_of(connection: str) -> str:
    """The server's end of "server-client"; a host's name may have hyphens in it."""
    found = SERVER.match(connection)
    return found[0] if found else connection

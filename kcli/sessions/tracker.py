"""Follows all fetch sessions of a capture, fetch by fetch: their beginning, partitions, end, and broken rules.

    tracker = Tracker(on_finding=findings.append, on_end=ended.append)
    for exchange in fetches: tracker.feed(exchange)
    tracker.finish()

A capture can begin in the middle of a session, lack packets, or have only one of two connections. Missing traffic is
not judged: a session with missing bytes becomes uncertain (`blur`), and only later fetches count.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kcli.capture.captured_time import CapturedTime
from kcli.capture.kafka.clock import SECOND
from kcli.sessions import full_checks, incremental_checks
from kcli.sessions.draft_tracker import DraftTracker
from kcli.sessions.epochs import (
    EVICTION_MS,
    FINAL_EPOCH,
    FULL_EPOCH,
    ID_NOT_FOUND,
    NO_SESSION,
    next_epoch,
)
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, FetchExchange
from kcli.sessions.registry import SessionRegistry
from kcli.sessions.session import FetchStatistics, ObservedSession
from kcli.sessions.session_findings import SessionFinding

QUIET_S = EVICTION_MS / 1000  # a working fetcher is never silent for so long
IDLE_S = 5 * QUIET_S
SWEEP = 8192  # fetches between two searches for idle sessions
SERVER = re.compile(r"^.+?:\d+(?=-)")


class Opened(NamedTuple):
    """A full fetch that was granted a session, as the kernel reads it. records: their bytes; topics: (topic, number of
    partitions).
    """

    connection: str
    client_id: str
    version: int
    correlation_id: int
    ns: int
    response_ns: int
    request_bytes: int
    response_bytes: int
    max_bytes: int
    isolation: int
    replica_id: int
    granted: int
    records: int
    topics: list[tuple[str, int]]


class Tracker:
    """Follows sessions by server and id. Times are in ns.

    on_finding(SessionFinding), on_end(ObservedSession): called at once
    kernel: follows the steady fetches of sessions by itself; None: a new one, for Kafka's own messages
    pauses: between rotated captures, see CapturedTime; they do not count as silence
    registry: the sessions; sessionless: fetches outside any; offsets: those that clients can know
    """

    def __init__(
        self,
        on_finding: Callable[[SessionFinding], None] | None = None,
        on_end: Callable[[ObservedSession], None] | None = None,
        kernel: Any = None,
    ) -> None:
        self.registry = SessionRegistry(on_finding, on_end, kernel)
        self.kernel = self.registry.kernel
        self.kernel.opener, self.kernel.keeper = self._opened, self._loose
        self.sessionless = self.registry.sessionless
        self.offsets = self.registry.offsets
        self.drafts = DraftTracker(self.registry)
        self.fed = 0
        self.pauses: Sequence[tuple[int, int]] = ()
        self._last_ns = 0

    @property
    def fetches(self) -> int:
        """Return the number of fetches, including those that the kernel followed."""
        return self.fed + int(self.kernel.fetches)

    @property
    def opened(self) -> int:
        """Return the number of sessions that were seen."""
        return self.registry.opened

    @property
    def _now(self) -> int:
        return max(self._last_ns, int(self.kernel.now))

    def feed(self, x: FetchExchange) -> None:
        """Process one exchange, in the order of the capture."""
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
        """Note that bytes of this connection (None: an unknown one) are missing, so that its sessions are no longer
        certain.

        ns: when; 0 if unknown
        """
        self.offsets.miss(ns or self._now)
        self.registry.blur(connection)

    def finish(self) -> None:
        """End all open sessions, at the end of the capture."""
        for session in [*self.registry.sessions.values()]:
            if self._silent_for(session, QUIET_S):
                self.registry.end(session, "not used any more", session.last_ns)
            else:
                self.registry.end(session, "capture end", self._now)

    def close(self) -> None:
        """End the open sessions, and report every session that was not reported yet."""
        self.finish()
        self.registry.report_ended()

    def _sweep(self) -> None:
        """End sessions that were idle for IDLE_S, because the capture need not show their end."""
        for session in [s for s in self.registry.sessions.values() if self._silent_for(s, IDLE_S)]:
            self.registry.end(session, "not used any more", session.last_ns)

    def _silent_for(self, session: ObservedSession, seconds: float) -> bool:
        """Return whether more than these seconds were captured since a session's last fetch."""
        if self._now - session.last_ns <= seconds * SECOND:
            return False
        return CapturedTime(session.last_ns, self._now, self.pauses).seconds() > seconds

    # Full fetches.

    def _full(self, x: FetchExchange) -> None:
        registry, holder = self.registry, (x.connection, x.client_id)
        full_checks.full_request(registry, x, registry.holds.get(holder, NO_SESSION))
        self._close_named(x)
        held = registry.holds.pop(holder, NO_SESSION)
        if held and held != x.session_id:
            self._end_held(x, held)
        if not x.answered or x.error:
            full_checks.error_response(registry, x)
            registry.count_sessionless(x)
            return
        full_checks.full_response(registry, x)
        self.offsets.learn(x)
        if x.granted and x.session_epoch == FULL_EPOCH:
            self._open(x)
        else:
            registry.count_sessionless(x)

    def _close_named(self, x: FetchExchange) -> None:
        session = self.registry.sessions.get((x.server, x.session_id)) if x.session_id else None
        if session is None:
            return
        session.last_ns = x.ns
        if x.session_epoch == FINAL_EPOCH:
            self.registry.end(session, "closed", x.ns)
        else:
            moved = session.connection != x.connection
            self.registry.end(session, "connection lost" if moved else "replaced", x.ns, follows=x)

    def _end_held(self, x: FetchExchange, held: int) -> None:
        session = self.registry.sessions.get((x.server, held))
        if session is not None:
            self.registry.end(session, "left behind", x.ns, follows=x)

    def _open(self, x: FetchExchange) -> None:
        former = self.registry.sessions.get((x.server, x.granted))
        if former is not None:
            full_checks.id_taken(self.registry, x, former)
            self.registry.end(former, "id taken over", x.ns)
        if x.replica_id >= 0:
            self._end_former(x)
        self.registry.begin(x)

    def _opened(self, *read: Any) -> ObservedSession:
        """Process a full fetch that the kernel has read: it was granted a session, in order and without errors."""
        fetch = Opened(*read)
        header = {
            "requestApiVersion": fetch.version,
            "correlationId": fetch.correlation_id,
            "clientId": fetch.client_id,
        }
        x = FetchExchange(server_of(fetch.connection), fetch.connection, header, fetch.ns, fetch.response_ns)
        x.request_bytes, x.response_bytes = fetch.request_bytes, fetch.response_bytes
        request: tuple[Any, ...] = (NO_SESSION, FULL_EPOCH, fetch.max_bytes, fetch.isolation, fetch.replica_id, [])
        x.take(request, (0, 0, fetch.granted, []), True)
        x.seated, x.seated_records = fetch.topics, fetch.records
        self._full(x)
        return self.registry.sessions[x.server, fetch.granted]

    def _loose(self, connection: str, client_id: str) -> tuple[FetchStatistics, str] | None:
        """Return the statistics of a client's fetches outside sessions, and its server, for the kernel to add to. None
        if one of its sessions is open on that connection, or this is its first such fetch.
        """
        server = server_of(connection)
        found = self.sessionless.get((server, client_id))
        return None if found is None or (connection, client_id) in self.registry.holds else (found, server)

    def _end_former(self, x: FetchExchange) -> None:
        """End the follower's session on another connection, because a fetcher has one session with a leader."""
        fetcher = (x.server, x.client_id, x.replica_id)
        for former in [*self.registry.sessions.values()]:
            if (former.server, former.client_id, former.replica_id) == fetcher and former.connection != x.connection:
                self.registry.end(former, "connection lost", former.last_ns)

    # Incremental fetches.

    def _incremental(self, x: FetchExchange) -> None:
        """Judge a fetch with an epoch above 0, and update the session if the broker accepted the fetch."""
        session = self._session_of(x)
        if session is None:
            return
        registry = self.registry
        session.count(x, full=False)
        if session.unsure:
            session.blur()
        in_turn = x.session_epoch == session.next_epoch
        incremental_checks.epoch(registry, session, x)
        session.connection = x.connection
        if not x.answered:
            session.unsure = True
            return
        if x.error:
            if in_turn:
                incremental_checks.check_request(registry, session, x)
            self._refused(session, x)
            return
        incremental_checks.check_request(registry, session, x)
        incremental_checks.check_response(registry, session, x)
        session.charge(x)
        self.offsets.learn(x)
        session.next_epoch = next_epoch(x.session_epoch)
        session.answered_ns = x.response_ns or x.ns
        session.used_ns = x.ns
        if x.granted == NO_SESSION:
            incremental_checks.dropped(registry, session, x)
            registry.end(session, "emptied", x.response_ns or x.ns)

    def _session_of(self, x: FetchExchange) -> ObservedSession | None:
        """Return the session that a fetch names; a new one if the session is older than the capture. None if the
        session had ended, or there is none, which is reported as a finding.
        """
        registry, key = self.registry, (x.server, x.session_id)
        session = registry.sessions.get(key)
        if session is not None:
            if session.connection != x.connection:
                incremental_checks.same_client(registry, session, x)
                registry.move(session, x.connection)
            return session
        ended = registry.ended.get(key)
        if ended is not None and not x.session_epoch < FULL_EPOCH:
            incremental_checks.closed_used(registry, ended, x)
            if not (x.answered and not x.error and ended.end == "error"):
                ended.count(x, full=False)
                return None
            registry.release(key)
        if x.session_id <= NO_SESSION:
            incremental_checks.no_session(registry, x)
            return None
        return registry.begin_unseen(x)

    def _refused(self, session: ObservedSession, x: FetchExchange) -> None:
        incremental_checks.refused(self.registry, session, x)
        full_checks.error_response(self.registry, x)
        session.full_request_bytes += x.request_bytes
        session.full_response_bytes += x.response_bytes
        session.end_error = x.error
        if x.error == ID_NOT_FOUND:
            self.registry.blame_evictor(session)
        self.registry.end(session, "evicted" if x.error == ID_NOT_FOUND else "error", x.response_ns or x.ns)


def server_of(connection: str) -> str:
    """Return the server of "server-client". Hosts' names may have hyphens."""
    found = SERVER.match(connection)
    return found[0] if found else connection

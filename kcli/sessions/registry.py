"""The fetch sessions of a capture, open ones and those that ended lately, by server and id.

`tracker` decides when sessions begin and end; the registry does it, and reports the findings.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from kcli.sessions.epochs import FINAL_EPOCH, FULL_EPOCH, next_epoch
from kcli.sessions.fetch_exchange import SESSIONS_SINCE, FetchExchange, Key
from kcli.sessions.fetch_paths import new_kernel
from kcli.sessions.offsets import Offsets
from kcli.sessions.session import FetchStatistics, ObservedSession
from kcli.sessions.session_findings import SessionFinding

REMEMBERED = 512  # number of ended sessions that are kept for late fetches and for their successors
SHARD_IDS = (2**31 - 1) // 8


class SessionlessFetches(FetchStatistics):
    """Fetches of a client outside any session: it wants none, was granted none, or uses an older version."""

    def __init__(self, x: FetchExchange) -> None:
        super().__init__()
        self.server, self.client_id, self.replica_id, self.version = x.server, x.client_id, x.replica_id, x.version


class SessionRegistry:
    """Sessions by (server, session id). Times are in ns.

    sessions: open ones; ended: those that ended last, oldest first; sessionless: by (server, client id)
    holds: {(connection, client id): session id that the client was granted there and has not ended}
    opened: number of sessions that were seen; offsets: those that clients can know
    """

    def __init__(
        self,
        on_finding: Callable[[SessionFinding], None] | None = None,
        on_end: Callable[[ObservedSession], None] | None = None,
        kernel: Any = None,
    ) -> None:
        """Keep the sessions. on_finding: called with each finding; on_end: called with each session that ended; kernel:
        see `Tracker`.
        """
        self.on_finding = on_finding
        self.on_end = on_end
        self.kernel = new_kernel() if kernel is None else kernel
        self.sessions: dict[tuple[str, int], ObservedSession] = {}
        self.ended: OrderedDict[tuple[str, int], ObservedSession] = OrderedDict()
        self.sessionless: dict[tuple[str, str], SessionlessFetches] = {}
        self.holds: dict[tuple[str, str], int] = {}
        self.opened = 0
        self.offsets = Offsets(self.kernel.marks)
        self._on: dict[str, set[ObservedSession]] = {}

    def find(self, x: FetchExchange, rule: str, session_id: int, text: str, partitions: Iterable[Key] = ()) -> None:
        """Report that a fetch breaks a rule. session_id: the session that the finding is about."""
        finding = SessionFinding.at(x, rule, session_id, text, tuple(partitions))
        session = self.sessions.get((x.server, session_id)) or self.ended.get((x.server, session_id))
        if session is not None:
            session.findings += 1
        if self.on_finding is not None:
            self.on_finding(finding)

    def blur(self, connection: str | None) -> None:
        """Note that bytes of this connection (None: of any) are missing, so that its sessions are no longer certain."""
        sessions = [*self.sessions.values()] if connection is None else [*self._on.get(connection, ())]
        for session in sessions:
            session.blur()
        for held in [held for held in self.holds if connection in (None, held[0])]:
            del self.holds[held]

    def choose(self, x: FetchExchange) -> None:
        """Mark the sessions of a fetch as chosen, or its client's fetches outside sessions."""
        found: list[FetchStatistics | None] = [
            self.sessions.get(key) or self.ended.get(key) for key in ((x.server, x.session_id), (x.server, x.granted))
        ]
        for each in found if any(found) else [self.sessionless.get((x.server, x.client_id))]:
            if each is not None:
                each.chosen = True

    # Beginnings.

    def begin(self, x: FetchExchange) -> None:
        """Begin the session that a full fetch was granted."""
        key = (x.server, x.granted)
        self.release(key)
        session = self._enter(x, x.granted, True)
        session.next_epoch = next_epoch(FULL_EPOCH)
        session.answered_ns = session.granted_ns = x.response_ns or x.ns
        session.used_ns = x.ns
        session.count(x, full=True)
        session.begin(x)
        session.attach()
        self._name_successor(x, session)

    def begin_unseen(self, x: FetchExchange) -> ObservedSession:
        """Begin a session from before the capture, whose partitions are unknown."""
        session = self._enter(x, x.session_id, False)
        session.attach()
        return session

    def _enter(self, x: FetchExchange, session_id: int, since_start: bool) -> ObservedSession:
        session = ObservedSession(x, session_id, since_start, None if x.draft else self.kernel)
        self.sessions[x.server, session_id] = session
        self.holds[x.connection, x.client_id] = session_id
        self.kernel.loose.clear()
        self.opened += 1
        self._on.setdefault(x.connection, set()).add(session)
        return session

    def move(self, session: ObservedSession, connection: str) -> None:
        """Move the session to another connection. It becomes uncertain, because requests in flight on the old one are
        unknown.
        """
        session.blur()
        self._on.get(session.connection, set()).discard(session)
        self._on.setdefault(connection, set()).add(session)
        session.connection = connection
        session.attach()

    def count_sessionless(self, x: FetchExchange) -> None:
        """Count a fetch that belongs to no session."""
        if x.session_epoch == FINAL_EPOCH and x.session_id and not x.asked:
            ended = self.ended.get((x.server, x.session_id))
            if ended is not None:
                ended.count(x, full=False)
                return
        key = (x.server, x.client_id)
        client = self.sessionless.get(key)
        if client is None:
            client = self.sessionless[key] = SessionlessFetches(x)
        client.count(x, full=True)
        if x.version >= SESSIONS_SINCE:
            client.not_wanted += x.session_epoch == FINAL_EPOCH
            client.not_granted += x.session_epoch == FULL_EPOCH and x.answered and not x.error

    # Ends.

    def end(self, session: ObservedSession, why: str, ns: int, follows: FetchExchange | None = None) -> None:
        """End a session at `ns`. why: in a word or two; follows: the fetch that ended it."""
        session.detach()
        session.finish(why, ns, self.on_end is not None)
        self.sessions.pop((session.server, session.session_id), None)
        on = self._on.get(session.connection)
        if on is not None:
            on.discard(session)
            if not on:
                del self._on[session.connection]
        if follows is None or why != "left behind":
            self.holds.pop((session.connection, session.client_id), None)
        self.ended[session.server, session.session_id] = session
        if len(self.ended) > REMEMBERED:
            self._report(self.ended.popitem(last=False)[1])

    def _name_successor(self, x: FetchExchange, session: ObservedSession) -> None:
        """Name this session as the successor of the one that the same client had before, if there is one."""
        for former in reversed(self.ended.values()):
            same = former.connection == x.connection or former.end == "connection lost"
            if same and (former.server, former.client_id) == (x.server, x.client_id):
                if former.successor is None and former.end not in ("closed", "capture end"):
                    former.successor = (session.session_id, (x.response_ns or x.ns) - former.end_ns)
                return

    def blame_evictor(self, session: ObservedSession) -> None:
        """Find the session that took the slot: one that was opened after the last answered fetch, with an id of the
        same shard.
        """
        shard = session.session_id // SHARD_IDS
        opened = [other for other in (*self.ended.values(), *self.sessions.values()) if other.since_start]
        for other in sorted(opened, key=lambda other: other.granted_ns):
            near = other.server == session.server and other.session_id // SHARD_IDS == shard
            if near and other is not session and other.granted_ns >= session.used_ns and not other.displaced:
                session.evictor, session.evicted_ns = other.session_id, other.granted_ns
                other.displaced = session.session_id
                return

    def report_ended(self) -> None:
        """Report every session that ended and was not reported yet."""
        while self.ended:
            self._report(self.ended.popitem(last=False)[1])

    def release(self, key: tuple[str, int]) -> None:
        """Report an ended session now, because another one begins with its id."""
        former = self.ended.pop(key, None)
        if former is not None:
            self._report(former)

    def _report(self, session: ObservedSession) -> None:
        if self.on_end is not None:
            self.on_end(session)

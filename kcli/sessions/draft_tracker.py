"""Follows sessions of KIP-227's third draft, fetch by fetch, for a `Tracker`.

Differences from the final design (for the reasons see `kcli.sessions.draft`): only the uuid of a fetcher's latest full
fetch is valid, there are no epochs, and a full fetch is needed after a changed set of partitions and after a fetch
without a response.
"""

from collections import OrderedDict

from kcli.counting import counted
from kcli.sessions import full_checks, incremental_checks
from kcli.sessions.epochs import NO_SESSION
from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.registry import REMEMBERED, SessionRegistry
from kcli.sessions.session import ObservedSession

# (server, fetcher of a uuid there: a follower's replica id or a consumer's client id)
Fetcher = tuple[str, int | str]


class DraftTracker:
    """Follows the draft's sessions.

    latest: {fetcher: uuid from its last full fetch}
    lost: sessions with a fetch that had no response
    full: {session that a full fetch ended: (connection of that fetch, time of its response)}
    """

    def __init__(self, registry: SessionRegistry) -> None:
        self.registry = registry
        self.latest: dict[Fetcher, int] = {}
        self.lost: set[tuple[str, int]] = set()
        self.full: OrderedDict[tuple[str, int], tuple[str, int | None]] = OrderedDict()

    def feed(self, x: FetchExchange) -> None:
        """Process the next exchange of the draft, in order of time."""
        if x.session_epoch:
            self._incremental(x)
        else:
            self._full(x)

    # Full fetches.

    def _full(self, x: FetchExchange) -> None:
        registry = self.registry
        if len(x.asked) > 1:
            full_checks.asked_twice(registry, x)
        self._end_latest(x)
        if not x.answered:
            registry.count_sessionless(x)
            return
        full_checks.full_response(registry, x)
        registry.offsets.learn(x)
        if x.granted == NO_SESSION:
            registry.count_sessionless(x)
            return
        self._check_new(x)
        registry.begin(x)
        self.latest[fetcher_of(x)] = x.granted

    def _end_latest(self, x: FetchExchange) -> None:
        """End the fetcher's former uuid, which a full fetch invalidates, whoever sent it."""
        uuid = self.latest.pop(fetcher_of(x), NO_SESSION)
        session = self.registry.sessions.get((x.server, uuid))
        if session is not None:
            self._over(session, "replaced", x.response_ns or x.ns, x)
            self.full[x.server, uuid] = x.connection, x.response_ns
            if len(self.full) > REMEMBERED:
                self.full.popitem(last=False)

    def _check_new(self, x: FetchExchange) -> None:
        key = (x.server, x.granted)
        former = self.registry.sessions.get(key) or self.registry.ended.get(key)
        if former is not None:
            text = f"uuid {x.granted} granted again: {former.client_id} on {former.connection} was given it before"
            self.registry.find(x, "session-id-taken", x.granted, text)

    # Incremental fetches.

    def _incremental(self, x: FetchExchange) -> None:
        registry = self.registry
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
            full_checks.error_response(registry, x)
            session.end_error = x.error
            self._over(session, "error", x.response_ns or x.ns)
            return
        incremental_checks.check_request(registry, session, x)
        incremental_checks.check_response(registry, session, x)
        session.charge(x)
        registry.offsets.learn(x)
        session.answered_ns = x.response_ns or x.ns
        session.used_ns = x.ns

    def _session_of(self, x: FetchExchange) -> ObservedSession | None:
        key = (x.server, x.session_id)
        session = self.registry.sessions.get(key)
        if session is not None:
            return session
        ended = self.registry.ended.get(key)
        if ended is not None:
            self._check_ended(ended, x)
            ended.count(x, full=False)
            return None
        # The session is older than the capture, or began in a gap of it.
        self._end_latest(x)
        self.latest[fetcher_of(x)] = x.session_id
        return self.registry.begin_unseen(x)

    def _check_ended(self, ended: ObservedSession, x: FetchExchange) -> None:
        """Check the use of an ended uuid. Until the full fetch was answered, the broker accepted the former uuid."""
        connection, answered_ns = self.full.get((x.server, x.session_id), (x.connection, None))
        if answered_ns is not None and x.ns < answered_ns:
            return
        if connection == x.connection or not ended.since_start:
            incremental_checks.closed_used(self.registry, ended, x)
            return
        text = f"a full fetch of the same fetcher, on {connection}, has made the uuid bad"
        self.registry.find(x, "session-shared", x.session_id, text)
        if x.answered and not x.error:
            self.registry.find(x, "closed-session-answered", x.session_id, f"{text}; the response has no error")

    def _check_request(self, session: ObservedSession, x: FetchExchange) -> None:
        registry = self.registry
        incremental_checks.same_client(registry, session, x)
        incremental_checks.one_under_way(registry, session, x)
        if (x.server, x.session_id) in self.lost:
            text = "continues after a fetch without a response: its session on the broker is unknown"
            registry.find(x, "not-begun-anew", x.session_id, text)
            self.lost.discard((x.server, x.session_id))
            session.blur()
        new = [key for key, _ in x.asked if key not in session.seats] if session.complete else []
        if new:
            text = f"names {counted(len(new), 'partition')} that the full fetch did not"
            registry.find(x, "set-changed", x.session_id, text, new)
            if x.answered and not x.error:
                registry.find(x, "set-accepted", x.session_id, f"{text}, and is answered without an error", new)

    def _over(self, session: ObservedSession, why: str, ns: int, follows: FetchExchange | None = None) -> None:
        self.lost.discard((session.server, session.session_id))
        self.registry.end(session, why, ns, follows)


def fetcher_of(x: FetchExchange) -> Fetcher:
    return x.server, x.replica_id if x.replica_id >= 0 else x.client_id

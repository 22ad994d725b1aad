"""One session as a capture shows it: its partitions on the wire, and what has been counted.

Its memory is that of its partitions: nothing here grows with the number of fetches.
"""

from __future__ import annotations

from kcli.sessions.figures import Latencies, Strip
from kcli.sessions.sizes import FetchSizes, count_bytes, fetch_sizes
from kcli.sessions.trace import TOPIC_IDS_SINCE, Asked, FetchExchange, Key, Told

__all__ = ["Change", "Seat", "Tally", "Watched"]

CHANGES = 256
SILENT = 1000  # names kept of partitions that delivered nothing, once their session is over


class Seat:
    """A partition of a session.

    asked: the fetcher's position as last sent; None while the capture has not shown it
    high, stable, start: what the broker last told (-1: nothing, or an error since); informed: whether that is known
    delivered: records came since the position was sent; ever: at any time; skipped: answers without its records
    answered: the number of the session's fetch that last told of it
    """

    __slots__ = (
        "answered",
        "asked",
        "delivered",
        "ever",
        "high",
        "informed",
        "redirected",
        "skipped",
        "stable",
        "start",
    )

    def __init__(self, asked: Asked | None, informed: bool) -> None:
        self.asked = asked
        self.informed = informed
        self.high = self.stable = self.start = -1
        self.delivered = self.ever = self.redirected = False
        self.skipped = 0
        self.answered = -1

    def is_behind(self, isolation: int) -> bool:
        """Whether the broker has told of records that a consumer with this position may read."""
        if self.asked is None or not self.informed or self.redirected:
            return False
        limit = self.high if isolation == 0 or self.stable > self.high else self.stable
        return self.asked[0] < limit

    def is_news(self, told: Told) -> bool:
        """Whether an incremental response has to say this, after what was told before."""
        error, high, _, start, size, preferred, diverging = told
        return bool(size or error or high != self.high or start != self.start or preferred >= 0 or diverging)

    def tell(self, told: Told, number: int) -> None:
        error, high, stable, start, size, preferred, _ = told
        self.informed = True
        self.high = -1 if error else high
        self.stable = -1 if error else stable
        self.start = start
        self.redirected = preferred >= 0
        self.answered = number
        self.skipped = 0
        if size:
            self.delivered = self.ever = True


class Change:
    """When a session's set of partitions changed (ns), by how many, and how many there were then."""

    __slots__ = ("added", "forgotten", "ns", "partitions")

    def __init__(self, ns: int, added: int, forgotten: int, partitions: int) -> None:
        self.ns, self.added, self.forgotten, self.partitions = ns, added, forgotten, partitions


class Tally:
    """What is counted of fetches, in a session or of a client without one. Bytes as on the wire; 0 where unknown."""

    def __init__(self) -> None:
        self.first_ns = self.last_ns = 0
        self.fetches = self.full = self.empty = self.unanswered = 0
        self.request_bytes = self.response_bytes = self.records_bytes = 0
        self.full_request_bytes = self.full_response_bytes = 0
        self.throttled = self.findings = 0
        self.errors: dict[int, int] = {}
        self.latencies = Latencies()
        self.strip = Strip()

    def count(self, x: FetchExchange, full: bool) -> int:
        """Take in a fetch; gives the bytes of its records."""
        if not self.fetches:
            self.first_ns = x.ns
        self.last_ns = x.response_ns or x.ns
        self.fetches += 1
        self.full += full
        self.request_bytes += x.request_bytes
        if not x.answered:
            self.unanswered += 1
            return 0
        self.response_bytes += x.response_bytes
        size = 0
        for _, told in x.told:
            size += told[4]
            if told[0]:
                self.errors[told[0]] = self.errors.get(told[0], 0) + 1
        if x.error:
            self.errors[x.error] = self.errors.get(x.error, 0) + 1
        elif not size:
            self.empty += 1
        self.records_bytes += size
        self.throttled += x.throttle_ms > 0
        if x.response_ns is not None:
            self.latencies.add(x.response_ns - x.ns)
        self.strip.add(x.ns, x.request_bytes + x.response_bytes, full)
        return size


class Watched(Tally):
    """A session. complete: its whole set of partitions is known, since its beginning was seen and nothing is missing.

    next_epoch: the one its next fetch must have; None when unknown
    behind: partitions of a consumer that have records to come, as far as it was told
    forgotten: partitions dropped and not taken back (only as many as the session ever had)
    first, most, last: how many partitions it had at its beginning, at most, at its end
    silent: partitions that it had at its end and that delivered no records in it
    evictor: the session that took its slot; displaced: the one whose slot it took; 0: none
    successor: (id, ns after the end) of the session that its client had next
    unsure: its last fetch had no answer, so that nobody knows whether it was taken in
    """

    def __init__(self, x: FetchExchange, session_id: int, complete: bool) -> None:
        super().__init__()
        self.server = x.server
        self.session_id = session_id
        self.connection = x.connection
        self.client_id = x.client_id
        self.replica_id = x.replica_id
        self.version = x.version
        self.topic_ids = x.version >= TOPIC_IDS_SINCE
        self.complete = complete
        self.since_start = complete
        self.next_epoch: int | None = None
        self.opened_ns = x.ns
        self.answered_ns = self.granted_ns = self.used_ns = self.quiet_since = 0
        self.seats: dict[Key, Seat] = {}
        self.behind: set[Key] = set()
        self.forgotten: set[Key] = set()
        self.unsure = False
        self.added = self.changed = self.dropped = self.most = self.first = 0
        self.changes: list[Change] = []
        self.end: str | None = None
        self.last = self.silent_count = 0
        self.silent: list[Key] = []
        self.end_error = 0
        self.end_ns = 0
        self.evictor = self.displaced = self.evicted_ns = 0
        self.successor: tuple[int, int] | None = None
        self.sizes: FetchSizes = fetch_sizes(x.version)
        self._topics: dict[str, int] = {}
        self._request_cost = self._response_cost = 0

    @property
    def privileged(self) -> bool:
        return self.replica_id >= 0

    def blur(self) -> None:
        """Something of this session was not seen: forget what can no longer be known for certain."""
        self.complete = self.unsure = False
        self.next_epoch = None
        self.behind.clear()
        self.forgotten.clear()
        for seat in self.seats.values():
            seat.informed = False
            seat.asked = None

    def add(self, key: Key, asked: Asked | None, informed: bool) -> Seat:
        seat = self.seats[key] = Seat(asked, informed)
        self.forgotten.discard(key)
        self._cost(key[0], 1)
        if len(self.seats) > self.most:
            self.most = len(self.seats)
        return seat

    def drop(self, key: Key) -> bool:
        if self.seats.pop(key, None) is None:
            return False
        self.behind.discard(key)
        self.forgotten.add(key)
        self._cost(key[0], -1)
        return True

    def note_change(self, ns: int, added: int, forgotten: int) -> None:
        self.added += added
        self.dropped += forgotten
        self.changes.append(Change(ns, added, forgotten, len(self.seats)))
        if len(self.changes) > CHANGES:
            self.changes = merged(self.changes)

    def finish(self, why: str, ns: int) -> None:
        """The session is over: keep what there is to say about it, and let its partitions go."""
        self.end, self.end_ns = why, ns
        self.last = len(self.seats)
        silent = [key for key, seat in self.seats.items() if not seat.ever]
        self.silent, self.silent_count = silent[:SILENT], len(silent)
        self.seats, self._topics = {}, {}
        self.behind, self.forgotten = set(), set()

    def charge(self, x: FetchExchange) -> None:
        """Count what this fetch would have cost as a full one: its own bytes, and the partitions it did not name."""
        if x.request_bytes:
            self.full_request_bytes += x.request_bytes + self._missing_request(x)
        if x.response_bytes:
            self.full_response_bytes += x.response_bytes + self._missing_response(x)

    def _missing_request(self, x: FetchExchange) -> int:
        side = self.sizes.request
        missing = self._request_cost + count_bytes(len(self._topics), side.flexible) - count_bytes(0, side.flexible)
        if x.asked:
            topics = counts([key for key, _ in x.asked])
            missing -= sum(side.topic_bytes(topic, count) for topic, count in topics.items())
            missing -= count_bytes(len(topics), side.flexible) - count_bytes(0, side.flexible)
        if x.forgotten:
            missing -= self.sizes.forgotten_bytes(counts(x.forgotten))
        return missing

    def _missing_response(self, x: FetchExchange) -> int:
        side = self.sizes.response
        missing = self._response_cost + count_bytes(len(self._topics), side.flexible) - count_bytes(0, side.flexible)
        if x.told:
            topics = counts([key for key, _ in x.told])
            missing -= sum(side.topic_bytes(topic, count) for topic, count in topics.items())
            missing -= count_bytes(len(topics), side.flexible) - count_bytes(0, side.flexible)
        return missing

    def _cost(self, topic: str, more: int) -> None:
        """Keep the price of naming every partition, on both sides, as the set changes."""
        before = self._topics.get(topic, 0)
        after = before + more
        for_request, for_response = self.sizes.request, self.sizes.response
        if before:
            self._request_cost -= for_request.topic_bytes(topic, before)
            self._response_cost -= for_response.topic_bytes(topic, before)
        if after:
            self._topics[topic] = after
            self._request_cost += for_request.topic_bytes(topic, after)
            self._response_cost += for_response.topic_bytes(topic, after)
        else:
            self._topics.pop(topic, None)


def counts(keys: list[Key]) -> dict[str, int]:
    """How many partitions of each topic."""
    topics: dict[str, int] = {}
    for topic, _ in keys:
        topics[topic] = topics.get(topic, 0) + 1
    return topics


def merged(changes: list[Change]) -> list[Change]:
    """Neighbours as one, so that a session that changes all the time is still told in bounded memory."""
    made = []
    for first, second in zip(changes[::2], [*changes[1::2], None], strict=False):
        if second is None:
            made.append(first)
        else:
            made.append(
                Change(first.ns, first.added + second.added, first.forgotten + second.forgotten, second.partitions)
            )
    return made

"""The third draft of KIP-227: incremental fetches by an RPC of their own, both sides, as machines without sockets.

Its differences from the final design, and why it was given up:

* The session has no id and no epoch. A full fetch registers the partitions of its replica, and its response carries a
  random 64-bit UUID; incremental fetches name it. Only the UUID of the *latest* full response to a replica is good, so
  a full fetch that comes late, or from a client that claims that replica id, invalidates the other side's UUID, which
  is noticed at the next fetch, and a full fetch follows. It must come from a cryptographic source: a client that
  guesses it could move another's positions.
* There is no word for dropping or adding a partition: another set of partitions takes a full fetch.
* Nothing counts the incremental fetches. A repeated one is processed twice, and its second response is never read.
  So a client must never send one twice, and begins again with a full fetch whenever it does not know whether a request
  arrived. On one connection TCP ensures this; fetches in flight on an older connection carry an older UUID.
* Consumers share replica id -1, so "latest for that replica" would have them shut each other out: kcli's broker keeps
  consumers apart by client id, which the request's header brings.
"""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kcli.sessions.draft_exchange import UUID_MISMATCH
from kcli.sessions.rules import RULES, Reported
from kcli.sessions.values import Partition, Position, Result

NO_UUID = 0


@dataclass(slots=True, frozen=True)
class DraftRequest:
    """A FetchRequest (uuid None: full, with every partition) or an IncrementalFetchRequest with the partitions that
    moved.
    """

    uuid: int | None
    replica_id: int
    partitions: Mapping[Partition, Position] = field(default_factory=dict)
    client_id: str = ""

    @property
    def fetcher(self) -> int | str:
        """The replica id or client id that the latest UUID belongs to."""
        return self.replica_id if self.replica_id >= 0 else self.client_id


@dataclass(slots=True, frozen=True)
class DraftResponse:
    """The response to a DraftRequest. uuid: the session's."""

    error: int = 0
    uuid: int = NO_UUID
    partitions: Mapping[Partition, Result] = field(default_factory=dict)


def new_uuid() -> int:
    """Return a random int64 other than 0, from the system's cryptographic source."""
    while True:
        uuid = secrets.randbits(64) - 2**63
        if uuid != NO_UUID:
            return uuid


class DraftClient:
    """The fetcher's side. It has one request at a time, whose cost grows with the changes, except for a full fetch."""

    def __init__(self, *, replica_id: int = -1, client_id: str = "") -> None:
        self.replica_id, self.client_id = replica_id, client_id
        self.uuid: int | None = None
        self.partitions: dict[Partition, Position] = {}
        self._known: dict[Partition, Position] = {}
        self._moved: dict[Partition, None] = {}
        self._pending: DraftRequest | None = None

    def want(self, partition: Partition, position: Position) -> None:
        """Fetch a partition from this position on, with the next request."""
        self.partitions[partition] = position
        known = self._known.get(partition)
        if known is None:
            self.uuid = None
        elif known == position:
            self._moved.pop(partition, None)
        else:
            self._moved[partition] = None

    def forget(self, partition: Partition) -> None:
        """Stop fetching a partition. The next request is a full one."""
        if self.partitions.pop(partition, None) is not None:
            self.uuid = None

    def build(self) -> DraftRequest:
        """Return the next request. Raises RuntimeError while another one has no response."""
        if self._pending is not None:
            raise RuntimeError("draft fetch session: a request is under way already")
        if self.uuid is None:
            self._known = dict(self.partitions)
            partitions = dict(self.partitions)
        else:
            partitions = {partition: self.partitions[partition] for partition in self._moved}
            self._known.update(partitions)
        self._moved = {}
        self._pending = DraftRequest(self.uuid, self.replica_id, partitions, self.client_id)
        return self._pending

    def accept(self, request: DraftRequest, response: DraftResponse) -> bool:
        """Return whether the response may be processed. If not, the next request is a full fetch."""
        if request is not self._pending:
            return False
        self._pending = None
        if not self._good(request, response):
            self.uuid = None
            return False
        if request.uuid is None:
            # Partitions added or dropped meanwhile are not in the set of this UUID.
            same = self._known.keys() == self.partitions.keys()
            self.uuid = response.uuid if same and response.uuid != NO_UUID else None
        return True

    def lose(self, request: DraftRequest) -> None:
        """Drop the session. Without a response it is not known whether the broker moved the positions, so that
        everything is sent again.
        """
        if request is self._pending:
            self._pending = None
            self.uuid = None

    def _good(self, request: DraftRequest, response: DraftResponse) -> bool:
        if response.error:
            return False
        if request.uuid is None:
            return response.partitions.keys() == request.partitions.keys()
        return response.uuid == request.uuid and all(partition in self._known for partition in response.partitions)


@dataclass(slots=True)
class Registered:
    """The state of one fetcher at a broker. due: partitions that may have changed."""

    uuid: int
    positions: dict[Partition, Position]
    reported: dict[Partition, Reported]
    due: set[Partition]


class DraftBroker:
    """The leader's side: the latest UUID of each fetcher, and its partitions."""

    def __init__(self) -> None:
        self._fetchers: dict[int | str, Registered] = {}
        self._interest: dict[Partition, set[int | str]] = {}

    def mark(self, partition: Partition) -> Iterable[int | str]:
        """Note that this partition changed. Returns the fetchers that follow it."""
        fetchers = tuple(self._interest.get(partition, ()))
        for fetcher in fetchers:
            self._fetchers[fetcher].due.add(partition)
        return fetchers

    def mark_for(self, request: DraftRequest, partition: Partition) -> None:
        """Note that this partition changed, only for the fetcher of one request."""
        known = self._fetchers.get(request.fetcher)
        if known is not None and partition in known.positions:
            known.due.add(partition)

    def begin(self, request: DraftRequest) -> int:
        """Process a request. Returns an error code, 0 if the request may be answered."""
        if request.uuid is None:
            return 0
        known = self._fetchers.get(request.fetcher)
        if known is None or known.uuid != request.uuid or not request.partitions.keys() <= known.positions.keys():
            return UUID_MISMATCH
        known.positions.update(request.partitions)
        known.due.update(request.partitions)
        return 0

    def candidates(self, request: DraftRequest) -> Iterable[tuple[Partition, Position]]:
        """Return (partition, position) of those to read for a request that `begin` has accepted."""
        if request.uuid is None:
            return request.partitions.items()
        known = self._fetchers[request.fetcher]
        return [(partition, known.positions[partition]) for partition in known.due]

    def answer(self, request: DraftRequest, results: Mapping[Partition, Result], error: int = 0) -> DraftResponse:
        """Return the response. That to a full fetch has a new UUID, which replaces the fetcher's former one."""
        if request.uuid is None:
            return DraftResponse(0, self._register(request, results), dict(results))
        known = self._fetchers.get(request.fetcher)
        if error or known is None or known.uuid != request.uuid:
            return DraftResponse(error or UUID_MISMATCH)
        news = {partition: result for partition, result in results.items() if self._report(known, partition, result)}
        return DraftResponse(0, known.uuid, news)

    def _register(self, request: DraftRequest, results: Mapping[Partition, Result]) -> int:
        former = self._fetchers.pop(request.fetcher, None)
        for partition in former.positions if former else ():
            self._interest[partition].discard(request.fetcher)
        known = Registered(new_uuid(), dict(request.partitions), {}, set())
        for partition, result in results.items():
            self._report(known, partition, result)
            self._interest.setdefault(partition, set()).add(request.fetcher)
        self._fetchers[request.fetcher] = known
        return known.uuid

    def _report(self, known: Registered, partition: Partition, result: Result) -> bool:
        reported = known.reported.setdefault(partition, Reported(-1, -1))
        news = bool(RULES.reasons(reported, result))
        reported.high_watermark = -1 if result.error else result.high_watermark
        reported.log_start_offset = result.log_start_offset
        if result.records_size or result.error or result.more:
            known.due.add(partition)
        else:
            known.due.discard(partition)
        return news

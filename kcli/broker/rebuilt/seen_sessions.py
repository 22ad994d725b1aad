"""The fetch sessions in a capture: the capacity of each broker's session cache, and its number of shards."""

from __future__ import annotations

from collections.abc import Iterable

from kcli.broker.rebuilt.addresses import Addresses
from kcli.broker.rebuilt.session_capacity import FetchKey, SessionCapacity
from kcli.capture.kafka.exchange import Exchange
from kcli.schemas.apikeys import API_VERSIONS, FETCH
from kcli.sessions.epochs import SHARDS
from kcli.sessions.trace import SESSIONS_SINCE

# The cache has shards since Kafka 3.8. Fetch v17 is newer than that; brokers with v16 may have shards or not.
SHARDED_SINCE, PERHAPS_SHARDED = 17, 16


class SeenSessions:
    """The sessions. by_server: the capacity by address; after `settle` all addresses of a broker have the same one.

    shards: of each broker's cache. newest_fetch: the newest Fetch version of a broker in the capture, -1 if unknown.
    """

    def __init__(self) -> None:
        self.by_server: dict[str, SessionCapacity] = {}
        self.shards = SHARDS
        self.newest_fetch = -1

    @property
    def slots(self) -> int | None:
        """The number of fetch session slots of a broker; None if they never ran out."""
        return max((each.slots for each in self.by_server.values() if each.slots is not None), default=None)

    def take(self, item: Exchange) -> None:
        """Add an exchange with a request and a response."""
        request, response = item.request, item.response
        assert request is not None and response is not None
        if item.api_key == API_VERSIONS:
            ranges = {row["apiKey"]: row["maxVersion"] for row in response["apiKeys"]}
            self.newest_fetch = max(self.newest_fetch, ranges.get(FETCH, -1))
        elif item.api_key == FETCH and item.api_version >= SESSIONS_SINCE and "sessionId" in request:
            self.newest_fetch = max(self.newest_fetch, item.api_version)
            capacity = self.by_server.setdefault(item.link.server, SessionCapacity())
            capacity.take(exchange_key(item), item.response_ns or item.request_ns, request, response)

    def settle(self, addresses: Addresses) -> None:
        """Merge the capacities of one broker's addresses, and find the number of shards."""
        addresses.assign(self.by_server)
        alone = next(iter(addresses.nodes)) if len(addresses.nodes) == 1 else None
        by_node: dict[int | None, SessionCapacity] = {}
        for server, each in sorted(self.by_server.items()):
            first = by_node.setdefault(addresses.node(server) if alone is None else alone, each)
            if first is not each:
                first.merge(each)
                self.by_server[server] = first
        self.shards = shards_of(self.newest_fetch, by_node.values())
        for each in by_node.values():
            each.shards = self.shards


def exchange_key(item: Exchange) -> FetchKey:
    """Return the FetchKey of an exchange."""
    return FetchKey(item.connection, item.correlation_id, item.request_ns)


def shards_of(newest_fetch: int, brokers: Iterable[SessionCapacity]) -> int:
    """Return the number of shards of a session cache. newest_fetch: the newest Fetch version of a broker, -1 if
    unknown.
    """
    if newest_fetch >= SHARDED_SINCE or newest_fetch < 0:
        return SHARDS
    if newest_fetch < PERHAPS_SHARDED:
        return 1
    steps = [step for each in brokers for step in each.shard_steps()]
    return SHARDS if steps.count(1) * 2 >= len(steps) else 1

"""The current leader of a partition, in answers to clients that asked another broker (KIP-951)."""

from __future__ import annotations

from typing import Any

from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.schemas.apikeys import FETCH, PRODUCE
from kcli.schemas.errors import error_code

HINTED = frozenset([error_code("NOT_LEADER_OR_FOLLOWER"), error_code("FENCED_LEADER_EPOCH")])
# The first version that has them.
SINCE = {PRODUCE: 10, FETCH: 16}


class Hints:
    """The leaders named in one response, and the endpoints of their brokers, each once."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.wanted = request.version >= SINCE.get(request.api.key, 1 << 15) and request.services.hints
        self.leaders: set[int] = set()

    def about(self, partition: Partition, code: int) -> dict[str, Any]:
        """Return the leader for a partition's row; nothing for other errors, or when no broker leads it."""
        if not self.wanted or code not in HINTED or partition.leader < 0:
            return {}
        self.leaders.add(partition.leader)
        return {"currentLeader": partition.current_leader}

    def endpoints(self) -> dict[str, Any]:
        """Return the endpoints of the leaders named in the response."""
        if not self.leaders:
            return {}
        rows = self.request.endpoints()
        return {"nodeEndpoints": [each for each in rows if each["nodeId"] in self.leaders]}

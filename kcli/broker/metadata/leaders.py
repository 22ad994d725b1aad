"""The current leader of a partition in error responses of a broker that is not the leader (KIP-951)."""

from typing import Any

from kcli.broker.partition import Partition
from kcli.broker.request import Request
from kcli.schemas.apikeys import FETCH, PRODUCE
from kcli.schemas.errors import error_code

HINTED = frozenset([error_code("NOT_LEADER_OR_FOLLOWER"), error_code("FENCED_LEADER_EPOCH")])
# The first versions whose responses have the leader's fields.
SINCE = {PRODUCE: 10, FETCH: 16}


class Hints:
    """The leaders in one response, with the endpoints of their brokers."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.wanted = request.version >= SINCE.get(request.api.key, 1 << 15) and request.services.hints
        self.leaders: set[int] = set()

    def about(self, partition: Partition, code: int) -> dict[str, Any]:
        """Return the field with the leader for a partition's row; {} for other errors, or if there is no leader."""
        if not self.wanted or code not in HINTED or partition.leader < 0:
            return {}
        self.leaders.add(partition.leader)
        return {"currentLeader": partition.current_leader}

    def endpoints(self) -> dict[str, Any]:
        """Return the field with the endpoints of the leaders in the response; {} if there are none."""
        if not self.leaders:
            return {}
        rows = self.request.endpoints()
        return {"nodeEndpoints": [each for each in rows if each["nodeId"] in self.leaders]}

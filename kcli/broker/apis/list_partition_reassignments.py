"""ListPartitionReassignments v0 (KIP-455): there are none, since each is done at once."""

from __future__ import annotations

from typing import Any

from kcli.broker.registry import handles
from kcli.broker.request import Request
from kcli.schemas.apikeys import LIST_PARTITION_REASSIGNMENTS


@handles(LIST_PARTITION_REASSIGNMENTS, 0, 0)
def handle(request: Request) -> dict[str, Any]:
    return {"errorCode": request.fault(), "errorMessage": None, "topics": []}

"""ListPartitionReassignments v0 (KIP-455): none, since each reassignment is done at once."""

from typing import Any

from kcli.broker.request import Request


def handle(request: Request) -> dict[str, Any]:
    return {"errorCode": request.fault(), "errorMessage": None, "topics": []}

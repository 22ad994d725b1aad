"""ListPartitionReassignments v0 (KIP-455): there are none, since each is done at once."""

from __future__ import annotations

from typing import Any

from kcli.broker.calls import Call


def handle(call: Call) -> dict[str, Any]:
    return {"errorCode": call.fault(), "errorMessage": None, "topics": []}

"""FindCoordinator v0-v6 (KIP-699 batches from v4 on): groups (key type 0) and transactions (1), all on the first node.

Share groups (2, KIP-932) have no coordinator here: INVALID_REQUEST.
"""

from __future__ import annotations

from typing import Any

from kcli.broker.calls import Call
from kcli.broker.codes import error_code

BATCHES_SINCE = 4
GROUP, TRANSACTION = 0, 1


def handle(call: Call) -> dict[str, Any]:
    if call.version >= BATCHES_SINCE:
        return {"coordinators": [row(call, key) | {"key": key} for key in call.body["coordinatorKeys"]]}
    return row(call, call.body["key"])


def row(call: Call, key: str) -> dict[str, Any]:
    kind = call.body.get("keyType", GROUP)
    if code := call.fault() or check(key, kind):
        return {"errorCode": code, "errorMessage": None, "nodeId": -1, "host": "", "port": -1}
    node = next(each for each in call.broker.endpoints(call) if each["nodeId"] == call.broker.controller_id)
    found = {name: node[name] for name in ("nodeId", "host", "port")}
    return {"errorCode": 0, "errorMessage": None} | found


def check(key: str, kind: int) -> int:
    if kind not in (GROUP, TRANSACTION):
        return error_code("INVALID_REQUEST")
    return 0

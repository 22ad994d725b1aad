"""UnregisterBroker v0 (KIP-631): a stopped node is unregistered until it starts again; a running node registers again
at once.
"""

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    node_id = request.body["brokerId"]
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None}
    if node_id not in request.controller.registered:
        message = f"Broker ID {node_id} is not currently registered"
        return {"errorCode": error_code("BROKER_ID_NOT_REGISTERED"), "errorMessage": message}
    request.controller.unregister(node_id)
    return {"errorCode": 0, "errorMessage": None}

"""DescribeCluster v0-v2 (KIP-700, KIP-919, KIP-1073): the brokers. MISMATCHED_ENDPOINT_TYPE for controllers."""

from typing import Any

from kcli.broker.operations import allowed
from kcli.broker.request import Request
from kcli.schemas.acl_codes import Resource
from kcli.schemas.errors import error_code

BROKERS, CONTROLLERS = 1, 2


def handle(request: Request) -> dict[str, Any]:
    kind = request.body.get("endpointType", BROKERS)
    code, message = request.fault(), None
    if not code and kind == CONTROLLERS:
        code, message = error_code("MISMATCHED_ENDPOINT_TYPE"), "a broker is asked for the endpoints of controllers"
    elif not code and kind != BROKERS:
        code, message = error_code("UNSUPPORTED_ENDPOINT_TYPE"), f"Unsupported endpoint type {kind}"
    if code:
        return {"errorCode": code, "errorMessage": message, "clusterId": "", "controllerId": -1, "brokers": []}
    rows = [
        {"brokerId": each["nodeId"], "host": each["host"], "port": each["port"], "rack": each["rack"]}
        for each in request.endpoints()
    ]
    return {
        "errorCode": 0,
        "errorMessage": None,
        "endpointType": kind,
        "clusterId": request.services.cluster_id,
        "controllerId": request.controller.id,
        "brokers": rows,
        "clusterAuthorizedOperations": allowed(request, "includeClusterAuthorizedOperations", Resource.CLUSTER),
    }

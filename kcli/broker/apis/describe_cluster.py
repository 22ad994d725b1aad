"""DescribeCluster v0-v2 (KIP-700, KIP-919, KIP-1073): brokers; controllers are not reached by clients here."""

from __future__ import annotations

from typing import Any

from kcli.broker.calls import Call
from kcli.broker.codes import error_code

BROKERS = 1


def handle(call: Call) -> dict[str, Any]:
    kind = call.body.get("endpointType", BROKERS)
    code = call.fault()
    if not code and kind != BROKERS:
        code = error_code("MISMATCHED_ENDPOINT_TYPE")
    rows = [
        {"brokerId": each["nodeId"], "host": each["host"], "port": each["port"], "rack": each["rack"]}
        for each in call.broker.endpoints(call)
    ]
    return {
        "errorCode": code,
        "errorMessage": None,
        "endpointType": kind,
        "clusterId": call.broker.cluster_id,
        "controllerId": call.broker.controller_id,
        "brokers": [] if code else rows,
    }

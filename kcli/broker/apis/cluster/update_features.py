"""UpdateFeatures v0-v2 (KIP-584): all updates of a request are applied, or none; the response has the first error.
Lower levels of transaction.version or group.version switch nothing off here: clients that respect the levels don't use
what they lack.
"""

from typing import Any

from kcli.broker.metadata.features import SAFE_DOWNGRADE, UPGRADE, supported_by, update_fault
from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    body, metadata = request.body, request.metadata
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "results": []}
    supported, wanted = supported_by(request.services.release), dict[str, int]()
    for each in body["featureUpdates"]:
        kind = each.get("upgradeType", SAFE_DOWNGRADE if each.get("allowDowngrade") else UPGRADE)
        name, level = each["feature"], each["maxVersionLevel"]
        if fault := update_fault(supported, metadata.features, name, level, kind):
            message = f"The update failed for all features since the following feature had an error: {fault}"
            return {"errorCode": error_code("INVALID_UPDATE_VERSION"), "errorMessage": message, "results": []}
        wanted[name] = level
    if not body.get("validateOnly"):
        metadata.finalize({name: level for name, level in wanted.items() if metadata.features.get(name, 0) != level})
        request.controller.keep_min_in_sync()
    rows = [{"feature": name, "errorCode": 0, "errorMessage": None} for name in wanted]
    return {"errorCode": 0, "errorMessage": None, "results": rows}

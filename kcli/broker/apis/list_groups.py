"""ListGroups v0-v5 (KIP-518 states from v4, KIP-848 types from v5; every group here is of the classic type)."""

from __future__ import annotations

from typing import Any

from kcli.broker.request import Request

CLASSIC = "classic"


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "groups": []}
    # Each node lists the groups that it coordinates.
    states = {each.lower() for each in request.body.get("statesFilter", ())}
    types = {each.lower() for each in request.body.get("typesFilter", ())}
    rows = [
        {
            "groupId": each.id,
            "protocolType": each.protocol_type,
            "groupState": each.state.value,
            "groupType": CLASSIC,
        }
        for each in request.groups
        if not request.group_refusal(each.id)
        and (not states or each.state.value.lower() in states)
        and (not types or CLASSIC in types)
    ]
    return {"errorCode": 0, "groups": rows}

"""ListGroups v0-v5 (KIP-518 states from v4, KIP-848 types from v5)."""

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.acl_codes import Operation, Resource


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "groups": []}
    # Each node lists the groups that it coordinates.
    states = {each.lower() for each in request.body.get("statesFilter", ())}
    everything = request.may(Operation.DESCRIBE)
    types = {each.lower() for each in request.body.get("typesFilter", ())}
    rows = [
        {
            "groupId": each.id,
            "protocolType": each.protocol_type,
            "groupState": each.state.value,
            "groupType": each.type,
        }
        for each in request.groups
        if request.services.coordinators.group_refusal(request.node.id, each.id) == 0
        and (everything or not request.denial(Resource.GROUP, each.id))
        and (not states or each.state.value.lower() in states)
        and (not types or each.type in types)
    ]
    return {"errorCode": 0, "groups": rows}

"""DescribeAcls v0-v3 (KIP-140, KIP-290 patterns from v1 on)."""

from collections.abc import Mapping
from typing import Any

from kcli.broker.apis.security.create_acls import DISABLED
from kcli.broker.request import Request
from kcli.broker.response import HangUpError
from kcli.broker.security.acls import AclFilter, by_resource, has_unknown
from kcli.broker.security.security_state import resource_row, rule_row
from kcli.schemas.acl_codes import Pattern


def handle(request: Request) -> dict[str, Any]:
    wanted = filter_of(request.body)
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "resources": []}
    if request.services.security.authorizer is None:
        message = "No Authorizer is configured on the broker"
        return {**DISABLED, "errorMessage": message, "resources": []}
    found = [each for each in request.metadata.security.acls.values() if wanted.matches(each)]
    rows = [resource_row(*place) | {"acls": list(map(rule_row, acls))} for place, acls in by_resource(found)]
    return {"errorCode": 0, "errorMessage": None, "resources": rows}


def filter_of(row: Mapping[str, Any]) -> AclFilter:
    """Make a filter from its row in a request; one with a number that Kafka does not know matches nothing.

    Raises HangUpError if a number is 0.
    """
    place = row["resourceTypeFilter"], row["resourceNameFilter"], row.get("patternTypeFilter", Pattern.LITERAL)
    principal_filter, effect = (row["principalFilter"], row["hostFilter"]), (row["operation"], row["permissionType"])
    if has_unknown(place[0], place[2], *effect):
        raise HangUpError("a filter of ACLs with an unknown type, pattern, operation or permission")
    return AclFilter(*place, *principal_filter, *effect)

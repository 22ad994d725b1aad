"""DeleteAcls v0-v3 (KIP-140, KIP-290 patterns from v1 on): it deletes all ACLs that match a filter."""

from typing import Any

from kcli.broker.apis.security.create_acls import DISABLED
from kcli.broker.apis.security.describe_acls import filter_of
from kcli.broker.request import Request
from kcli.broker.security.acls import AclFilter
from kcli.broker.security.security_state import resource_row, rule_row
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    return {"filterResults": [result(request, each) for each in map(filter_of, request.body["filters"])]}


def result(request: Request, wanted: AclFilter) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "matchingAcls": []}
    if request.services.security.authorizer is None:
        return DISABLED | {"matchingAcls": []}
    if not wanted.is_known:
        message = "The AclBindingFilter must not contain UNKNOWN elements."
        return {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": message, "matchingAcls": []}
    found = {acl_id: each for acl_id, each in request.metadata.security.acls.items() if wanted.matches(each)}
    request.metadata.secure(("RemoveAccessControlEntryRecord", 0, {"id": each}) for each in found)
    none = {"errorCode": 0, "errorMessage": None}
    return none | {"matchingAcls": [none | resource_row(*each[:3]) | rule_row(each) for each in found.values()]}

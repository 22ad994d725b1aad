"""DeleteAcls v0-v3 (KIP-140, KIP-290 patterns from v1 on): all that a filter takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.apis.create_acls import DISABLED
from kcli.broker.apis.describe_acls import filter_fault, filter_of, resource_row, row
from kcli.broker.codes import error_code
from kcli.broker.request import Request


def handle(request: Request) -> dict[str, Any]:
    return {"filterResults": [result(request, each) for each in request.body["filters"]]}


def result(request: Request, asked: Mapping[str, Any]) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "matchingAcls": []}
    if request.services.security.authorizer is None:
        return DISABLED | {"matchingAcls": []}
    wanted = filter_of(asked)
    if fault := filter_fault(wanted):
        return {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": fault, "matchingAcls": []}
    found = {acl_id: each for acl_id, each in request.metadata.security.acls.items() if wanted.takes(each)}
    request.metadata.secure(("RemoveAccessControlEntryRecord", 0, {"id": each}) for each in found)
    none = {"errorCode": 0, "errorMessage": None}
    return none | {"matchingAcls": [none | resource_row(*each[:3]) | row(each) for each in found.values()]}

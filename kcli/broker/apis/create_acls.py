"""CreateAcls v0-v3 (KIP-140, KIP-290 patterns from v1 on); one that is there already is made again for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.metadata.topics import new_topic_id
from kcli.broker.request import Request
from kcli.broker.security.acls import Acl, Pattern, acl_fault
from kcli.broker.security.state import acl_record

DISABLED = {"errorCode": error_code("SECURITY_DISABLED"), "errorMessage": "No Authorizer is configured."}


def handle(request: Request) -> dict[str, Any]:
    return {"results": [result(request, each) for each in request.body["creations"]]}


def result(request: Request, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None}
    if request.services.security.authorizer is None:
        return DISABLED
    place = wanted["resourceType"], wanted["resourceName"], wanted.get("resourcePatternType", Pattern.LITERAL)
    acl = Acl(*place, wanted["principal"], wanted["host"], wanted["operation"], wanted["permissionType"])
    if fault := acl_fault(acl):
        return {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": fault}
    if acl not in request.metadata.security.acls.values():
        request.metadata.secure([acl_record(new_topic_id(), acl)])
    return {"errorCode": 0, "errorMessage": None}

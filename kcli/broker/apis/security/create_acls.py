"""CreateAcls v0-v3 (KIP-140, KIP-290 patterns from v1 on); an ACL that exists already is no error and changes nothing.

As in Kafka 4.4, a type, pattern, operation or permission of 0 closes the connection, and a value that is only for
filters fails the whole request.
"""

from collections.abc import Mapping
from typing import Any

from kcli.broker.metadata.topics import new_topic_id
from kcli.broker.request import Request
from kcli.broker.response import HangUpError
from kcli.broker.security.acls import Acl, acl_fault, has_unknown, is_concrete
from kcli.broker.security.security_state import acl_record
from kcli.schemas.acl_codes import Pattern
from kcli.schemas.errors import error_code

DISABLED = {"errorCode": error_code("SECURITY_DISABLED"), "errorMessage": "No Authorizer is configured."}


def handle(request: Request) -> dict[str, Any]:
    acls = [acl_of(each) for each in request.body["creations"]]
    if any(has_unknown(each.kind, each.pattern, each.operation, each.permission) for each in acls):
        raise HangUpError("CreateAcls with an unknown type, pattern, operation or permission")
    if request.services.security.authorizer is not None and not all(map(is_concrete, acls)):
        message = "The server experienced an unexpected error when processing the request."
        return {"results": [{"errorCode": error_code("UNKNOWN_SERVER_ERROR"), "errorMessage": message} for _ in acls]}
    return {"results": [result(request, each) for each in acls]}


def acl_of(wanted: Mapping[str, Any]) -> Acl:
    place = wanted["resourceType"], wanted["resourceName"], wanted.get("resourcePatternType", Pattern.LITERAL)
    return Acl(*place, wanted["principal"], wanted["host"], wanted["operation"], wanted["permissionType"])


def result(request: Request, acl: Acl) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None}
    if request.services.security.authorizer is None:
        return DISABLED
    if fault := acl_fault(acl):
        return {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": fault}
    if acl not in request.metadata.security.acls.values():
        request.metadata.secure([acl_record(new_topic_id(), acl)])
    return {"errorCode": 0, "errorMessage": None}

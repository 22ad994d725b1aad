"""DescribeAcls v0-v3 (KIP-140, KIP-290 patterns from v1 on)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.broker.apis.create_acls import DISABLED
from kcli.broker.codes import error_code
from kcli.broker.request import Request
from kcli.broker.security.acls import Acl, AclFilter, Operation, Pattern, Permission, Resource, by_resource


def handle(request: Request) -> dict[str, Any]:
    wanted = filter_of(request.body)
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "resources": []}
    if request.services.security.authorizer is None:
        return DISABLED | {"resources": []}
    if fault := filter_fault(wanted):
        return {"errorCode": error_code("INVALID_REQUEST"), "errorMessage": fault, "resources": []}
    found = [each for each in request.metadata.security.acls.values() if wanted.takes(each)]
    rows = [resource_row(*place) | {"acls": list(map(row, acls))} for place, acls in by_resource(found)]
    return {"errorCode": 0, "errorMessage": None, "resources": rows}


def filter_of(asked: Mapping[str, Any]) -> AclFilter:
    """Make a filter of its row in a request."""
    place = asked["resourceTypeFilter"], asked["resourceNameFilter"], asked.get("patternTypeFilter", Pattern.LITERAL)
    who = asked["principalFilter"], asked["hostFilter"]
    return AclFilter(*place, *who, asked["operation"], asked["permissionType"])


def filter_fault(wanted: AclFilter) -> str:
    """Say what a filter has that means nothing, "" where all does."""
    numbers = (wanted.kind, Resource), (wanted.pattern, Pattern), (wanted.operation, Operation)
    for number, known in (*numbers, (wanted.permission, Permission)):
        if number == 0 or number not in list(known):
            return "The AclBindingFilter must not contain UNKNOWN elements."
    return ""


def resource_row(kind: int, name: str, pattern: int) -> dict[str, Any]:
    """Make the row of a resource that ACLs are about."""
    return {"resourceType": kind, "resourceName": name, "patternType": pattern}


def row(acl: Acl) -> dict[str, Any]:
    """Make the row of an ACL beside those of its resource."""
    who = {"principal": acl.principal, "host": acl.host}
    return who | {"operation": acl.operation, "permissionType": acl.permission}

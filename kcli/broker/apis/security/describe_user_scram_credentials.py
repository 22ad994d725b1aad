"""DescribeUserScramCredentials v0 (KIP-554): the mechanisms and iterations of the named users, or of all users."""

from collections import Counter
from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "results": []}
    known = request.metadata.security.scram
    named = Counter(each["name"] for each in request.body["users"] or ())
    names = dict.fromkeys(named or (user for user, _ in known))
    return {"errorCode": 0, "errorMessage": "", "results": [row(request, each, named[each]) for each in names]}


def row(request: Request, user: str, times: int) -> dict[str, Any]:
    made = {"user": user, "errorCode": 0, "errorMessage": None, "credentialInfos": []}
    if times > 1:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return made | {"errorCode": error_code("DUPLICATE_RESOURCE"), "errorMessage": message}
    known = request.metadata.security.scram
    found = sorted((kind, each.iterations) for (name, kind), each in known.items() if name == user)
    if not found:
        message = f"Attempt to describe a user credential that does not exist: {user}"
        return made | {"errorCode": error_code("RESOURCE_NOT_FOUND"), "errorMessage": message}
    return made | {"credentialInfos": [{"mechanism": kind, "iterations": count} for kind, count in found]}

"""CreateDelegationToken v1-v3, RenewDelegationToken v1-v2, ExpireDelegationToken v1-v2, DescribeDelegationToken v1-v3.

Tokens (KIP-48) are refused as by a broker without delegation.token.secret.key; first of all on connections that do not
authenticate the client.
"""

from typing import Any

from kcli.broker.request import Request
from kcli.broker.security.acls import ANONYMOUS
from kcli.schemas.errors import error_code


def handle_create(request: Request) -> dict[str, Any]:
    kind, _, name = request.client.principal.partition(":")
    times = dict.fromkeys(("issueTimestampMs", "expiryTimestampMs", "maxTimestampMs"), -1)
    owner = {"principalType": kind, "principalName": name}
    asking = {"tokenRequesterPrincipalType": kind, "tokenRequesterPrincipalName": name}
    return {"errorCode": refusal(request), **owner, **asking, **times, "tokenId": "", "hmac": b""}


def handle_change(request: Request) -> dict[str, Any]:
    return {"errorCode": refusal(request), "expiryTimestampMs": -1}


def handle_describe(request: Request) -> dict[str, Any]:
    return {"errorCode": refusal(request), "tokens": []}


def refusal(request: Request) -> int:
    """Return the error code for a client that wants tokens."""
    known = request.client.principal != ANONYMOUS  # by a login, or by a certificate
    name = "DELEGATION_TOKEN_AUTH_DISABLED" if known else "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"
    return request.fault() or error_code(name)

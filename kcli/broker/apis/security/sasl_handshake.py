"""SaslHandshake v0-v1 (KIP-43, KIP-152): it chooses the SASL mechanism of a login or reauthentication (KIP-368)."""

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    login = request.client.login
    if login is None:
        return {"errorCode": error_code("ILLEGAL_SASL_STATE"), "mechanisms": []}
    code = request.fault() or login.handshake(request.body["mechanism"], request.version)
    return {"errorCode": code, "mechanisms": list(login.logins.names)}

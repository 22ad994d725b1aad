"""SaslAuthenticate v0-v2 (KIP-152, KIP-368 lifetimes from v1 on): one message of the SASL mechanism."""

from typing import Any

from kcli.broker.request import Request
from kcli.schemas.errors import error_code


def handle(request: Request) -> dict[str, Any]:
    login = request.client.login
    if code := request.fault():
        return {"errorCode": code, "errorMessage": None, "authBytes": b""}
    if login is None:
        message = "SaslAuthenticate request received after successful authentication"
        return {"errorCode": error_code("ILLEGAL_SASL_STATE"), "errorMessage": message, "authBytes": b""}
    step = login.step(request.body["authBytes"], request.version)
    row = {"errorCode": step.error, "errorMessage": step.text, "authBytes": step.answer}
    return row | {"sessionLifetimeMs": step.lifetime_ms}

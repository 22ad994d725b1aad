"""SaslAuthenticate v0-v2 (KIP-152, KIP-368 lifetimes from v1 on): a message of the login's mechanism."""

from __future__ import annotations

from typing import Any

from kcli.broker.codes import error_code
from kcli.broker.request import Request


def handle(request: Request) -> dict[str, Any]:
    login = request.client.login
    code = request.fault() or (error_code("ILLEGAL_SASL_STATE") if login is None else 0)
    if code or login is None:
        said = "SaslAuthenticate request received after successful authentication" if not request.fault() else None
        return {"errorCode": code, "errorMessage": said, "authBytes": b""}
    step = login.step(request.body["authBytes"], request.version)
    row = {"errorCode": step.error, "errorMessage": step.text, "authBytes": step.answer}
    return row | {"sessionLifetimeMs": step.lifetime_ms}

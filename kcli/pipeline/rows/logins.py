"""The logins of connections.

SaslAuthenticate contains the login (KIP-152). A message of PLAIN has name and password together, so it is a credential:
its name is shown only where secrets are. A message of SCRAM has the name alone. OAUTHBEARER refuses a token in a
message without an error code, which the client has to confirm before it gets one (RFC 7628, 3.2.3); some clients never
do.
"""

import json
import re
from contextlib import suppress
from typing import Any

from kcli.capture.kafka.exchange import Exchange
from kcli.schemas.apikeys import SASL_HANDSHAKE
from kcli.schemas.errors import error_code, error_name

SASL_AUTHENTICATION_FAILED = error_code("SASL_AUTHENTICATION_FAILED")
LONGEST = 4096  # bytes of the longest message that can refuse a token
CONFIRMED = b"\1"  # the client's confirmation of it
REFUSED = ""  # instead of a name: the user before is logged out, and the new one is unknown
SCRAM = re.compile(
    r"[ny](?:=[^,]*)?,(?:a=[^,]*)?,(?:m=[^,]*,)?n=([^,]+),r="
)  # the client's first message (RFC 5802, 7)


def name_of_login(token: bytes) -> str | None:
    """Return the user in a client's first token of PLAIN (RFC 4616) or SCRAM; None for a later token or another
    mechanism.
    """
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return None
    if text.count("\0") == 2:
        return text.split("\0")[1] or None
    found = SCRAM.match(text)
    return found[1].replace("=2C", ",").replace("=3D", "=") if found else None


def login_step(item: Exchange) -> tuple[str | None, int, str | None, str | None, str | None]:
    """Return the columns of `logins` after the connection, for a SaslHandshake or SaslAuthenticate."""
    completed = item.response_ns or item.request_ns
    request, response = item.request or {}, item.response
    if item.api_key == SASL_HANDSHAKE:
        refused = error_name(response["errorCode"]) if response and response["errorCode"] else None
        return None, completed, None, request.get("mechanism"), refused
    token = bytes(request.get("authBytes") or b"")
    name = name_of_login(token) if item.bodies.secrets or b"\0" not in token else None
    return principal_of(item), completed, f"User:{name}" if name else None, None, result_of(response)


def result_of(response: Any) -> str | None:
    """Return the result of a login; None if it continues (SCRAM's first response)."""
    if response is None:
        return "unanswered"
    if response["errorCode"]:
        return error_name(response["errorCode"])
    if token_refused(response):
        return error_name(SASL_AUTHENTICATION_FAILED)
    return None if bytes(response["authBytes"] or b"").startswith(b"r=") else "accepted"


def token_refused(response: Any) -> str | None:
    """Return the status with which a response of OAUTHBEARER refuses a token ("invalid_token"); None if it does not."""
    message = bytes(response.get("authBytes") or b"")
    with suppress(ValueError, RecursionError):
        parsed = json.loads(message) if message.startswith(b"{") and len(message) <= LONGEST else None
        status = parsed.get("status") if isinstance(parsed, dict) else None
        return status if isinstance(status, str) else None
    return None


def principal_of(item: Exchange) -> str | None:
    """Return User:NAME if a SaslAuthenticate logs in a user. REFUSED if it was refused or not answered, or if the name
    is secret; None if it does not tell.
    """
    if not item.request or (item.response is None and item.response_frame is not None):
        return None
    if item.response is None or item.response["errorCode"] or token_refused(item.response):
        return REFUSED
    token = bytes(item.request["authBytes"] or b"")
    name = name_of_login(token)
    if name and b"\0" in token and not item.bodies.secrets:
        return REFUSED
    return f"User:{name}" if name else None

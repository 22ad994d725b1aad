"""OAUTHBEARER (RFC 7628) with a token from a file, a token in the config, or an unsecured token made here.

The configs are Kafka's `sasl.oauthbearer.token.endpoint.url=file:///path` and the `unsecuredLogin...` options of
OAuthBearerLoginModule (for test clusters), and kcli's own option `token="..."`. Tokens are not fetched over HTTP.
"""

import base64
import time
from collections.abc import Mapping

from kcli.client.jaas import LoginModule
from kcli.client.web_address import path_of
from kcli.errors import InputError, NetworkError, UsageError
from kcli.jsontext import dumps

SEPARATOR = "\x01"


class OAuthBearer:
    """A login by RFC 7628 with a bearer token and SASL extensions (KIP-342)."""

    name = "OAUTHBEARER"

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        self._token, self._extensions = token, extensions or {}
        self._refusal: str | None = None

    def first(self) -> bytes:
        """Return the initial client response (RFC 7628, 3.1), with the token."""
        pairs = [f"auth=Bearer {self._token}", *(f"{key}={value}" for key, value in self._extensions.items())]
        return ("n,," + SEPARATOR + SEPARATOR.join(pairs) + SEPARATOR + SEPARATOR).encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Return None on success (an empty challenge), or one byte that acknowledges a refusal (JSON). Raises
        NetworkError with the refusal at the next call.
        """
        if not challenge:
            return None
        if self._refusal is not None:
            raise NetworkError(f"OAUTHBEARER: the broker refused the token: {self._refusal}")
        self._refusal = challenge.decode("utf-8", "replace")
        return SEPARATOR.encode()


def bearer_token(module: LoginModule, url: str | None) -> tuple[str, dict[str, str]]:
    """Return the token and the SASL extensions by the configs. Raises UsageError if there is no token, and InputError
    and OSError for its file.
    """
    options = module.options
    extensions = {
        key.partition("_")[2]: value
        for key, value in options.items()
        if key.startswith(("unsecuredLoginExtension_", "extension_"))
    }
    if "token" in options:
        return options["token"], extensions
    if "unsecuredLoginStringClaim_sub" in options:
        return unsecured_token(options, time.time()), extensions
    if url is None:
        raise UsageError(
            'OAUTHBEARER needs a token: sasl.oauthbearer.token.endpoint.url=file:///PATH, or token="..." or'
            ' unsecuredLoginStringClaim_sub="..." in OAuthBearerLoginModule'
        )
    return read_token(url), extensions


def read_token(url: str) -> str:
    path = path_of(url)
    if path is None:
        raise UsageError("sasl.oauthbearer.token.endpoint.url: kcli reads tokens from file: URLs only")
    token = path.read_text(encoding="utf-8", errors="replace").strip()
    if not token or any(character.isspace() for character in token):
        raise InputError("one token expected (the compact form of a JWT)", file=str(path))
    return token


def unsecured_token(options: Mapping[str, str], now: float) -> str:
    """Make a JWT without a signature (RFC 7519, 6) from the `unsecuredLogin...` options. now: seconds since 1970.

    Raises UsageError.
    """
    try:
        lifetime = float(options.get("unsecuredLoginLifetimeSeconds", 3600))
        numbers = {name: float(value) for name, value in claims(options, "Number")}
    except ValueError as error:
        raise UsageError(f"sasl.jaas.config: unsecuredLogin: {error}") from None
    payload: dict[str, object] = {**dict(claims(options, "String")), **numbers}
    for name, value in claims(options, "List"):
        payload[name] = value[1:].split(value[0]) if value else []
    # Rounded down to a second, as brokers refuse a token that was issued after their own time.
    payload.update(iat=int(now), exp=now + lifetime)
    return ".".join([*(base64url(dumps(part)) for part in ({"alg": "none"}, payload)), ""])


def claims(options: Mapping[str, str], kind: str) -> list[tuple[str, str]]:
    prefix = f"unsecuredLogin{kind}Claim_"
    return [(key.removeprefix(prefix), value) for key, value in options.items() if key.startswith(prefix)]


def base64url(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

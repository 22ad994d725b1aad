"""The server's side of OAUTHBEARER (RFC 7628): tokens signed by keys of a file, or unsigned ones for tests.

The configs are Kafka's. `sasl.oauthbearer.jwks.endpoint.url=file:///PATH` is the file of keys (RFC 7517); without it
tokens have no signature (`OAuthBearerUnsecuredValidatorCallbackHandler`). `sasl.oauthbearer.sub.claim.name`,
`expected.audience`, `expected.issuer` and `clock.skew.seconds` apply to both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kcli.broker.security.mechanism import Exchange, LoginError
from kcli.client.jaas import LoginModule
from kcli.client.web_address import path_of
from kcli.errors import InputError, UsageError

if TYPE_CHECKING:
    from jwt import PyJWKSet

KEYS, PREFIX = "sasl.oauthbearer.jwks.endpoint.url", "auth=Bearer "
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
REFUSED = b'{"status":"invalid_token"}'


class Readable(Protocol):
    """Configs that can be read by name."""

    def text(self, name: str) -> str:
        """Return a value as text, "" for null."""

    def int(self, name: str) -> int:
        """Return a value with a whole number."""


class TokenRules:
    """The rules for tokens by a broker's configs.

    Raises UsageError for an invalid config, and InputError if the file has no usable keys.
    """

    def __init__(self, configs: Readable, module: LoginModule | None = None) -> None:
        """Read a listener's configs, and the options for unsigned tokens in its sasl.jaas.config (module)."""
        self.subject = configs.text("sasl.oauthbearer.sub.claim.name")
        self.audience = [each.strip() for each in configs.text("sasl.oauthbearer.expected.audience").split(",")]
        self.audience = [each for each in self.audience if each]
        self.issuer = configs.text("sasl.oauthbearer.expected.issuer")
        self.leeway: float = configs.int("sasl.oauthbearer.clock.skew.seconds")
        url = configs.text(KEYS)
        self.keys = read_keys(url) if url else None
        options = module.options if module is not None and self.keys is None else {}
        self.subject = options.get("unsecuredValidatorPrincipalClaimName", self.subject)
        if (skew := options.get("unsecuredValidatorAllowableClockSkewMs")) is not None:
            if not skew.isdecimal():
                raise UsageError(f"sasl.jaas.config: unsecuredValidatorAllowableClockSkewMs={skew}: a number expected")
            self.leeway = int(skew) / 1000

    def check(self, token: str, now: float) -> tuple[str, float]:
        """Return a token's user and expiry (seconds since 1970). now: likewise. Raises LoginError for an invalid
        token.
        """
        claims = self.signed(token) if self.keys is not None else unsigned(token)
        try:
            until, name = float(claims["exp"]), claims[self.subject]
            since = max(float(claims.get(each, 0)) for each in ("iat", "nbf"))
        except (KeyError, TypeError, ValueError):
            raise LoginError("the token lacks a claim, or has a malformed one") from None
        if not now < until + self.leeway or since > now + self.leeway:
            raise LoginError("the token has expired, or is not valid yet")
        audience = claims.get("aud", [])
        audiences = {audience} if isinstance(audience, str) else {each for each in audience if isinstance(each, str)}
        if (self.audience and audiences.isdisjoint(self.audience)) or self.issuer not in ("", claims.get("iss")):
            raise LoginError("the token is for another audience, or of another issuer")
        if not isinstance(name, str) or not name:
            raise LoginError("the token names nobody")
        return name, until

    def signed(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token with a valid signature; the caller checks its time. Raises LoginError."""
        import jwt

        assert self.keys is not None
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
            found = [each for each in self.keys.keys if key_id in (None, each.key_id)]
            if len(found) != 1:
                raise LoginError("no key of the token's kid")
            options: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False, "verify_aud": False}
            claims: Mapping[str, Any] = jwt.decode(token, found[0], algorithms=ALGORITHMS, options=options)
        except jwt.PyJWTError as error:
            raise LoginError(str(error)) from None
        return claims


def unsigned(token: str) -> Mapping[str, Any]:
    """Return the claims of a token without a signature (RFC 7519, 6). Raises LoginError."""
    import jwt

    try:
        if jwt.get_unverified_header(token).get("alg") != "none" or not token.endswith("."):
            raise LoginError("a token without a signature expected")
        claims: Mapping[str, Any] = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError as error:
        raise LoginError(str(error)) from None
    return claims


def read_keys(url: str) -> PyJWKSet:
    """Read a JSON web key set from a file: URL.

    Raises UsageError for another URL, InputError if the file has no usable keys, and OSError.
    """
    import jwt

    path = path_of(url)
    if path is None:
        raise UsageError(f"{KEYS}: a file: URL expected")
    try:
        return jwt.PyJWKSet.from_json(path.read_text(encoding="utf-8", errors="replace"))
    except (jwt.PyJWTError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"no set of JSON web keys ({error})", file=str(path)) from None


class OAuthServer(Exchange):
    """A login by a token. now: seconds since 1970."""

    def __init__(self, rules: TokenRules, now: float) -> None:
        self._rules, self._now = rules, now
        self._refused = False

    def step(self, message: bytes) -> bytes:
        """Process a message of the client; return the response. For an invalid token that is a refusal, which the
        client acknowledges by another message before the login fails.

        Raises LoginError for that message, and for an authorization id that is not the token's user.
        """
        if self._refused:
            raise LoginError(REFUSED.decode())
        try:
            token, identity = token_in(message)
            self.user, self.expires = self._rules.check(token, self._now)
        except LoginError:
            self._refused = True
            return REFUSED
        if identity not in ("", self.user):
            raise LoginError(
                f"Authentication failed: Client requested an authorization id ({identity}) that is different from the "
                f"token's principal name ({self.user})"
            )
        self.done = True
        return b""


def token_in(message: bytes) -> tuple[str, str]:
    """Return the token and the authorization id ("" for none) in a client's first message (RFC 7628, 3.1).

    Raises LoginError if there is none, or the message has another form.
    """
    head, *pairs = message.decode("utf-8", "replace").split("\x01")
    if head[:2] != "n," or len(pairs) < 2 or pairs[-2:] != ["", ""]:
        raise LoginError("Invalid OAUTHBEARER client first message")
    token = next((each.removeprefix(PREFIX) for each in pairs if each.lower().startswith(PREFIX.lower())), "")
    if not token:
        raise LoginError("no token")
    return token, head[2:].removesuffix(",").removeprefix("a=").replace("=2C", ",").replace("=3D", "=")

"""OAUTHBEARER, the server's side (RFC 7628): tokens with a signature by keys from a file, or without one for tests.

Kafka's names: `sasl.oauthbearer.jwks.endpoint.url=file:///PATH` names the keys (RFC 7517); without them tokens have no
signature (`OAuthBearerUnsecuredValidatorCallbackHandler`). `sasl.oauthbearer.sub.claim.name`, `expected.audience`,
`expected.issuer` and `clock.skew.seconds` count for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from kcli.broker.security.outcome import Exchange, LoginError
from kcli.client.jaas import LoginModule
from kcli.client.web_address import path_of
from kcli.errors import InputError, UsageError

if TYPE_CHECKING:
    from jwt import PyJWKSet

KEYS, PREFIX = "sasl.oauthbearer.jwks.endpoint.url", "auth=Bearer "
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
REFUSED = b'{"status":"invalid_token"}'


class Readable(Protocol):
    """Configs, as their values are read here."""

    def text(self, name: str) -> str:
        """Return a value as text, "" for null."""
        ...

    def int(self, name: str) -> int:
        """Return a value that is a number."""
        ...


class TokenRules:
    """The tokens that a broker takes, by its configs.

    Raises UsageError, InputError if there are no such keys, or no library for them.
    """

    def __init__(self, configs: Readable, module: LoginModule | None = None) -> None:
        """Read the configs of a listener, and the options for unsigned tokens in its sasl.jaas.config."""
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
        """Return a token's principal and expiry (seconds since 1970). Raises LoginError if it is not valid."""
        claims = self.signed(token) if self.keys is not None else unsigned(token)
        try:
            until, name = float(claims["exp"]), claims[self.subject]
            since = max(float(claims.get(each, 0)) for each in ("iat", "nbf"))
        except (KeyError, TypeError, ValueError):
            raise LoginError("the token lacks a claim, or has one that is odd") from None
        if not now < until + self.leeway or since > now + self.leeway:
            raise LoginError("the token's time is over, or has not come")
        audience = claims.get("aud", [])
        given = {audience} if isinstance(audience, str) else {each for each in audience if isinstance(each, str)}
        if (self.audience and given.isdisjoint(self.audience)) or self.issuer not in ("", claims.get("iss")):
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
    """Read a set of keys from a file: URL.

    Raises UsageError for another URL, and InputError for no keys that can be used.
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
    """One exchange. now: seconds since 1970."""

    def __init__(self, rules: TokenRules, now: float) -> None:
        self._rules, self._now = rules, now
        self._refused = False

    def step(self, message: bytes) -> bytes:
        """Answer a message of the client: it gets a refusal and acknowledges it before the login fails.

        Raises LoginError.
        """
        if self._refused:
            raise LoginError(REFUSED.decode())
        try:
            self.user, self.expires = self._rules.check(token_in(message), self._now)
        except LoginError:
            self._refused = True
            return REFUSED
        self.done = True
        return b""


def token_in(message: bytes) -> str:
    """Return the token of an initial response.

    Raises LoginError if there is none, or its authorization id is another.
    """
    head, *pairs = message.decode("utf-8", "replace").split("\x01")
    if head[:2] != "n," or len(pairs) < 2 or pairs[-2:] != ["", ""]:
        raise LoginError("Invalid OAUTHBEARER client first message")
    token = next((each.removeprefix(PREFIX) for each in pairs if each.lower().startswith(PREFIX.lower())), "")
    if not token:
        raise LoginError("no token")
    return token

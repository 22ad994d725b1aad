"""SASL mechanisms as state machines without I/O: they get a challenge and return the bytes to send.

    mechanism = mechanism_for(config)
    token = mechanism.first()
    while token is not None: token = mechanism.step(challenge of the broker)     # SaslAuthenticate, in Kafka

PLAIN is RFC 4616, SCRAM RFC 5802 (with SHA-256 of RFC 7677; Kafka has SHA-512 too), OAUTHBEARER RFC 7628.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Protocol

from kcli.client.jaas import LoginModule, parse_jaas
from kcli.client.oauth import OAuthBearer, bearer_token
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError, UsageError

GS2_HEADER = "n,,"
LEAST_ITERATIONS = 4096
# A broker could demand hours of hashing; Kafka's own tools refuse to store more than 16384 iterations.
MOST_ITERATIONS = 1_000_000


class Mechanism(Protocol):
    """A login by a SASL mechanism, for one connection. name: as in sasl.mechanism."""

    name: str

    def first(self) -> bytes:
        """Return the initial response."""

    def step(self, challenge: bytes) -> bytes | None:
        """Return the answer to a challenge; None when the exchange is complete. Raises NetworkError if the broker can't
        be trusted.
        """


class Plain:
    """PLAIN (RFC 4616): one message with user name and password."""

    name = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        for name, text in (("username", username), ("password", password)):
            if "\0" in text:
                raise UsageError(f"sasl.jaas.config: a {name} can't hold the character NUL")
        self._token = f"\0{username}\0{password}".encode()

    def first(self) -> bytes:
        """Return the initial response: no authorization id, user name and password, with NUL between."""
        return self._token

    def step(self, challenge: bytes) -> bytes | None:
        """Return None, as the login is complete. Raises NetworkError if the broker sent a challenge; PLAIN has none."""
        if challenge:
            raise NetworkError(f"PLAIN takes no challenge, the broker sent {len(challenge)} bytes")
        return None


def make_plain(module: LoginModule, _config: ClientConfig) -> Mechanism:
    return Plain(needed(module, "username"), needed(module, "password"))


def make_scram(algorithm: str) -> Callable[[LoginModule, ClientConfig], Mechanism]:
    def make(module: LoginModule, _config: ClientConfig) -> Mechanism:
        by_token = module.options.get("tokenauth", "false").lower() == "true"
        return Scram(algorithm, needed(module, "username"), needed(module, "password"), by_token=by_token)

    return make


def make_oauth(module: LoginModule, config: ClientConfig) -> Mechanism:
    token, extensions = bearer_token(module, config["sasl.oauthbearer.token.endpoint.url"])
    return OAuthBearer(token, extensions)


# mechanism -> (its login module's class, how to make it)
MECHANISMS: Mapping[str, tuple[str, Callable[[LoginModule, ClientConfig], Mechanism]]] = {
    "PLAIN": ("PlainLoginModule", make_plain),
    "SCRAM-SHA-256": ("ScramLoginModule", make_scram("sha256")),
    "SCRAM-SHA-512": ("ScramLoginModule", make_scram("sha512")),
    "OAUTHBEARER": ("OAuthBearerLoginModule", make_oauth),
}


def mechanism_for(config: ClientConfig) -> Mechanism | None:
    """Begin a login by the configured mechanism, one for each connection; None without SASL.

    Raises UsageError for an unknown mechanism, another mechanism's login module, or missing options.
    """
    if not config["security.protocol"].startswith("SASL"):
        return None
    name = config["sasl.mechanism"]
    if name not in MECHANISMS:
        problem = (
            f"{name} is not one of them" if name else "it is not set, and Kafka's default GSSAPI is not one of them"
        )
        raise UsageError(f"sasl.mechanism: kcli has {', '.join(MECHANISMS)}; {problem}")
    if not config["sasl.jaas.config"]:
        raise UsageError(f"security.protocol {config['security.protocol']} needs sasl.jaas.config")
    module = parse_jaas(config["sasl.jaas.config"])
    wanted, make = MECHANISMS[name]
    if module.name.rsplit(".", 1)[-1] != wanted:
        raise UsageError(f"sasl.jaas.config: {module.name} is not the login module of {name}; {wanted} expected")
    return make(module, config)


def needed(module: LoginModule, option: str) -> str:
    if option not in module.options:
        raise UsageError(f'sasl.jaas.config: {module.name.rsplit(".", 1)[-1]} needs {option}="..."')
    return module.options[option]


class Scram:
    """A login by SCRAM. algorithm: sha256 or sha512; by_token: the user name is a delegation token's id (KIP-48)."""

    def __init__(
        self, algorithm: str, username: str, password: str, *, by_token: bool = False, nonce: str | None = None
    ) -> None:
        self.name = f"SCRAM-SHA-{algorithm.removeprefix('sha')}"
        self._algorithm = algorithm
        self._password = password.encode()
        self._nonce = nonce or secrets.token_urlsafe(24)
        escaped = username.replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={escaped},r={self._nonce}" + (",tokenauth=true" if by_token else "")
        self._server_signature: bytes | None = None

    def first(self) -> bytes:
        """Return the client-first-message (RFC 5802, 5)."""
        return (GS2_HEADER + self._first_bare).encode()

    def step(self, challenge: bytes) -> bytes | None:
        """Return the client-final-message; None after a correct server signature. Raises NetworkError if the broker
        refuses the login, or can't be trusted.
        """
        if self._server_signature is None:
            return self._answer_server_first(challenge)
        self._check_server_final(challenge)
        return None

    def _answer_server_first(self, challenge: bytes) -> bytes:
        fields = self._fields(challenge)
        nonce, salt, iterations = fields.get("r", ""), self._base64(fields.get("s")), self._iterations(fields.get("i"))
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise self._distrust("its nonce does not begin with ours")
        salted = hashlib.pbkdf2_hmac(self._algorithm, self._password, salt, iterations)
        client_key = self._hmac(salted, b"Client Key")
        without_proof = f"c={base64.b64encode(GS2_HEADER.encode()).decode()},r={nonce}"
        message = ",".join((self._first_bare, challenge.decode(), without_proof)).encode()
        signature = self._hmac(hashlib.new(self._algorithm, client_key).digest(), message)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        self._server_signature = self._hmac(self._hmac(salted, b"Server Key"), message)
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _check_server_final(self, challenge: bytes) -> None:
        fields = self._fields(challenge)
        if "e" in fields:
            raise NetworkError(f"{self.name}: the broker refused the login: {fields['e']}")
        assert self._server_signature is not None
        if not hmac.compare_digest(self._base64(fields.get("v")), self._server_signature):
            raise self._distrust("its signature is wrong: it does not know the password")

    def _fields(self, challenge: bytes) -> Mapping[str, str]:
        try:
            parts = challenge.decode().split(",")
        except UnicodeDecodeError:
            raise self._distrust("its message is not UTF-8") from None
        return {part[0]: part[2:] for part in parts if part[1:2] == "="}

    def _base64(self, text: str | None) -> bytes:
        try:
            return base64.b64decode(text or "", validate=True)
        except binascii.Error:
            raise self._distrust("its message has invalid base64") from None

    def _iterations(self, text: str | None) -> int:
        if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
            raise self._distrust("its message names no iteration count")
        count = int(text)
        if not LEAST_ITERATIONS <= count <= MOST_ITERATIONS:
            raise self._distrust(f"it asks for {count} iterations ({LEAST_ITERATIONS} to {MOST_ITERATIONS} accepted)")
        return count

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._algorithm)

    def _distrust(self, reason: str) -> NetworkError:
        return NetworkError(f"{self.name}: the broker can't be trusted: {reason}")

"""SASL mechanisms as state machines without I/O: they get a challenge and return the bytes to send.

    mechanism = mechanism_for(config)
    token = mechanism.first()
    while token is not None: token = mechanism.step(challenge of the broker)     # SaslAuthenticate, in Kafka

PLAIN is RFC 4616, SCRAM RFC 5802 (with SHA-256 of RFC 7677; Kafka has SHA-512 too), OAUTHBEARER RFC 7628.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from kcli.client.jaas import LoginModule, parse_jaas
from kcli.client.oauth import OAuthBearer, bearer_token
from kcli.client.properties import ClientConfig
from kcli.client.scram import Scram
from kcli.errors import NetworkError, UsageError


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

"""A connection's login by SASL (KIP-43, KIP-152), which may expire (KIP-368).

handshake   chooses a mechanism; from v1 on its messages are in SaslAuthenticate, before in frames without headers
step        processes a message of the mechanism
refusal     returns why a request closes the connection: there is no login yet, or it has expired
"""

import importlib.util
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kcli.broker.clock import Clock
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.broker.security.mechanism import OTHER_NAME, Exchange, LoginError
from kcli.broker.security.scram import NAMES, Credential, ScramServer
from kcli.errors import UsageError
from kcli.schemas.apikeys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kcli.schemas.errors import error_code

PLAIN, OAUTH = "PLAIN", "OAUTHBEARER"
MECHANISMS = (PLAIN, *NAMES.values(), OAUTH)
DEFAULT = (PLAIN, *NAMES.values())
PLAIN_MODULE, USER = "org.apache.kafka.common.security.plain.PlainLoginModule", "user_"
NEEDED_TO_LOG_IN = frozenset([API_VERSIONS, SASL_HANDSHAKE, SASL_AUTHENTICATE])
EXPIRING_SINCE = 1
# A reauthentication after a shorter time is refused.
LEAST_BETWEEN_SECONDS = 1.0


class PlainServer(Exchange):
    """PLAIN (RFC 4616): a user's name and password in one message."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users

    def step(self, message: bytes) -> bytes:
        """Check the message; return b"". Raises LoginError for an unknown user or a wrong password."""
        parts = message.decode("utf-8", "replace").split("\0")
        if len(parts) != 3 or not parts[1] or not parts[2]:
            raise LoginError("Invalid SASL/PLAIN response: expected 3 tokens")
        authorization, self.user, password = parts
        if self._users.get(self.user) != password:
            raise LoginError("Authentication failed: Invalid username or password")
        if authorization not in ("", self.user):
            raise LoginError(OTHER_NAME)
        self.done = True
        return b""


class Logins:
    """The logins of a listener. users: passwords by name; scram: credentials by (user, mechanism)."""

    def __init__(
        self,
        configs: ListenerConfigs,
        users: Mapping[str, str],
        scram: Mapping[tuple[str, int], Credential],
        clock: Clock,
    ) -> None:
        self.configs, self.scram, self.clock = configs, scram, clock
        self.names = mechanisms_of(configs, users)
        self.users = plain_users(configs) or users
        if OAUTH in self.names:
            if importlib.util.find_spec("jwt") is None:
                raise UsageError("OAUTHBEARER needs pyjwt (pip install 'kcli-kafka[broker]')")
            from kcli.broker.security.oauth import OAuthServer, TokenRules

            rules = TokenRules(configs.of_mechanism(OAUTH), configs.jaas(OAUTH))
            self._oauth: Callable[[], Exchange] = lambda: OAuthServer(rules, clock.now() / 1000)

    def exchange(self, name: str) -> Exchange:
        """Begin a login by an enabled mechanism."""
        if name == PLAIN:
            return PlainServer(self.users)
        if name == OAUTH:
            return self._oauth()
        number = next(number for number, each in NAMES.items() if each == name)
        return ScramServer(number, lambda user: self.scram.get((user, number)))


def plain_users(configs: ListenerConfigs) -> dict[str, str]:
    """Return the users of PLAIN in the listener's sasl.jaas.config (`user_NAME="PASSWORD"`), passwords by name. Raises
    UsageError for another login module.
    """
    module = configs.jaas(PLAIN)
    if module is None:
        return {}
    if module.name != PLAIN_MODULE:
        raise UsageError(f"{configs.prefix}plain.sasl.jaas.config: {PLAIN_MODULE} expected")
    return {name.removeprefix(USER): text for name, text in module.options.items() if name.startswith(USER)}


def mechanisms_of(configs: ListenerConfigs, users: Mapping[str, str]) -> tuple[str, ...]:
    """Return the enabled mechanisms: those of the configs, else those with passwords if there are users.

    Raises UsageError for an unknown mechanism.
    """
    text = configs.value("sasl.enabled.mechanisms")
    if text is None:
        return DEFAULT if users else ()
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if unknown := [each for each in names if each not in MECHANISMS]:
        raise UsageError(f"sasl.enabled.mechanisms: {unknown[0]}: {', '.join(MECHANISMS)} expected")
    return names


class Step(NamedTuple):
    """The response to a message of a mechanism. lifetime_ms: of the login, 0 if it does not expire."""

    error: int = 0
    text: str | None = None
    answer: bytes = b""
    lifetime_ms: int = 0


class Login:
    """The login of one connection. user: None before a login; raw: messages are in frames without headers;

    failed: the connection is closed after the response.
    """

    def __init__(self, logins: Logins) -> None:
        self.logins = logins
        self.user: str | None = None
        self.raw = self.failed = False
        self.mechanism = ""
        self._exchange: Exchange | None = None
        self._ends: float | None = None
        self._begun = -LEAST_BETWEEN_SECONDS

    def refusal(self, api_key: int) -> str:
        """Return why a request of this API closes the connection, "" if it is allowed."""
        if self._exchange is not None and api_key != SASL_AUTHENTICATE:
            return "SaslAuthenticate expected during a login"
        if self.user is None:
            return "" if api_key in NEEDED_TO_LOG_IN else "a request before the login"
        over = self._ends is not None and self.logins.clock.time() > self._ends
        return "the session has expired without a new login" if over and api_key not in NEEDED_TO_LOG_IN else ""

    def handshake(self, name: str, version: int) -> int:
        """Begin a login or a reauthentication by a mechanism; return the error code. version: of SaslHandshake."""
        now = self.logins.clock.time()
        again = self.user is not None
        if again and (self._ends is None or now - self._begun < LEAST_BETWEEN_SECONDS):
            return error_code("ILLEGAL_SASL_STATE")
        if name not in self.logins.names or (again and name != self.mechanism):
            self.failed = again
            return error_code("UNSUPPORTED_SASL_MECHANISM")
        self.mechanism, self._begun = name, now
        self._exchange = self.logins.exchange(name)
        self.raw = version == 0
        return 0

    def step(self, message: bytes, version: int = 0) -> Step:
        """Process a message of the mechanism. version: of SaslAuthenticate."""
        if self._exchange is None:
            self.failed = self.user is None
            return Step(error_code("ILLEGAL_SASL_STATE"), "SaslAuthenticate request received without a handshake")
        try:
            answer = self._exchange.step(message)
            if not self._exchange.done:
                return Step(answer=answer)
            if self.user not in (None, self._exchange.user):
                raise LoginError(
                    f"Cannot change principals during re-authentication from User.{self.user}"
                    f" to User.{self._exchange.user}"
                )
        except LoginError as error:
            self.failed, self._exchange, self.raw = True, None, False
            invalid = "Authentication failed during authentication due to invalid credentials with SASL mechanism"
            return Step(error_code("SASL_AUTHENTICATION_FAILED"), str(error) or f"{invalid} {self.mechanism}")
        return self._logged_in(self._exchange, answer, version)

    def _logged_in(self, exchange: Exchange, answer: bytes, version: int) -> Step:
        self.user, self._exchange, self.raw = exchange.user, None, False
        clock = self.logins.clock
        most = self.logins.configs.of_mechanism(self.mechanism).int("connections.max.reauth.ms")
        if most <= 0 or version < EXPIRING_SINCE:
            return Step(answer=answer)
        left = most if exchange.expires is None else max(0, min(most, round(exchange.expires * 1000) - clock.now()))
        self._ends = clock.time() + left / 1000
        return Step(answer=answer, lifetime_ms=left)

"""Prepares a connection for its first request: ApiVersions, then SASL (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kcli.client.address import Address
from kcli.client.calls import call
from kcli.client.connection import BrokerConnection
from kcli.client.dialects import is_shown, spoken
from kcli.client.properties import ClientConfig
from kcli.client.sasl import Mechanism, mechanism_for
from kcli.errors import BrokerError, NetworkError
from kcli.schemas.apikeys import API_VERSIONS, FETCH, PRODUCE, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kcli.schemas.catalog import catalog
from kcli.schemas.errors import error_code, error_name
from kcli.schemas.ranges import Range

UNSUPPORTED_VERSION, ILLEGAL_SASL_STATE = error_code("UNSUPPORTED_VERSION"), error_code("ILLEGAL_SASL_STATE")
UNSUPPORTED_SASL_MECHANISM = error_code("UNSUPPORTED_SASL_MECHANISM")
# Brokers from 4.0 on list Produce versions that they don't have, for compatibility with librdkafka (KIP-896).
FETCH_SINCE_4_0, PRODUCE_SINCE_4_0 = 4, 3


class Session:
    """A connection that is ready for requests.

    lifetime: seconds until the login expires (KIP-368), None if it does not
    dialect: the message definitions that both sides use, None for Apache's
    """

    def __init__(self, connection: BrokerConnection, versions: ApiVersions, lifetime: float | None) -> None:
        self.connection, self.versions, self.lifetime = connection, versions, lifetime
        self.dialect = versions.dialect


async def connect(address: Address, config: ClientConfig, dialect: str | None = None) -> Session:
    """Connect, negotiate versions and log in. `Session.dialect` is None if the broker does not have the wanted one.

    Raises NetworkError (a BrokerError if the broker refuses the client), and UsageError for invalid configs.
    """
    mechanism = mechanism_for(config)
    connection = await BrokerConnection.open(address, config)
    try:
        versions = await negotiate(connection, dialect)
        connection.wants_login = mechanism is None and SASL_HANDSHAKE in versions.ranges
        lifetime = await authenticate(connection, versions, mechanism) if mechanism else None
    except BaseException:
        await connection.close()
        raise
    return Session(connection, versions, lifetime)


async def negotiate(connection: BrokerConnection, dialect: str | None = None) -> ApiVersions:
    """Send ApiVersions in the newest version, and again if the broker only has an older one (KIP-511)."""
    version = catalog(None).apis[API_VERSIONS].versions.hi
    body = {"clientSoftwareName": "kcli", "clientSoftwareVersion": spoken(dialect)}
    answer = await call(connection, API_VERSIONS, version, body)
    broker = f"broker {connection.address}"
    if answer["errorCode"] == UNSUPPORTED_VERSION:
        known = [each["maxVersion"] for each in answer["apiKeys"] if each["apiKey"] == API_VERSIONS]
        answer = await call(connection, API_VERSIONS, min(version, *known) if known else 0, body)
    check(answer["errorCode"], f"{broker} refused ApiVersions")
    return ApiVersions(broker, answer, dialect)


async def authenticate(connection: BrokerConnection, versions: ApiVersions, mechanism: Mechanism) -> float | None:
    """Log in; return the login's lifetime in seconds, None if it is unlimited. Raises NetworkError."""
    broker = f"broker {connection.address}"
    handshake = versions.best(SASL_HANDSHAKE)
    answer = await call(connection, SASL_HANDSHAKE, handshake, {"mechanism": mechanism.name})
    if answer["errorCode"] == UNSUPPORTED_SASL_MECHANISM:
        offered = ", ".join(answer["mechanisms"]) or "none"
        raise NetworkError(f"{broker} does not accept {mechanism.name} (sasl.mechanism); it offers {offered}")
    if answer["errorCode"] == ILLEGAL_SASL_STATE:
        hint = "its listener has no SASL, as those of controllers often have none (security.protocol)"
        check(ILLEGAL_SASL_STATE, f"{broker} refused the SASL handshake: {hint}")
    check(answer["errorCode"], f"{broker} refused the SASL handshake")
    try:
        return await (
            exchange_tokens(connection, versions.best(SASL_AUTHENTICATE), mechanism)
            if handshake
            else exchange_raw(connection, mechanism)
        )
    except BrokerError:
        raise
    except NetworkError as error:
        text = str(error)
        raise (error if text.startswith("broker ") else NetworkError(f"{broker}: {text}")) from None


async def exchange_tokens(connection: BrokerConnection, version: int, mechanism: Mechanism) -> float | None:
    token: bytes | None = mechanism.first()
    lifetime = 0
    while token is not None:
        answer = await call(connection, SASL_AUTHENTICATE, version, {"authBytes": token})
        if answer["errorCode"]:
            reason = answer["errorMessage"] or "it gave no reason"
            check(answer["errorCode"], f"broker {connection.address} refused the {mechanism.name} login: {reason}")
        lifetime = answer.get("sessionLifetimeMs", 0)
        token = mechanism.step(answer["authBytes"])
    return lifetime / 1000 if lifetime > 0 else None


async def exchange_raw(connection: BrokerConnection, mechanism: Mechanism) -> None:
    """Exchange SASL messages in frames without headers, as after SaslHandshake v0. A broker that refuses the login
    closes the connection.
    """
    token: bytes | None = mechanism.first()
    while token is not None:
        answer = await connection.exchange(token, None, f"the {mechanism.name} login")
        token = mechanism.step(bytes(answer))


def check(code: int, text: str) -> None:
    if code:
        raise BrokerError(code, error_name(code), text)


class ApiVersions:
    """The version ranges of one broker by API key.

    broker: names the broker in errors; features: finalized feature levels by name (from ApiVersions v3 on);
    dialect: the wanted one if the broker shows that it speaks it, else None.
    """

    def __init__(self, broker: str, response: Mapping[str, Any], dialect: str | None = None) -> None:
        self.broker = broker
        self.ranges = {each["apiKey"]: Range(each["minVersion"], each["maxVersion"]) for each in response["apiKeys"]}
        self.features = {each["name"]: each["maxVersionLevel"] for each in response.get("finalizedFeatures") or ()}
        supported = {each["name"]: each["maxVersion"] for each in response.get("supportedFeatures") or ()}
        shown = dialect is not None and is_shown(dialect, supported, self.ranges)
        self.wanted, self.dialect = dialect, dialect if shown else None

    def unsupported(self, api_key: int, version: int) -> str | None:
        """Return a text if the broker lacks this API or version, else None."""
        theirs, known = self.ranges.get(api_key), catalog(self.wanted).api(api_key)
        name = f"{known.name} (API key {api_key})" if known is not None else f"API key {api_key}"
        if theirs is None:
            return f"does not have {name}"
        return None if version in theirs else f"has {name} in v{theirs.lo}-{theirs.hi}, not in v{version}"

    def best(self, api_key: int, low: int = 0, high: int = 32_767) -> int:
        """Return the newest version that the broker, the tables and low..high have in common. Raises NetworkError if
        none.
        """
        theirs = self.ranges.get(api_key)
        if theirs is None:
            raise NetworkError(
                f"{self.broker} does not have {catalog(self.wanted).known(api_key).name} (API key {api_key})"
            )
        known = catalog(self.dialect).known(api_key)
        newest = min(high, known.versions.hi, theirs.hi)
        if newest < max(low, known.versions.lo, theirs.lo):
            wanted = f"v{max(low, known.versions.lo)}" + (f"-{high}" if high < 32_767 else "")
            raise NetworkError(f"{self.broker} accepts {known.name} v{theirs.lo}-{theirs.hi}, not the {wanted} wanted")
        return newest

    def nearest(self, api_key: int, version: int) -> int | None:
        """Return this version, or the nearest one that the broker and the tables have in common; None if there is
        none.
        """
        theirs, known = self.ranges.get(api_key), catalog(self.dialect).api(api_key)
        if theirs is None or known is None:
            return None
        low, high = max(theirs.lo, known.versions.lo), min(theirs.hi, known.versions.hi)
        fetch = self.ranges.get(FETCH)
        if api_key == PRODUCE and fetch is not None and fetch.lo >= FETCH_SINCE_4_0:
            low = max(low, PRODUCE_SINCE_4_0)
        return None if low > high else min(max(version, low), high)

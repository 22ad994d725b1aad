import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from kcli.client.address import Address
from kcli.client.calls import call
from kcli.client.handshake import connect, exchange_raw
from kcli.errors import BrokerError, NetworkError
from kcli.schemas.ranges import Range
from tests.client.broker import Body, FakeBroker, running

LOGIN = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_mechanism": "PLAIN",
    "sasl_jaas_config": 'PlainLoginModule required username="alice" password="right";',
}


def shake(broker: FakeBroker, **settings: str) -> Any:
    async def work() -> Any:
        async with running(broker):
            session = await connect(Address("127.0.0.1", broker.port), broker.config(**settings))
            await session.connection.close()
            return session

    return asyncio.run(work())


def handshake(_version: int, body: Body) -> Body:
    known = body["mechanism"] == "PLAIN"
    return {"errorCode": 0 if known else 33, "mechanisms": ["PLAIN", "GSSAPI"]}


def check_password(version: int, body: Body) -> Body:
    right = body["authBytes"] == b"\0alice\0right"
    lifetime = {"sessionLifetimeMs": 5000} if version >= 1 else {}
    return {"errorCode": 0 if right else 58, "errorMessage": None if right else "Invalid", "authBytes": b"", **lifetime}


def with_sasl(**ranges: Range) -> FakeBroker:
    broker = FakeBroker({17: handshake, 36: check_password})
    broker.ranges |= {17: Range(0, 1), 36: Range(0, 2)}
    return broker


def test_a_listener_without_sasl() -> None:
    """What Kafka's plain listeners answer, those of controllers among them."""
    broker = FakeBroker({17: lambda _version, _body: {"errorCode": 34, "mechanisms": []}})
    broker.ranges |= {17: Range(0, 1), 36: Range(0, 2)}
    with pytest.raises(BrokerError, match=r"its listener has no SASL, .* \(security.protocol\): ILLEGAL_SASL_STATE"):
        shake(broker, **LOGIN)


@pytest.mark.parametrize("offers_login", [False, True])
def test_security_is_in_doubt_until_the_broker_has_answered(offers_login: bool) -> None:
    """A listener with SASL answers ApiVersions to everybody, and then ends the connection of who does not log in."""
    broker = with_sasl() if offers_login else FakeBroker()
    broker.answers[3] = lambda _version, _body: None

    async def work() -> None:
        async with running(broker):
            session = await connect(Address("127.0.0.1", broker.port), broker.config())
            await call(session.connection, 3, 12, {"topics": []})

    with pytest.raises(NetworkError, match="closed the connection instead of answering Metadata v12") as caught:
        asyncio.run(work())
    assert ("security.protocol is PLAINTEXT" in str(caught.value)) == offers_login


def test_a_broker_that_knows_our_newest_form_is_asked_once() -> None:
    broker = FakeBroker(ranges={18: Range(0, 5), 1: Range(4, 17)})
    session = shake(broker)
    assert [(key, version) for key, version, _ in broker.requests] == [(18, 5)]
    assert broker.requests[0][2]["clientSoftwareName"] == "kcli"
    assert session.versions.best(1) == 17
    assert session.lifetime is None


@pytest.mark.parametrize(("newest", "asked"), [(4, [5, 4]), (0, [5, 0])])
def test_an_older_broker_says_which_form_it_knows(newest: int, asked: list[int]) -> None:
    broker = FakeBroker(ranges={18: Range(0, newest)})
    shake(broker)
    assert [version for _, version, _ in broker.requests] == asked


def test_a_broker_too_old_to_name_its_range_gets_version_0() -> None:
    broker = FakeBroker(ranges={18: Range(0, 1)})
    answer = broker.answers[18]
    broker.answers[18] = lambda version, body: {**(answer(version, body) or {}), "apiKeys": []}
    shake(broker)
    assert [version for _, version, _ in broker.requests] == [5, 0]


def test_a_login() -> None:
    broker = with_sasl()
    session = shake(broker, **LOGIN)
    assert [(key, version) for key, version, _ in broker.requests] == [(18, 5), (18, 4), (17, 1), (36, 2)]
    assert session.lifetime == 5.0


def test_a_wrong_password() -> None:
    with pytest.raises(
        BrokerError, match=r"refused the PLAIN login: Invalid: SASL_AUTHENTICATION_FAILED \(58\)"
    ) as caught:
        shake(with_sasl(), **{**LOGIN, "sasl_jaas_config": LOGIN["sasl_jaas_config"].replace("right", "wrong")})
    assert caught.value.exit_code == 4


def test_a_mechanism_the_broker_does_not_take() -> None:
    jaas = LOGIN["sasl_jaas_config"].replace("Plain", "Scram")
    with pytest.raises(NetworkError, match=r"does not accept SCRAM-SHA-512 .sasl.mechanism.; it offers PLAIN, GSSAPI"):
        shake(with_sasl(), **{**LOGIN, "sasl_mechanism": "SCRAM-SHA-512", "sasl_jaas_config": jaas})


def test_a_broker_that_can_not_prove_itself_is_left() -> None:
    broker = with_sasl()
    broker.answers[17] = lambda *_: {"errorCode": 0, "mechanisms": []}
    broker.answers[36] = lambda *_: {"errorCode": 0, "errorMessage": None, "authBytes": b"r=x,s=eA==,i=4096"}
    jaas = LOGIN["sasl_jaas_config"].replace("Plain", "Scram")
    with pytest.raises(NetworkError, match=r"broker 127.0.0.1:\d+: SCRAM-SHA-256: the broker can't be trusted"):
        shake(broker, **{**LOGIN, "sasl_mechanism": "SCRAM-SHA-256", "sasl_jaas_config": jaas})


def test_a_refusal_of_api_versions() -> None:
    broker = FakeBroker({18: lambda *_: {"errorCode": 29, "apiKeys": []}})
    with pytest.raises(BrokerError, match="refused ApiVersions: TOPIC_AUTHORIZATION_FAILED"):
        shake(broker)


def test_tokens_go_bare_where_the_broker_knows_no_other_way() -> None:
    """After SaslHandshake v0 (Kafka before 1.0): no header, and no lifetime of the login."""
    sent = []

    async def exchange(token: bytes, _key: None, what: str) -> memoryview:
        sent.append((token, what))
        return memoryview(b"challenge %d" % len(sent))

    heard: list[bytes] = []

    def step(data: bytes) -> bytes | None:
        heard.append(data)
        return b"second" if len(heard) == 1 else None

    mechanism: Any = SimpleNamespace(name="X", first=lambda: b"first", step=step)
    connection: Any = SimpleNamespace(exchange=exchange)
    asyncio.run(exchange_raw(connection, mechanism))
    assert sent == [(b"first", "the X login"), (b"second", "the X login")]
    assert heard == [b"challenge 1", b"challenge 2"]

"""Logins by SASL: what kcli's own client does, and what others may try."""

import asyncio

import pytest

from kcli.broker import Broker
from kcli.broker.clock import Clock
from kcli.broker.configs import Configs
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.broker.security.login import Login, Logins, mechanisms_of
from kcli.broker.security.protection import Protection
from kcli.errors import NetworkError, UsageError
from kcli.schemas.apikeys import API_VERSIONS, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from kcli.schemas.errors import ERRORS
from tests.broker.security.logging_in import logged_in
from tests.broker.talk import batch, connected, run

USERS = {"alice": "se,cret=1", "bob": "b"}
ALICE = b"\0alice\0se,cret=1"


def configs_of(given: dict[str, str]) -> ListenerConfigs:
    return ListenerConfigs(Configs(given), "SASL_PLAINTEXT")


def protected(**config: str) -> Broker:
    more = {name.replace("_", "."): text for name, text in config.items()}
    return Broker(config={"connection.failed.authentication.delay.ms": "0", **more}, protection=Protection(USERS))


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_users_log_in(mechanism: str) -> None:
    async def work() -> None:
        async with protected() as broker:
            broker.create_topic("t")
            async with logged_in(broker, "alice", USERS["alice"], mechanism) as client:
                assert (await client.produce("t", batch("v")))["errorCode"] == 0
            for user, password in (("alice", "wrong"), ("nobody", "b")):
                with pytest.raises(NetworkError, match="SASL_AUTHENTICATION_FAILED"):
                    async with logged_in(broker, user, password, mechanism):
                        pass

    run(work())


def test_a_login_refused_by_a_rule_is_no_second_login() -> None:
    async def work() -> None:
        async with protected() as broker:
            broker.faults.add("api=SaslAuthenticate,error=SASL_AUTHENTICATION_FAILED,count=1")
            with pytest.raises(NetworkError, match="SASL_AUTHENTICATION_FAILED") as refused:
                async with logged_in(broker, "alice", USERS["alice"], "PLAIN"):
                    pass
            assert "after successful authentication" not in str(refused.value)

    run(work())


def test_who_has_not_logged_in_is_cut_off() -> None:
    async def work() -> None:
        async with protected() as broker:
            notes: list[str] = []
            broker.on_note = notes.append
            async with connected(broker) as client:
                assert (await client(API_VERSIONS, 3, {"clientSoftwareName": "x", "clientSoftwareVersion": "1"}))[
                    "apiKeys"
                ]
                with pytest.raises(NetworkError):
                    await client(METADATA, 12, {"topics": None})
            assert any(each.endswith("closed: a request before the login") for each in notes)

    run(work())


def test_the_oldest_logins_have_no_headers() -> None:
    async def work() -> None:
        async with protected() as broker:
            reader, writer = await asyncio.open_connection("127.0.0.1", broker.nodes[0].port)
            writer.write(bytes.fromhex("00000011 0011 0000 00000007 ffff 0005".replace(" ", "")) + b"PLAIN")
            answer = await reader.readexactly(4 + 4 + 2)
            assert answer[8:] == b"\0\0"
            await reader.readuntil(b"SCRAM-SHA-512")
            writer.write(len(ALICE).to_bytes(4, "big") + ALICE)
            assert await reader.readexactly(4) == b"\0\0\0\0"
            writer.write(bytes.fromhex("0000000a 0012 0000 00000008 ffff".replace(" ", "")))
            assert (await reader.readexactly(8))[4:] == b"\0\0\0\x08"
            writer.close()

    run(work())


def test_a_session_that_ends_is_renewed_by_the_same_user() -> None:
    """KIP-368."""

    async def work() -> None:
        clock = Clock()
        login = Login(Logins(configs_of({"connections.max.reauth.ms": "60000"}), USERS, {}, clock))
        assert login.refusal(METADATA) and not login.refusal(SASL_HANDSHAKE)
        assert login.handshake("PLAIN", 1) == 0
        assert login.refusal(API_VERSIONS)
        assert login.step(ALICE, 2).lifetime_ms == 60_000
        assert login.user == "alice" and not login.refusal(METADATA)
        assert ERRORS[login.handshake("PLAIN", 1)] == "ILLEGAL_SASL_STATE"  # within a second
        clock.advance(61)
        assert login.refusal(METADATA) and not login.refusal(SASL_HANDSHAKE)
        assert login.handshake("PLAIN", 1) == 0
        assert login.step(ALICE, 2).error == 0 and not login.refusal(METADATA)
        assert (ERRORS[login.step(ALICE, 2).error], login.failed) == ("ILLEGAL_SASL_STATE", False)  # still logged in
        clock.advance(61)
        login.handshake("PLAIN", 1)
        assert ERRORS[login.step(b"\0bob\0b", 2).error] == "SASL_AUTHENTICATION_FAILED"
        assert login.failed
        clock.close()

    run(work())


def test_odd_messages() -> None:
    async def work() -> None:
        clock = Clock()
        logins = Logins(configs_of({}), USERS, {}, clock)
        for message in (
            b"",
            b"alice",
            b"\0\0",
            b"\0alice\0",
            b"x\0alice\0se,cret=1",
            b"\0alice\0se,cret=1\0",
            b"\xff\0\0",
        ):
            login = Login(logins)
            login.handshake("PLAIN", 1)
            assert login.step(message).error and login.failed, message
        login = Login(logins)
        assert ERRORS[login.step(ALICE).error] == "ILLEGAL_SASL_STATE" and login.failed
        assert ERRORS[login.handshake("GSSAPI", 1)] == "UNSUPPORTED_SASL_MECHANISM"
        assert login.handshake("SCRAM-SHA-256", 1) == 0
        assert login.refusal(SASL_HANDSHAKE) and not login.refusal(SASL_AUTHENTICATE)
        clock.close()

    run(work())


def test_which_mechanisms_are_on() -> None:
    assert mechanisms_of(configs_of({}), {}) == ()
    assert mechanisms_of(configs_of({}), USERS) == ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
    assert mechanisms_of(configs_of({"sasl.enabled.mechanisms": "OAUTHBEARER"}), USERS) == ("OAUTHBEARER",)
    with pytest.raises(UsageError, match=r"GSSAPI: PLAIN, .* expected"):
        mechanisms_of(configs_of({"sasl.enabled.mechanisms": "GSSAPI"}), {})

"""Certificates, mechanisms and users of one listener alone: `listener.name.NAME.` before Kafka's configs."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from kcli.broker import Broker
from kcli.broker.configs import Configs, base_name, broker_config
from kcli.broker.security.java_stores import read_store
from kcli.broker.security.listener_configs import ListenerConfigs
from kcli.broker.security.login import plain_users
from kcli.broker.security.protection import Protection
from kcli.broker.security.stores import key_pair, trusted
from kcli.errors import InputError, KcliError, NetworkError, UsageError
from kcli.schemas import apikeys as keys
from kcli.schemas.apikeys import METADATA
from tests.broker.security.logging_in import MODULES, ready
from tests.broker.talk import Talk, run

STORES = Path(__file__).parent.parent / "data/stores"
CLIENT = Path(__file__).parents[2] / "client/data"
KEY, CHAIN = (CLIENT / "server.key").read_text(), (CLIENT / "server.pem").read_text()
OWN, TRUST = "ssl.keystore.", "ssl.truststore."
MODULE = f"org.apache.kafka.common.security.{MODULES['PLAIN']}"


def java(name: str, kind: str = "keystore") -> dict[str, str]:
    return {f"ssl.{kind}.location": str(STORES / name), f"ssl.{kind}.password": "storepass"}


def of(listener: str, configs: dict[str, str]) -> dict[str, str]:
    return {f"listener.name.{listener}.{name}": text for name, text in configs.items()}


JKS = java("key.jks") | {"ssl.key.password": "keypass"}
INLINE = {OWN + "type": "PEM", OWN + "key": KEY, OWN + "certificate.chain": CHAIN.replace("\n", " ")}


def subject(pem: str) -> str:
    return x509.load_pem_x509_certificate(pem.encode()).subject.rfc4514_string()


async def shown(broker: Broker, listener: str) -> str:
    """The subject of the certificate that a listener shows."""
    host, port = broker.bootstrap_of(listener).split(":")
    return subject(await asyncio.to_thread(ssl.get_server_certificate, (host, int(port))))


def test_each_listener_shows_its_own_certificate(tmp_path: Path) -> None:
    (tmp_path / "pair.pem").write_text(KEY + CHAIN)
    config = of("a", JKS) | of("b", INLINE) | of("d", java("key.p12"))
    config |= of("c", {OWN + "type": "PEM", OWN + "location": str(tmp_path / "pair.pem")})
    listeners = ["PLAINTEXT", "A=SSL", "B=SSL", "C=SSL", "D=SSL", "E=SSL"]

    async def work() -> None:
        async with Broker(config=config, listeners=listeners, protection=Protection(tls=True)) as broker:
            assert [await shown(broker, name) for name in "ABCDE"] == [
                "CN=jks",
                subject(CHAIN),
                subject(CHAIN),
                "CN=p12",
                "CN=kcli proxy",
            ]

    run(work())


def test_stores_of_the_broker_are_those_of_listeners_without_any() -> None:
    async def work() -> None:
        async with Broker(config=JKS, listeners=["A=SSL"]) as broker:
            assert await shown(broker, "A") == "CN=jks"

    run(work())


def test_certificates_of_clients_are_asked_for_by_listener() -> None:
    ask = {"ssl.client.auth": "required", **java("trust.p12", "truststore")}
    config = JKS | of("asks", ask) | {"ssl.client.auth": "requested"}
    config |= of("free", {TRUST + "type": "PEM", TRUST + "certificates": CHAIN})
    own = read_store((STORES / "key.jks").read_bytes(), "key.jks", "storepass", "keypass")
    chain = own.certificates[0]
    client = {OWN + "key": own.keys[0].removesuffix(chain), OWN + "certificate.chain": chain}
    trusting = {"security.protocol": "SSL", "ssl.truststore.certificates": chain}

    async def work() -> None:
        async with Broker(config=config, listeners=["FREE=SSL", "ASKS=SSL"]) as broker:
            async with ready(broker, trusting, "FREE") as talk:
                assert (await talk(METADATA, 12, {"topics": None}))["brokers"]
            async with ready(broker, trusting | client, "ASKS") as talk:
                assert (await talk(METADATA, 12, {"topics": None}))["brokers"]
            with pytest.raises(KcliError):
                async with ready(broker, trusting, "ASKS") as talk:
                    await talk(METADATA, 12, {"topics": None})

    run(work())


def jaas(**users: str) -> str:
    return f"{MODULE} required " + " ".join(f'user_{name}="{text}"' for name, text in users.items()) + ";"


def as_user(protocol: str, user: str, password: str, **more: str) -> dict[str, str]:
    login = {
        "sasl.jaas.config": f'{MODULE} required username="{user}" password="{password}";',
        "sasl.mechanism": "PLAIN",
    }
    return {"security.protocol": protocol, **login, **more}


async def mechanisms(talk: Talk) -> list[str]:
    found: list[str] = (await talk(keys.SASL_HANDSHAKE, 1, {"mechanism": "none of them"}))["mechanisms"]
    return found


def test_users_and_mechanisms_of_a_listener() -> None:
    config = of("in", {"sasl.enabled.mechanisms": "PLAIN", "plain.sasl.jaas.config": jaas(root="r")})
    config |= of("in", {"plain.connections.max.reauth.ms": "5000"}) | {"connections.max.reauth.ms": "0"}
    config |= of("out", {"ssl.client.auth": "none"}) | JKS | {"ssl.client.auth": "required"}
    config |= {"connection.failed.authentication.delay.ms": "0"}
    listeners = ["PLAINTEXT", "IN=SASL_PLAINTEXT", "OUT=SASL_SSL", "OTHER=SASL_SSL"]
    chain = read_store((STORES / "trust.jks").read_bytes(), "trust.jks", "storepass").certificates[0]

    async def work() -> None:
        async with Broker(config=config, listeners=listeners, protection=Protection({"alice": "a"})) as broker:
            async with ready(broker, as_user("SASL_PLAINTEXT", "root", "r"), "IN") as talk:
                assert (await talk(METADATA, 12, {"topics": None}))["brokers"]
            trusting = {"ssl.truststore.certificates": chain}
            # SASL_SSL does not heed the broker's own ssl.client.auth.
            for name in ("OUT", "OTHER"):
                async with ready(broker, as_user("SASL_SSL", "alice", "a", **trusting), name) as talk:
                    assert (await talk(METADATA, 12, {"topics": None}))["brokers"]
            for name, user in (("IN", ("alice", "a")), ("OUT", ("root", "r"))):
                protocol = "SASL_PLAINTEXT" if name == "IN" else "SASL_SSL"
                with pytest.raises(NetworkError, match="Invalid username or password"):
                    async with ready(broker, as_user(protocol, *user, **trusting), name):
                        pass
            logins = broker.security.logins
            assert logins["IN"].names == ("PLAIN",)
            assert logins["OUT"].names == ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
            reauth = [
                logins[name].configs.of_mechanism("PLAIN").int("connections.max.reauth.ms") for name in ("IN", "OUT")
            ]
            assert reauth == [5000, 0]

    run(work())


def test_unsigned_tokens_by_the_login_module() -> None:
    from kcli.broker.security.oauth import TokenRules

    module = f"org.apache.kafka.common.security.{MODULES['OAUTHBEARER']} required"
    text = f'{module} unsecuredValidatorPrincipalClaimName="who" unsecuredValidatorAllowableClockSkewMs="1500";'
    name = "listener.name.a.oauthbearer."
    configs = ListenerConfigs(
        Configs({name + "sasl.jaas.config": text, name + "sasl.oauthbearer.expected.issuer": "i"}), "A"
    )
    rules = TokenRules(configs.of_mechanism("OAUTHBEARER"), configs.jaas("OAUTHBEARER"))
    assert (rules.subject, rules.leeway, rules.issuer) == ("who", 1.5, "i")
    bad = ListenerConfigs(Configs({name + "sasl.jaas.config": text.replace("1500", "soon")}), "A")
    with pytest.raises(UsageError, match="a number expected"):
        TokenRules(bad.of_mechanism("OAUTHBEARER"), bad.jaas("OAUTHBEARER"))


def test_names_of_configs() -> None:
    assert base_name("listener.name.in.scram-sha-256.sasl.jaas.config") == "sasl.jaas.config"
    assert base_name("listener.name.in.ssl.key.password") == "ssl.key.password"
    assert base_name("listener.name.in.no.such") is None and base_name("ssl.key.password") is None
    with pytest.raises(UsageError, match="required, requested, none expected"):
        Configs({"listener.name.in.ssl.client.auth": "maybe"})
    with pytest.raises(UsageError, match="no such config"):
        Configs({"listener.name.in.ssl.keystore.place": "x"})
    given = {"listener.name.in.ssl.provider": "x", "listener.name.in.num.partitions": "2", "sasl.jaas.config": "x"}
    assert Configs(given | of("in", INLINE)).without_effect() == list(given)
    found = broker_config("listener.name.in.ssl.keystore.key")
    assert found is not None and found.is_sensitive and found.name == "listener.name.in.ssl.keystore.key"


def test_configs_of_listeners_are_described() -> None:
    secret, open_one = (f"listener.name.a.{OWN}{name}" for name in ("password", "location"))

    async def work() -> None:
        config = of("a", JKS) | {OWN + "location": "/elsewhere"}
        async with Broker(config=config, listeners=["PLAINTEXT", "A=SSL"]) as broker, ready(broker, {}) as talk:
            wanted: dict[str, Any] = {"resourceType": 4, "resourceName": "1", "configurationKeys": [secret, open_one]}
            answer = await talk(keys.DESCRIBE_CONFIGS, 4, {"resources": [wanted], "includeSynonyms": True})
            rows = {each["name"]: each for each in answer["results"][0]["configs"]}
            assert (rows[secret]["value"], rows[secret]["isSensitive"], rows[secret]["configType"]) == (None, True, 9)
            assert rows[open_one]["value"] == str(STORES / "key.jks")
            assert [each["name"] for each in rows[open_one]["synonyms"]] == [open_one, OWN + "location"]

    run(work())


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({OWN + "key": KEY, OWN + "type": "PEM"}, "both, with ssl.keystore.type=PEM"),
        (INLINE | {OWN + "type": "JKS"}, "both, with ssl.keystore.type=PEM"),
        (INLINE | {OWN + "location": "x"}, "both, with ssl.keystore.type=PEM"),
        ({OWN + "password": "x"}, "ssl.keystore.location is missing"),
        ({OWN + "location": "x"}, "ssl.keystore.password is missing"),
        ({OWN + "location": "x", OWN + "password": "x", OWN + "type": "PEM"}, "has ssl.key.password"),
        ({OWN + "type": "BCFKS"}, "PEM, JKS, PKCS12 expected"),
        ({TRUST + "certificates": CHAIN}, "with ssl.truststore.type=PEM"),
        ({TRUST + "password": "x"}, "ssl.truststore.location is missing"),
        ({TRUST + "location": "x", TRUST + "password": "x", TRUST + "type": "PEM"}, "in PEM have none"),
        (java("key.jks") | {OWN + "password": "wrong"}, "a wrong password, or a damaged store"),
        (java("key.jks"), "the key has another password"),
        (java("key.p12") | {OWN + "password": "wrong"}, "no JKS or PKCS12 store"),
        (java("trust.jks"), "without a private key"),
        (java("../README.md"), "no JKS or PKCS12 store"),
        ({OWN + "location": str(STORES / "key.jks"), OWN + "type": "PEM"}, "no PEM text"),
        ({"plain.sasl.jaas.config": "org.Other required;"}, f"{MODULE} expected"),
        ({"plain.sasl.jaas.config": "nothing"}, "a login module class and a flag"),
    ],
)
def test_stores_that_make_no_sense(configs: dict[str, str], said: str) -> None:
    for prefix in ("listener.name.a.", "")[: 1 if "plain.sasl.jaas.config" in configs else 2]:
        given = ListenerConfigs(Configs({prefix + name: text for name, text in configs.items()}), "A")
        with pytest.raises((UsageError, InputError), match=said):
            assert key_pair(given) or trusted(given) or plain_users(given)


def test_damaged_stores_are_refused_in_a_line() -> None:
    for name in ("key.jks", "trust.jks", "key.p12"):
        whole = (STORES / name).read_bytes()
        for size in range(0, len(whole), 7):
            with pytest.raises(InputError):
                read_store(whole[:size], name, "storepass", "keypass")
    jks = (STORES / "key.jks").read_bytes()
    for at in range(len(jks)):
        damaged = jks[:at] + bytes([jks[at] ^ 0x81]) + jks[at + 1 :]
        with contextlib.suppress(InputError):
            read_store(damaged, "key.jks", "", "keypass")  # its digest is not looked at


def test_a_listener_needs_what_its_protocol_has() -> None:
    async def start(config: dict[str, str], *listeners: str) -> None:
        async with Broker(config=config, listeners=listeners):
            pass

    with pytest.raises(UsageError, match="listener B: TLS needs a certificate"):
        asyncio.run(start(of("a", JKS), "A=SSL", "B=SSL"))
    with pytest.raises(UsageError, match="or tls_client_ca is missing"):
        asyncio.run(start(of("a", JKS | {"ssl.client.auth": "required"}), "A=SSL"))
    with pytest.raises(UsageError, match="listener B: nobody can log in"):
        asyncio.run(start(of("a", {"sasl.enabled.mechanisms": "PLAIN"}), "A=SASL_PLAINTEXT", "B=SASL_PLAINTEXT"))

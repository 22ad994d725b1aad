"""TLS of listeners whose configs change while the broker runs (KIP-226)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from pathlib import Path

import pytest

from kcli.broker import Broker
from kcli.broker.security.listener_tls import Authority, made_authority
from kcli.client.properties import ClientConfig
from kcli.client.tls import tls_context
from kcli.errors import UsageError
from kcli.schemas.apikeys import INCREMENTAL_ALTER_CONFIGS, METADATA
from tests.broker.security.logging_in import ready
from tests.broker.talk import Talk, run

CLIENT = Path(__file__).parents[2] / "client/data"
PREFIX = "listener.name.a."
LOCATION, TYPE = "ssl.keystore.location", "ssl.keystore.type"


async def refusal(talk: Talk, configs: Mapping[str, str | None], broker: str = "1", *, validate: bool = False) -> str:
    """Change configs of a broker; the error's message, "" for none."""
    rows = [{"name": name, "configOperation": 0 if text else 1, "value": text} for name, text in configs.items()]
    resource = {"resourceType": 4, "resourceName": broker, "configs": rows}
    answer = await talk(INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource], "validateOnly": validate})
    row = answer["responses"][0]
    assert (row["errorCode"] == 42) == bool(row["errorMessage"])
    return row["errorMessage"] or ""


async def certificate(broker: Broker) -> str:
    """The certificate that listener A shows to a new connection."""
    host, port = broker.bootstrap_of("A").split(":")
    return (await asyncio.to_thread(ssl.get_server_certificate, (host, int(port)))).strip()


def shown(authority: Authority) -> str:
    return authority.pair[authority.pair.index("-----BEGIN CERTIFICATE") :].strip()


def test_another_store_counts_for_new_connections(tmp_path: Path) -> None:
    first, second, third, elsewhere = (made_authority([host]) for host in ("", "", "", "other.example"))
    files = {name: tmp_path / f"{name}.pem" for name in ("first", "second", "elsewhere", "stranger")}
    stranger = (CLIENT / "server.key").read_text() + (CLIENT / "server.pem").read_text()
    for file, pair in zip(files.values(), (first.pair, second.pair, elsewhere.pair, stranger), strict=True):
        file.write_text(pair)
    config = {PREFIX + LOCATION: str(files["first"]), PREFIX + TYPE: "PEM"}
    trusting = {"security.protocol": "SSL", "ssl.truststore.certificates": first.certificate}

    async def work() -> None:
        async with (
            Broker(config=config, listeners=["PLAINTEXT", "A=SSL"]) as broker,
            ready(broker, {}) as talk,
            ready(broker, trusting, "A") as secured,
        ):
            named = {PREFIX + LOCATION: str(files["second"])}
            assert not await refusal(talk, named, validate=True)
            assert await certificate(broker) == shown(first)
            assert not await refusal(talk, named)
            assert await certificate(broker) == shown(second)
            # The same file with other content, told by the same config.
            files["second"].write_text(third.pair)
            assert not await refusal(talk, named)
            assert await certificate(broker) == shown(third)
            for name, said in (
                ("nowhere", "nowhere.pem"),
                ("stranger", "ssl.allow.dn.changes"),
            ):
                assert said in await refusal(talk, {PREFIX + LOCATION: str(tmp_path / f"{name}.pem")})
                assert await certificate(broker) == shown(third)
            assert not await refusal(talk, {PREFIX + LOCATION: None, PREFIX + "max.connections": "9"})
            assert await certificate(broker) == shown(first)
            assert not await refusal(talk, {PREFIX + LOCATION: str(files["elsewhere"])})  # more names than before
            assert "ssl.allow.san.changes" in await refusal(talk, named)
            assert (await secured(METADATA, 12, {"topics": None}))["brokers"]

    run(work())


def test_another_name_where_it_is_allowed(tmp_path: Path) -> None:
    own, stranger = tmp_path / "own.pem", tmp_path / "stranger.pem"
    own.write_text(made_authority([]).pair)
    stranger.write_text((CLIENT / "server.key").read_text() + (CLIENT / "server.pem").read_text())
    config = {PREFIX + LOCATION: str(own), PREFIX + TYPE: "PEM"}
    config |= {"ssl.allow.dn.changes": "true", PREFIX + "ssl.allow.san.changes": "true"}

    async def work() -> None:
        async with Broker(config=config, listeners=["PLAINTEXT", "A=SSL"]) as broker, ready(broker, {}) as talk:
            assert not await refusal(talk, {PREFIX + LOCATION: str(stranger)})
            assert await certificate(broker) in stranger.read_text()

    run(work())


@pytest.mark.parametrize(
    ("broker", "configs", "said"),
    [
        ("1", {LOCATION: "x", "ssl.key.password": "y"}, f"using the listener prefix: [{LOCATION}, ssl.key.password]"),
        ("", {LOCATION: "x"}, f"using the listener prefix: [{LOCATION}]"),
        ("", {PREFIX + LOCATION: "x"}, f"at default cluster level, broker id must be specified: [{PREFIX}{LOCATION}]"),
        ("", {"ssl.client.auth": "none"}, "broker id must be specified: [ssl.client.auth]"),
        ("", {"sasl.jaas.config": "x"}, "broker id must be specified: [sasl.jaas.config]"),
        ("", {"listeners": "x"}, "broker id must be specified: [listeners]"),
        ("", {"ssl.principal.mapping.rules": "DEFAULT"}, "dynamically: [ssl.principal.mapping.rules]"),
        ("", {PREFIX + "max.connections": "7"}, ""),
        ("", {"ssl.of.a.plugin": "x"}, ""),
        ("1", {"ssl.client.auth": "none"}, ""),
    ],
)
def test_who_may_have_configs_of_listeners(broker: str, configs: dict[str, str], said: str) -> None:
    """As a real Kafka 4.4.0 answers."""

    async def work() -> None:
        async with Broker() as served, ready(served, {}) as talk:
            found = await refusal(talk, configs, broker)
            assert found.endswith(said)
            assert bool(found) == bool(said)

    run(work())


async def spoken(broker: Broker, listener: str, context: ssl.SSLContext) -> tuple[str, str]:
    """Return the cipher suite and the version of TLS of a new connection."""
    host, port = broker.bootstrap_of(listener).split(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    tls = writer.get_extra_info("ssl_object")
    writer.close()
    return tls.cipher()[0], tls.version()


def test_cipher_suites() -> None:
    """By IANA's names, as Kafka has them."""
    authority = made_authority([])
    key, begin, rest = authority.pair.partition("-----BEGIN CERTIFICATE")
    store = {TYPE: "PEM", "ssl.keystore.key": key, "ssl.keystore.certificate.chain": begin + rest}
    old, new = "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    config = store | {PREFIX + "ssl.cipher.suites": f"TLS_ECDH_RSA_WITH_AES_128_CBC_SHA, {old}"}
    config |= {"listener.name.c.ssl.cipher.suites": f"{new},TLS_AES_128_GCM_SHA256"}

    def client(*suites: str) -> ssl.SSLContext:
        properties = {"security.protocol": "SSL", "ssl.truststore.certificates": authority.certificate}
        made = tls_context(ClientConfig(properties | {"ssl.cipher.suites": ",".join(suites)}))
        assert made is not None
        return made

    async def work() -> None:
        async with Broker(config=config, listeners=["A=SSL", "B=SSL", "C=SSL"]) as broker:
            assert await spoken(broker, "A", client(old)) == ("ECDHE-ECDSA-AES256-SHA", "TLSv1.2")
            assert (await spoken(broker, "B", client()))[1] == "TLSv1.3"
            assert await spoken(broker, "B", client(new)) == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")
            assert (await spoken(broker, "C", client()))[1] == "TLSv1.3"
            assert await spoken(broker, "C", client(new, old)) == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")
            with pytest.raises(OSError):  # an alert, or the connection's end before it
                await spoken(broker, "A", client(new))
        for suites, words in (
            ("TLS_AES_128_GCM_SHA25", "no cipher suite TLS_AES_128_GCM_SHA25 .*did you mean TLS_AES_128_GCM_SHA256"),
            ("TLS_ECDH_RSA_WITH_AES_128_CBC_SHA", "can be used"),
        ):
            with pytest.raises(UsageError, match=words):
                async with Broker(config=store | {"ssl.cipher.suites": suites}, listeners=["A=SSL"]):
                    pass
        with pytest.raises(UsageError, match="versions of TLS that are enabled"):
            only = {"ssl.cipher.suites": new, "ssl.enabled.protocols": "TLSv1.3"}
            async with Broker(config=store | only, listeners=["A=SSL"]):
                pass

    run(work())


def test_versions_of_tls() -> None:
    authority = made_authority([])

    async def version(broker: Broker, listener: str) -> str:
        return (await spoken(broker, listener, ssl.create_default_context(cadata=authority.certificate)))[1]

    key, begin, rest = authority.pair.partition("-----BEGIN CERTIFICATE")
    store = {TYPE: "PEM", "ssl.keystore.key": key, "ssl.keystore.certificate.chain": begin + rest}
    config = store | {PREFIX + "ssl.enabled.protocols": "TLSv1.2"}

    async def work() -> None:
        async with Broker(config=config, listeners=["A=SSL", "B=SSL"]) as broker:
            assert [await version(broker, name) for name in "AB"] == ["TLSv1.2", "TLSv1.3"]
        with pytest.raises(UsageError, match="TLSv1"):
            async with Broker(config=store | {"ssl.enabled.protocols": "SSLv3"}, listeners=["A=SSL"]):
                pass

    run(work())

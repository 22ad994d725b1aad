"""TLS towards clients: a certificate that is given, and one made on the spot."""

import asyncio
import ssl
from pathlib import Path

import pytest

from kcli.broker import Broker
from kcli.broker.security.listener_tls import Authority, made_authority, read_pair, server_context
from kcli.client.address import parse_address
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.errors import InputError, NetworkError
from kcli.proxy import Proxy
from kcli.schemas.apikeys import METADATA
from tests.broker.talk import batch, run
from tests.capture.tls.traffic import certificate
from tests.proxy.talk import proxied


@pytest.fixture(scope="module")
def authority() -> Authority:
    return made_authority(["broker.example", "10.1.2.3"])


def trusting(authority: Authority) -> dict[str, str]:
    return {"security_protocol": "SSL", "ssl_truststore_certificates": authority.certificate}


def test_clients_that_trust_the_ca_are_served(authority: Authority) -> None:
    blocks: list[bytes] = []

    async def work() -> None:
        context = server_context(authority.pair, "x")
        async with proxied(nodes=2, tls=context, record=blocks.append) as both:
            topic = both.broker.create_topic("t")
            async with both.client(**trusting(authority)) as client:
                brokers = (await client(METADATA, 12, {"topics": None}))["brokers"]
                (port,) = (each["port"] for each in brokers if each["nodeId"] == topic.partitions[0].leader)
            async with both.client(f"127.0.0.1:{port}", **trusting(authority)) as client:
                assert (await client.produce("t", batch("v" * 300_000)))["errorCode"] == 0
                got = await client.fetch(12, ("t", 0, 0))
                assert len(got["responses"][0]["partitions"][0]["records"]) > 300_000

    run(work())
    assert b"".join(blocks).count(b"v" * 60_000) >= 8  # in the clear, both ways


def test_what_goes_wrong_is_a_line(authority: Authority) -> None:
    async def work() -> None:
        async with proxied(tls=server_context(authority.pair, "x")) as both:
            with pytest.raises(NetworkError, match="not trusted"):
                async with both.client(**trusting(made_authority([]))):
                    pass
            _, writer = await asyncio.open_connection("127.0.0.1", both.proxy.port)
            writer.write(b"\0\0\0\x0a\0\x12\0\0\0\0\0\7\xff\xff")
            while len([note for note in both.notes if "no TLS" in note]) < 2:
                await asyncio.sleep(0.01)
            writer.close()
            assert both.proxy.gate.held == 0

    run(work())


def test_a_weak_certificate_is_shown_and_the_client_decides(authority: Authority) -> None:
    """As with Kafka's stores: OpenSSL by itself does not load RSA keys of 1,024 bits, or signatures of SHA-1."""

    async def work() -> None:
        async with proxied(tls=server_context(certificate(1024).decode(), "x")) as both:
            anybody = ssl.create_default_context()
            anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
            _, writer = await asyncio.open_connection("127.0.0.1", both.proxy.port, ssl=anybody)
            assert writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
            with pytest.raises(NetworkError, match="not trusted"):
                async with both.client(**trusting(authority)):
                    pass

    run(work())


def test_names_and_addresses_of_the_certificate(authority: Authority, tmp_path: Path) -> None:
    context = ssl.create_default_context(cadata=authority.certificate)
    own = server_context(authority.pair, "x")

    def shakes_hands(name: str) -> bool:
        to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = context.wrap_bio(to_client, to_server, server_hostname=name)
        server = own.wrap_bio(to_server, to_client, server_side=True)
        for _ in range(4):
            for side in (client, server):
                try:
                    side.do_handshake()
                except ssl.SSLWantReadError:
                    continue
                except ssl.SSLCertVerificationError:
                    return False
        return client.version() is not None

    assert all(map(shakes_hands, ("broker.example", "10.1.2.3", "localhost", "127.0.0.1", "::1")))
    assert not shakes_hands("x.org")


def test_certificate_and_key_may_be_in_one_file_or_two(authority: Authority, tmp_path: Path) -> None:
    both, key, certificate = (tmp_path / name for name in ("both.pem", "key.pem", "cert.pem"))
    at = authority.pair.index("-----BEGIN CERTIFICATE")
    both.write_text(authority.pair)
    key.write_text(authority.pair[:at])
    certificate.write_text(authority.pair[at:])
    server_context(read_pair(str(both), None), "both")
    server_context(read_pair(str(certificate), str(key)), "two")
    with pytest.raises(InputError, match="no matching PEM key and certificate"):
        server_context(read_pair(str(certificate), None), str(certificate))
    (tmp_path / "x").write_bytes(b"\xfe\xed\xfe\xed")
    with pytest.raises(InputError, match="no PEM text"):
        read_pair(str(tmp_path / "x"), None)


def test_brokers_that_speak_tls(authority: Authority) -> None:
    """A proxy with TLS is the broker here, for want of an embedded one that has it."""

    async def work() -> None:
        async with Broker() as broker:
            plain = ClientConfig({"bootstrap.servers": broker.bootstrap})
            async with Proxy(plain, tls=server_context(authority.pair, "x")) as inner:
                settings = {name.replace("_", "."): value for name, value in trusting(authority).items()}
                config = ClientConfig({"bootstrap.servers": inner.bootstrap, **settings})
                async with Proxy(config) as outer:
                    connection = await BrokerConnection.open(parse_address(outer.bootstrap), ClientConfig({}))
                    await connection.exchange(b"\0\x12\0\0\0\0\0\7\xff\xff", 7, "ApiVersions")
                    await connection.close()

    run(work())

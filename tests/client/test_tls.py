import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from kcli.client.address import Address
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.client.tls import describe_tls_error, pem_lines, tls_context
from kcli.errors import CertificateError, InputError, NetworkError, UsageError
from tests.client.fake import framed, hang, read_frame, server

DATA = Path(__file__).parent / "data"
TRUST = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(DATA / "server.pem")}
KEY_STORE = {"ssl.keystore.type": "PEM", "ssl.key.password": "key-secret"}


def config(**changes: Any) -> ClientConfig:
    given = {"security.protocol": "SSL", **TRUST, **{name.replace("__", "."): value for name, value in changes.items()}}
    return ClientConfig({name: value for name, value in given.items() if value is not None})


def server_context(name: str = "server", client_ca: str | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DATA / f"{name}.pem", DATA / f"{name}.key")
    if client_ca:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(DATA / f"{client_ca}.pem")
    return context


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(framed(await read_frame(reader)))
    await hang(reader, writer)


def ask(client: ClientConfig, context: ssl.SSLContext | None, host: str = "127.0.0.1", size: int = 10) -> int:
    async def work() -> int:
        async with server(echo, context) as port:
            connection = await BrokerConnection.open(Address(host, port), client)
            answer = await connection.exchange(bytes(4 + size), 0, "Ask")
            await connection.close()
            return len(answer)

    return asyncio.run(work())


@pytest.mark.parametrize("size", [10, 3_000_000])
def test_frames_go_through_tls(size: int) -> None:
    assert ask(config(), server_context(), size=size) == size + 4


def test_certificates_in_a_property_on_one_line() -> None:
    inline = (DATA / "server.pem").read_text().replace("\n", " ")
    assert ask(config(ssl__truststore__location=None, ssl__truststore__certificates=inline), server_context()) == 14


@pytest.mark.parametrize("inline", [False, True])
def test_a_client_certificate(inline: bool, tmp_path: Path) -> None:
    chain, key = ((DATA / f"client.{kind}").read_text() for kind in ("pem", "key"))
    store = tmp_path / "store.pem"
    store.write_text(key + chain)
    mine: dict[str, str] = {"ssl.keystore.location": str(store)}
    if inline:
        mine = {"ssl.keystore.key": key.replace("\n", " "), "ssl.keystore.certificate.chain": chain.replace("\n", " ")}
    assert ask(config(**{**KEY_STORE, **mine}), server_context(client_ca="client")) == 14


def test_a_client_certificate_that_is_missing() -> None:
    with pytest.raises(NetworkError, match=r"it wants a client certificate \(ssl.keystore.location\)|closed"):
        ask(config(), server_context(client_ca="client"))


def test_an_expired_certificate() -> None:
    with pytest.raises(CertificateError, match="its certificate is not trusted: certificate has expired") as caught:
        ask(config(ssl__truststore__location=str(DATA / "expired.pem")), server_context("expired"))
    assert caught.value.exit_code == 4


def test_a_certificate_nobody_vouches_for() -> None:
    with pytest.raises(CertificateError, match="its certificate is not trusted: self-signed certificate"):
        ask(config(ssl__truststore__location=str(DATA / "client.pem")), server_context())


def test_another_name_than_the_certificates() -> None:
    with pytest.raises(CertificateError, match=r"not trusted: .*certificate is not valid for '127.0.0.2'"):
        asyncio.run(ask_by_name("127.0.0.2", config()))
    assert asyncio.run(ask_by_name("127.0.0.2", config(**{"ssl.endpoint.identification.algorithm": ""}))) == 14


async def ask_by_name(host: str, client: ClientConfig) -> int:
    listening = await asyncio.start_server(echo, host, 0, ssl=server_context())
    try:
        connection = await BrokerConnection.open(Address(host, listening.sockets[0].getsockname()[1]), client)
        answer = await connection.exchange(bytes(14), 0, "Ask")
        await connection.close()
        return len(answer)
    finally:
        listening.close()


def test_tls_to_a_listener_that_has_none() -> None:
    async def work() -> None:
        async with server(answer_plain) as port:
            await BrokerConnection.open(Address("127.0.0.1", port), config())

    async def answer_plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with pytest.raises(NetworkError, match="does not speak TLS on this port"):
        asyncio.run(work())


def test_no_tls_without_need() -> None:
    assert tls_context(ClientConfig()) is None


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"ssl.truststore.location": str(DATA / "README.md")}, InputError, r"README.md: no PEM text; .*type=PEM"),
        ({"ssl.truststore.certificates": "x"}, UsageError, "only one of the two"),
        ({"ssl.truststore.location": None, "ssl.truststore.certificates": "junk"}, InputError, "no PEM certificates"),
        ({"ssl.enabled.protocols": "TLSv1"}, UsageError, "none of TLSv1.2, TLSv1.3"),
        ({"ssl.keystore.key": "x"}, UsageError, "both are needed"),
        ({"ssl.keystore.key": "x", "ssl.keystore.location": "y"}, UsageError, "only one of the two"),
        (
            {
                "ssl.keystore.key": (DATA / "client.key").read_text(),
                "ssl.keystore.certificate.chain": (DATA / "client.pem").read_text(),
                "ssl.key.password": "wrong",
            },
            InputError,
            "is ssl.key.password right",
        ),
    ],
)
def test_stores_that_make_no_sense(changes: dict[str, str], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tls_context(config(**changes))


def test_a_java_store_is_named(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed" + bytes(50))
    with pytest.raises(InputError, match="a Java or PKCS12 store; kcli reads"):
        tls_context(config(**{"ssl.truststore.location": str(store)}))


def test_pem_on_one_line_becomes_lines() -> None:
    text = (DATA / "server.pem").read_text()
    assert pem_lines(text.strip().replace("\n", " ")) == text
    assert pem_lines(text) == text


def test_other_errors_are_put_in_words() -> None:
    error = ssl.SSLError(1, "[SSL: SOME_THING] odd")
    error.reason = "SOME_THING"
    assert describe_tls_error(error) == "TLS failed: some thing"

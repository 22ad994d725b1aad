import asyncio
import socket
from collections.abc import Iterator

import pytest

from kcli.client.address import Address
from kcli.client.connection import BrokerConnection
from kcli.client.dialing import describe_failure
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from tests.client.fake import hang, server

HERE = Address("h", 1)


def open_(address: Address, **settings: str) -> None:
    async def work() -> None:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        await (await BrokerConnection.open(address, ClientConfig(given))).close()

    asyncio.run(work())


@pytest.fixture
def full() -> Iterator[int]:
    """A port whose queue of connections is full: more of them are left hanging."""
    with socket.socket() as listening, socket.socket() as first, socket.socket() as second:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


def test_a_dead_port() -> None:
    with pytest.raises(NetworkError, match=r"broker 127\.0\.0\.1:1 refused the connection \(is it running\?"):
        open_(Address("127.0.0.1", 1))


def test_a_name_that_does_not_resolve() -> None:
    with pytest.raises(NetworkError, match="the name does not resolve"):
        open_(Address("no-such-host.invalid", 9092))
    with pytest.raises(NetworkError, match="not a host name"):
        open_(Address("a" * 70 + ".b", 9092))


def test_a_host_that_never_answers(full: int) -> None:
    with pytest.raises(NetworkError, match=r"no connection within 0.1 s \(socket.connection.setup.timeout.ms\)"):
        open_(Address("127.0.0.1", full), socket_connection_setup_timeout_ms="100")


def test_each_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with server(hang) as port:
            places: list[tuple[int, tuple[str, int]]] = [
                (socket.AF_INET, ("127.0.0.3", port)),
                (socket.AF_INET, ("127.0.0.1", port)),
            ]

            async def resolve(_address: Address) -> list[tuple[int, tuple[str, int]]]:
                return places

            monkeypatch.setattr("kcli.client.dialing.resolve", resolve)
            await (await BrokerConnection.open(Address("two.example", port), ClientConfig())).close()

    asyncio.run(work())


def test_buffers_that_were_asked_for() -> None:
    async def work() -> None:
        async with server(hang) as port:
            config = ClientConfig({"receive.buffer.bytes": "9000"})
            connection = await BrokerConnection.open(Address("127.0.0.1", port), config)
            transport = connection._protocol._transport
            assert transport is not None
            sock = transport.get_extra_info("socket")
            assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 18_000
            await connection.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionResetError(), "broker h:1 closed the connection at once"),
        (OSError(113, "No route to host"), "broker h:1: No route to host"),
        (NetworkError("as it is"), "as it is"),
        (ValueError("odd"), "broker h:1: odd"),
    ],
)
def test_failures_in_one_line(error: Exception, text: str) -> None:
    assert str(describe_failure(HERE, error, "at once")) == text

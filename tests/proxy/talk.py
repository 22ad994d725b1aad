"""A broker, a proxy before it, and connections through the proxy.

async with proxied(nodes=3) as both:
    async with both.client() as client:
        await client(METADATA, 12, {"topics": None})
"""

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Any

from kcli.broker import Broker
from kcli.client.address import parse_bootstrap
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.proxy import Proxy
from kcli.proxy.policy import Policy
from kcli.proxy.response_stream import ResponseStream
from tests.broker.talk import Talk

__all__ = ["Both", "feed", "proxied"]


class Both:
    """notes: the proxy's lines."""

    def __init__(self, broker: Broker, proxy: Proxy, notes: list[str]) -> None:
        self.broker, self.proxy, self.notes = broker, proxy, notes

    @contextlib.asynccontextmanager
    async def client(self, address: str = "", **settings: str) -> AsyncIterator[Talk]:
        """A connection to the proxy's first listener, or another address; settings: of the client, `_` for `.`."""
        where = address or self.proxy.bootstrap
        config = ClientConfig({name.replace("_", "."): value for name, value in settings.items()})
        connection = await BrokerConnection.open(parse_bootstrap([where])[0], config)
        try:
            yield Talk(self.broker, connection)
        finally:
            await connection.close()


@contextlib.asynccontextmanager
async def proxied(
    *, nodes: int = 1, broker: Broker | None = None, faults: Iterable[str] = (), **options: Any
) -> AsyncIterator[Both]:
    """options: of the proxy."""
    options.setdefault("policy", Policy(faults=tuple(faults)))
    notes: list[str] = []
    made = broker or Broker(nodes=nodes)
    async with made:
        config = ClientConfig({"bootstrap.servers": made.bootstrap})
        async with Proxy(config, note=notes.append, **options) as proxy:
            yield Both(made, proxy, notes)


def feed(stream: ResponseStream, data: bytes) -> tuple[bytes, bytes]:
    """What goes to the client, and to the record, when these bytes come from the broker."""
    made = [tuple(map(bytes, stream.proceed()))]
    while data:
        buffer = stream.buffer()
        size = min(len(buffer), len(data))
        buffer[:size], data = data[:size], data[size:]
        made.append(tuple(map(bytes, stream.take(size))))
    return b"".join(client for client, _ in made), b"".join(record for _, record in made)

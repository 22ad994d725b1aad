"""The live connections of one captured connection, to the brokers of its requests."""

from __future__ import annotations

import asyncio

from kcli.capture.kafka.exchange import Exchange
from kcli.client.address import Address
from kcli.client.properties import ClientConfig
from kcli.proxy.recording import Recorder
from kcli.replay.live_connections import OpenConnection, OpenConnections
from kcli.replay.traffic.destinations import Destinations
from kcli.schemas.apikeys import FETCH
from kcli.sessions.epochs import FULL_EPOCH


class LiveLines:
    """Opens a connection when a request first goes to its broker, and again if the broker has closed it."""

    def __init__(
        self,
        name: str,
        suffix: str,
        config: ClientConfig,
        destinations: Destinations,
        recorder: Recorder | None,
    ) -> None:
        self.suffix, self.config, self.destinations = suffix, config, destinations
        self.lines = OpenConnections[Address](destinations.dialect, recorder, f"replay of {name}")
        self.fetched: Address | None = None
        self.opening = asyncio.Lock()

    async def to(self, exchange: Exchange) -> OpenConnection:
        """Return the connection to the broker of a captured request, with the request's client id. Raises
        NetworkError.
        """
        address = self.address(exchange)
        async with self.opening:
            config = self.config.replace(client_id=(exchange.client_id or "") + self.suffix)
            return self.lines.open_to(address) or await self.lines.open(address, address, config)

    def address(self, exchange: Exchange) -> Address:
        """Return the live broker for a captured request. A fetch session stays with the broker that opened it."""
        if exchange.api_key == FETCH and self.fetched and exchange.request.get("sessionEpoch", FULL_EPOCH) > FULL_EPOCH:
            return self.fetched
        address = self.destinations.address(exchange, self.suffix)
        if exchange.api_key == FETCH:
            self.fetched = address
        return address

    async def close(self) -> None:
        """Close all connections."""
        await self.lines.close()

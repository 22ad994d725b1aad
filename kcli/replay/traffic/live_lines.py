"""The live connections of one captured one: a line to each broker that its requests lead to."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from kcli.capture.io.packet_writing import Direction
from kcli.capture.kafka.exchange import Exchange
from kcli.client.address import Address
from kcli.client.connection import Frame
from kcli.client.handshake import Session, connect
from kcli.client.properties import ClientConfig
from kcli.proxy.recording import Recorder, Recording
from kcli.replay.traffic.destinations import Destinations
from kcli.schemas.apikeys import FETCH
from kcli.sessions.epochs import FULL_EPOCH

FROM_CLIENT: Direction = 0
FROM_SERVER: Direction = 1


class Line(NamedTuple):
    """An open connection. recording: None where it is not saved."""

    session: Session
    recording: Recording | None

    def record(self, direction: Direction, frame: Frame) -> None:
        """Save what was said, where that is wanted."""
        if self.recording is not None:
            self.recording.data(direction, len(frame).to_bytes(4, "big") + frame)

    async def close(self) -> None:
        """What is saved of a connection ends with it."""
        await self.session.connection.close()
        if self.recording is not None:
            self.recording.end(FROM_CLIENT)
            self.recording.end(FROM_SERVER)


class LiveLines:
    """Opened when a request first leads there, and again where the broker has closed one."""

    def __init__(
        self,
        name: str,
        suffix: str,
        config: ClientConfig,
        dialect: str | None,
        destinations: Destinations,
        recorder: Recorder | None,
    ) -> None:
        self.name, self.suffix, self.config, self.dialect = name, suffix, config, dialect
        self.destinations, self.recorder = destinations, recorder
        self.lines: dict[Address, Line] = {}
        self.fetched: Address | None = None
        self.opening = asyncio.Lock()

    async def to(self, exchange: Exchange) -> Line:
        """The line to the broker of a captured request. NetworkError."""
        address = self.address(exchange)
        async with self.opening:
            line = self.lines.get(address)
            if line is None or line.session.connection.error is not None:
                if line is not None:
                    await line.close()
                line = self.lines[address] = await self.open(address, exchange)
            return line

    async def open(self, address: Address, exchange: Exchange) -> Line:
        """A new line, by the name of a captured request's client. NetworkError."""
        config = self.config.replace(client_id=(exchange.client_id or "") + self.suffix)
        session = await connect(address, config, self.dialect)
        if self.recorder is None:
            return Line(session, None)
        return Line(session, self.recorder.begin(*session.connection.ends, comment=f"replay of {self.name}"))

    def address(self, exchange: Exchange) -> Address:
        """Where a captured request leads. A fetch session stays with the broker that opened it."""
        if exchange.api_key == FETCH and self.fetched and exchange.request.get("sessionEpoch", FULL_EPOCH) > FULL_EPOCH:
            return self.fetched
        address = self.destinations.address(exchange, self.suffix)
        if exchange.api_key == FETCH:
            self.fetched = address
        return address

    async def close(self) -> None:
        """End all."""
        for line in self.lines.values():
            await line.close()

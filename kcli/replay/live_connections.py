"""The live connections of one captured client: one to each broker that its requests go to."""

from typing import Generic, NamedTuple, TypeVar

from kcli.capture.io.packet_writing import Direction
from kcli.client.address import Address
from kcli.client.connection import Frame
from kcli.client.handshake import Session, connect
from kcli.client.properties import ClientConfig
from kcli.proxy.recording import Recorder, Recording

FROM_CLIENT: Direction = 0
FROM_SERVER: Direction = 1
Broker = TypeVar("Broker")


class OpenConnection(NamedTuple):
    """An open connection. recording: saves its traffic; None if it is not saved."""

    session: Session
    recording: Recording | None

    def record(self, direction: Direction, frame: Frame) -> None:
        """Save a frame, if the traffic is recorded."""
        if self.recording is not None:
            self.recording.data(direction, len(frame).to_bytes(4, "big") + frame)

    async def close(self) -> None:
        """Close the connection and its recording."""
        await self.session.connection.close()
        if self.recording is not None:
            self.recording.end(FROM_CLIENT)
            self.recording.end(FROM_SERVER)


class OpenConnections(Generic[Broker]):
    """Connections by broker; a broker's key is the caller's choice. comment: of each connection that `recorder`
    saves.
    """

    def __init__(self, dialect: str | None, recorder: Recorder | None = None, comment: str = "") -> None:
        self.dialect, self.recorder, self.comment = dialect, recorder, comment
        self.lines: dict[Broker, OpenConnection] = {}

    def open_to(self, broker: Broker) -> OpenConnection | None:
        """Return the connection to a broker; None if there is none, or it was lost."""
        line = self.lines.get(broker)
        return line if line is not None and line.session.connection.error is None else None

    async def open(self, broker: Broker, address: Address, config: ClientConfig) -> OpenConnection:
        """Open a connection to a broker, instead of one that was lost. Raises NetworkError."""
        if broker in self.lines:
            await self.lines.pop(broker).close()
        session = await connect(address, config, self.dialect)
        recording = (
            None if self.recorder is None else self.recorder.begin(*session.connection.ends, comment=self.comment)
        )
        line = self.lines[broker] = OpenConnection(session, recording)
        return line

    async def close(self) -> None:
        """Close all connections."""
        while self.lines:
            await self.lines.popitem()[1].close()

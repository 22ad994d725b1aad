"""A fetcher's brokers: a connection and a fetch session with each."""

from __future__ import annotations

from collections.abc import Callable

from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.replay.live_connections import OpenConnections
from kcli.replay.sessions.wants import SessionMachine
from kcli.schemas.apikeys import FETCH
from kcli.sessions.client import ClientSession


class ReplayBroker:
    """One broker. session: the fetch session with it; link: the connection.

    current: (session machine that has the wanted partitions, except for the latest changes; whether it names topics by
    id)
    """

    def __init__(self, replica_id: int = -1) -> None:
        self.session = ClientSession(replica_id=replica_id)
        self.link: Session | None = None
        self.current: tuple[SessionMachine, bool] | None = None


class Nodes:
    """The brokers of a fetcher. by_number: {id: broker}; notify: takes a line if a version is not the captured one."""

    def __init__(
        self, client: Client, config: ClientConfig, dialect: str | None, notify: Callable[[str], None]
    ) -> None:
        self.client, self.config, self.notify = client, config, notify
        self.lines = OpenConnections[int](dialect)
        self.by_number: dict[int, ReplayBroker] = {}

    async def open(self, number: int, replica_id: int) -> None:
        """Connect to a broker. Raises NetworkError if there is no such broker, or it does not respond."""
        node = self.by_number.setdefault(number, ReplayBroker(replica_id))
        if self.lines.open_to(number) is None:
            node.link = (await self.lines.open(number, await self.client.address(number), self.config)).session

    async def close(self) -> None:
        """Close the connections."""
        await self.lines.close()

    async def any_number(self) -> int:
        """Return the id of some broker of the cluster. Raises NetworkError if it names none."""
        nodes = self.client.metadata.nodes or (await self.client.refresh()).nodes
        if not nodes:
            raise NetworkError("the cluster names no broker")
        return next(iter(nodes))

    def version(self, node: ReplayBroker, captured: int) -> int:
        """Return the captured version of Fetch, or the nearest that the broker supports."""
        assert node.link is not None
        versions = node.link.versions
        chosen = versions.nearest(FETCH, captured)
        if chosen is None:
            chosen = versions.best(FETCH)  # raises
        if chosen != captured:
            broker, theirs = versions.broker, versions.ranges[FETCH]
            self.notify(f"Fetch v{captured} in the capture, v{chosen} here: {broker} takes {theirs}")
        return chosen

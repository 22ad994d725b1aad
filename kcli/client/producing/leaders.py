"""The leaders of a topic's partitions: connections to them, and new metadata when they move."""

import asyncio
import contextlib
from collections.abc import Callable

from kcli.client.cluster import Client
from kcli.client.handshake import Session
from kcli.errors import BrokerError, NetworkError


class Leaders:
    """Opens connections and fetches metadata in the background. sessions: open connections by node id.

    refreshed: called after new metadata. changed: called when a connection or metadata has come or failed.
    fail: called with the error of a broker that refuses the client.
    """

    def __init__(
        self,
        client: Client,
        topic: str,
        *,
        refreshed: Callable[[], None],
        changed: Callable[[], None],
        fail: Callable[[NetworkError], None],
    ) -> None:
        self.client, self.topic = client, topic
        self.refreshed, self.changed, self.fail = refreshed, changed, fail
        self.sessions: dict[int, Session] = {}
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def is_busy(self) -> bool:
        """Return whether a connection is being opened, or metadata fetched."""
        return bool(self._opening or self._refreshing)

    def node_of(self, topic: str, partition: int) -> int | None:
        """Return the id of a partition's leader if there is a connection to it. Else begin to connect or to fetch
        metadata, and return None.
        """
        leader = self.client.leader(topic, partition)
        if leader is None:
            self.refresh()
            return None
        session = self.sessions.get(leader.node)
        if session is None or session.connection.error is not None:
            self.open(leader.node)
            return None
        return leader.node

    async def close(self) -> None:
        """Cancel all background tasks. The connections belong to the client."""
        tasks = [task for task in (self._refreshing, *self._opening.values()) if task]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def open(self, node: int) -> None:
        """Connect to a node in the background, unless that is in progress."""
        if node not in self._opening:
            self._opening[node] = asyncio.create_task(self._connect(node))

    async def _connect(self, node: int) -> None:
        try:
            self.sessions[node] = await self.client.session(node)
        except BrokerError as error:
            self.fail(error)
        except NetworkError:
            self.refresh()
            await asyncio.sleep(self.client.retry.delay(1))
        finally:
            del self._opening[node]
            self.changed()

    def refresh(self) -> None:
        """Fetch metadata in the background, at most once per retry.backoff.ms."""
        if self._refreshing is None:
            self._refreshing = asyncio.create_task(self._refresh_quietly())

    async def _refresh_quietly(self) -> None:
        with contextlib.suppress(NetworkError):
            await self.client.refresh([self.topic])
            self.refreshed()
        self.changed()
        await asyncio.sleep(self.client.retry.first)
        self._refreshing = None
        self.changed()

"""A node of the cluster: its listeners, connections, fetch sessions and waiting fetches."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from kcli.broker.fetch.purgatory import Purgatory, draft_key
from kcli.broker.net.connection import Connection, Server
from kcli.broker.net.listening import Listener
from kcli.broker.net.protocols import ListenerOptions
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.broker.partition import Key, Partition
from kcli.broker.resource_configs import LOGGER_NAMES, ROOT
from kcli.broker.share.sessions import ShareSessions
from kcli.errors import NetworkError

if TYPE_CHECKING:
    from kcli.sessions.broker import BrokerSessions
    from kcli.sessions.draft import DraftBroker

MOST_SPARE = 8 << 20  # bytes of free buffers for long requests


class Node:
    """A node of the cluster. id: its node.id; host: the address that it listens on; listeners: by name, with ports.

    rack: its broker.rack. broker: the services that all nodes share. A node must be made in a running event loop.
    """

    def __init__(
        self,
        broker: Server,
        node_id: int,
        host: str,
        listeners: Iterable[ListenerOptions],
        rack: str | None = None,
    ) -> None:
        self.broker, self.id, self.host, self.rack = broker, node_id, host, rack
        self.listeners = {each.name: each for each in listeners}
        self.loop = asyncio.get_running_loop()
        self.connections: set[Connection] = set()
        self.buffers = ReadBuffers(MOST_SPARE)
        self.purgatory = Purgatory()
        self._sessions: BrokerSessions | None = None
        self._drafts: DraftBroker | None = None
        self.share_sessions = ShareSessions(broker.configs.int("group.share.max.share.sessions"))
        self.log_levels = dict.fromkeys(LOGGER_NAMES, "INFO")
        self._open: list[Listener] = []

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return next(iter(self.listeners.values())).port

    @property
    def sessions(self) -> BrokerSessions:
        """The node's fetch sessions, created at the first use."""
        if self._sessions is None:
            from kcli.sessions.broker import BrokerSessions
            from kcli.sessions.cache import FetchSessionCache

            slots = self.broker.configs.int("max.incremental.fetch.session.cache.slots")
            self._sessions = BrokerSessions(FetchSessionCache(slots, shards=self.broker.session_shards))
        return self._sessions

    @property
    def drafts(self) -> DraftBroker:
        """The node's fetch sessions of KIP-227's third draft, created at the first use."""
        if self._drafts is None:
            from kcli.sessions.draft import DraftBroker

            self._drafts = DraftBroker()
        return self._drafts

    async def start(self) -> None:
        """Start to listen. Raises NetworkError if a port is taken, or the host is not an address of this machine."""
        gate, contexts = self.broker.gate, self.broker.security.tls
        for each in self.listeners.values():
            made, tls = partial(Connection, self, each), partial(contexts.of, each.name)
            try:
                opened = Listener(gate, made, self.host or None, each.port, tls=tls, failed=self._no_tls)
            except OSError as error:
                self._close()
                problem = f"cannot listen on {self.host}:{each.port}: {error.strerror or error}"
                raise NetworkError(problem) from None
            self._open.append(opened)
            self.listeners[each.name] = each._replace(port=opened.port)

    def _no_tls(self, client: tuple[str, int], error: OSError) -> None:
        self.broker.complain(f"{client[0]}:{client[1]}: no TLS: {error.strerror or error}")

    async def stop(self) -> None:
        """Accept no more connections, and close the open ones."""
        self._close()
        works = [each.work for each in self.connections if each.work is not None]
        for each in tuple(self.connections):
            each.abort()
        while self.connections:
            await asyncio.sleep(0)
        await asyncio.gather(*works, return_exceptions=True)

    def _close(self) -> None:
        for each in self._open:
            each.close()
        self._open = []

    def disconnect(self, connection: Connection) -> None:
        """Remove a connection that has ended, with its share sessions."""
        self.connections.discard(connection)
        self.share_sessions.disconnect(connection)

    def changed(self, partition: Partition, size: int) -> None:
        """Notify waiting fetches of `size` bytes written to a partition, or (0) of another change to it."""
        for key in partition.keys:
            self._notify(key, size)

    def _notify(self, key: Key, size: int) -> None:
        for session in self._sessions.mark(key) if self._sessions is not None else ():
            self.purgatory.arrive(session.id, size)
        for fetcher in self._drafts.mark(key) if self._drafts is not None else ():
            self.purgatory.arrive(draft_key(fetcher), size)
        self.purgatory.arrive(key, size)

    def set_log_levels(self, levels: Mapping[str, str | None]) -> None:
        """Set the levels of loggers, by name; None for the root's level."""
        for name, level in levels.items():
            self.log_levels[name] = level or self.log_levels[ROOT]

    def evict_sessions(self) -> int:
        """Evict all fetch sessions and wake all waiting fetches. Returns the number of sessions."""
        evicted = list(self.sessions.cache)
        for each in evicted:
            self.sessions.cache.remove(each)
        self.purgatory.wake_all()
        return len(evicted)

    def close_idle(self, seconds: float) -> None:
        """Close the connections that were idle for so many seconds."""
        oldest = self.broker.clock.time() - seconds
        for each in tuple(self.connections):
            if each.last_used < oldest and not each.busy:
                each.close()

"""The proxy: listeners for every broker of a cluster, in this event loop."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable
from typing import Self

from kcli.broker.net.listening import Gate, Listener, most_connections
from kcli.broker.net.read_buffers import ReadBuffers
from kcli.client.address import WILDCARDS, Address, parse_bootstrap
from kcli.client.calls import call
from kcli.client.connection import BrokerConnection
from kcli.client.properties import ClientConfig
from kcli.counting import counted
from kcli.errors import KcliError, NetworkError
from kcli.proxy.connection import Connection
from kcli.proxy.faulting import FaultedRequests, HeardTopicNames, ProxyFaultRules
from kcli.proxy.nodes import BrokerRoute, ListenerAddresses, Nodes
from kcli.proxy.policy import OPEN, Policy
from kcli.proxy.recording import Recorder
from kcli.proxy.request_stream import Awaited, RequestStream
from kcli.proxy.rewriting import AddressRewriter
from kcli.schemas.apikeys import METADATA

STOP_SECONDS = 5.0  # the wait for responses in progress when the proxy stops
LEARN_SECONDS = 5.0  # the wait for the brokers' addresses at the start
LEARN_VERSION = 1  # of Metadata; every broker since 0.10 has it
EVERYWHERE_FREE = ListenerAddresses()
MOST_NOTES = 1000  # the most lines about connections


class Proxy:
    """A proxy, which listens within its `async with` block. config: bootstrap.servers, TLS and timeouts of the
    connections to brokers.

    places: the addresses to listen on. tls: for connections of clients, None for plaintext.
    policy: allowed clients and APIs, limits and fault rules; `change` replaces it.
    note: called with lines about brokers and connections. record: called with the bytes of a pcapng file of the
    traffic.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        places: ListenerAddresses = EVERYWHERE_FREE,
        dialect: str | None = None,
        tls: ssl.SSLContext | None = None,
        policy: Policy = OPEN,
        note: Callable[[str], None] = lambda text: None,
        record: Callable[[bytes], None] | None = None,
    ) -> None:
        self.config, self.places, self.tls, self.dialect = config, places, tls, dialect
        self.port = places.port
        self.connections: set[Connection] = set()
        self.buffers = ReadBuffers()
        self._note, self._noted = note, 0
        self.recorder = None if record is None else Recorder(record)
        self.nodes = Nodes(places, config, self._listen, self.note)
        self.policy = policy
        self.rules, self.names = ProxyFaultRules(policy.faults, policy.seed, self.note), HeardTopicNames()
        self.rewriter = AddressRewriter(self.nodes.translate, self.note, dialect, self.names.learn)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Find the brokers, and listen. Raises NetworkError if none can be reached, or a port is taken."""
        bootstrap = parse_bootstrap(self.config["bootstrap.servers"])
        self.gate = Gate(self._limit(), self.note)
        found = await self._find_brokers(bootstrap)
        try:
            self.port = self.nodes.start(bootstrap)
        except OSError as error:
            where = Address(self.places.host or "*", self.places.port)
            raise NetworkError(f"cannot listen on {where}: {error.strerror or error}") from None
        for node in sorted(found):
            self.nodes.translate(node, found[node], self.places.host)
        if self.recorder is not None:
            self.recorder.flush()  # so that readers of the file see its beginning before the first client

    def change(self, policy: Policy, tls: ssl.SSLContext | None = None) -> None:
        """Replace the policy, and the TLS of new connections (None keeps it). If the policy is another one, open
        connections are ended, and clients connect again. Raises UsageError for an invalid fault rule.
        """
        rules = ProxyFaultRules(policy.faults, policy.seed, self.note)
        changed, self.policy, self.rules = policy != self.policy, policy, rules
        self.tls = tls or self.tls
        self.gate.set_limit(self._limit())
        for connection in tuple(self.connections) if changed else ():
            connection.stop()

    def _limit(self) -> int:
        """Return how many connections may be open."""
        possible = most_connections(0) // 2  # each has one to the broker, too
        return possible if self.policy.connections is None else min(self.policy.connections, possible)

    def admits(self, host: str) -> bool:
        """Return whether a client of this address may connect now; if not, write a line."""
        if not self.policy.admits(host):
            self.note(f"{host}: not in an allowed network: closed")
            return False
        most = self.policy.per_address
        if most is not None and sum(each.host == host for each in self.connections) >= most:
            self.note(f"{host}: {counted(most, 'connection')} open already: closed")
            return False
        return True

    async def stop(self) -> None:
        """Accept no more connections and requests, and wait up to STOP_SECONDS for responses."""
        for each in self.nodes:
            each.close()
        for connection in tuple(self.connections):
            connection.stop()
        end = asyncio.get_running_loop().time() + STOP_SECONDS
        while self.connections and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        self.abort()
        while self.connections:
            await asyncio.sleep(0)
        if self.recorder is not None:
            self.recorder.flush()

    def abort(self) -> None:
        """Close all connections at once."""
        for connection in tuple(self.connections):
            connection.abort()

    @property
    def faults(self) -> bool:
        """Return whether there are fault rules."""
        return len(self.rules) > 0

    def new_requests(self, awaited: deque[Awaited]) -> RequestStream | FaultedRequests:
        """Make the reader of one connection's requests."""
        if not self.faults:
            return RequestStream(awaited, self.dialect, self.policy.allows)
        return FaultedRequests(self.rules, awaited, self.names, self.dialect, self.policy.allows)

    @property
    def bootstrap(self) -> str:
        """The first listener as "host:port", for a client on this machine."""
        host = self.places.host
        return str(Address("127.0.0.1" if host in WILDCARDS else host, self.port))

    def note(self, text: str) -> None:
        """Write a line, unless there were too many."""
        self._noted += 1
        if self._noted <= MOST_NOTES:
            self._note(text)
        if self._noted == MOST_NOTES:
            self._note("further lines like this are not written")

    def _listen(self, route: BrokerRoute, at: Address) -> Listener:
        def made() -> asyncio.BaseProtocol:
            return Connection(self, route).client

        return Listener(
            self.gate,
            made,
            at.host or None,
            at.port,
            tls=lambda: self.tls,
            failed=self._tell_failure,
            admits=self.admits,
        )

    def _tell_failure(self, client: tuple[str, int], error: OSError) -> None:
        reason = error.reason if isinstance(error, ssl.SSLError) and error.reason else error.strerror or str(error)
        self.note(f"{Address(*client)}: no TLS: {reason.replace('_', ' ').lower()}")

    async def _find_brokers(self, bootstrap: tuple[Address, ...]) -> dict[int, Address]:
        """Return the brokers' addresses by id, {} if the brokers require a login for Metadata. Raises NetworkError if
        none can be reached.
        """
        failure: NetworkError | None = None
        for address in bootstrap:
            try:
                connection = await BrokerConnection.open(address, self.config)
            except NetworkError as error:
                failure = error
                continue
            try:
                async with asyncio.timeout(LEARN_SECONDS):
                    response = await call(connection, METADATA, LEARN_VERSION, {"topics": []})
            except (KcliError, TimeoutError):
                return {}  # it requires a login; the addresses come with responses to clients that log in
            finally:
                await connection.close()
            return {each["nodeId"]: Address(each["host"], each["port"]) for each in response["brokers"]}
        assert failure is not None
        raise failure

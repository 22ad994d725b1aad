"""The brokers of the cluster as clients reach them: each has a listener, from when a response first names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kcli.broker.net.listening import Listener
from kcli.client.address import Address
from kcli.client.dialing import dial
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.proxy.side import Side

MOST_NODES = 1000  # listeners that a response can make the proxy open
PORTS_TRIED = 100  # behind the last one, for a broker that is new
WILDCARDS = ("", "0.0.0.0", "::")


class BrokerRoute:
    """Where a listener's connections lead: to the first of some addresses that takes them. config: TLS, timeouts."""

    def __init__(self, addresses: Sequence[Address], config: ClientConfig) -> None:
        self.addresses, self.config = tuple(addresses), config

    async def dial(self, make: Callable[[], Side]) -> Address:
        """Connect; the address that was reached. NetworkError: that of the last address."""
        failure: NetworkError | None = None
        for address in self.addresses:
            try:
                await dial(address, self.config, make)
            except NetworkError as error:
                failure = error
            else:
                return address
        assert failure is not None
        raise failure


class Nodes:
    """Brokers by id, each with its listener. host, port: of the first listener, None of which is a broker's own.

    listen: makes a listener for a route at a port. note: gets a line for each broker that is new, or moves.
    """

    def __init__(
        self,
        host: str,
        config: ClientConfig,
        listen: Callable[[BrokerRoute, int], Listener],
        note: Callable[[str], None],
    ) -> None:
        self.host, self.config, self.listen, self.note = host, config, listen, note
        self._routes: dict[int, BrokerRoute] = {}
        self._listeners: dict[int, Listener] = {}
        self._next = 0
        self._bootstrap: Listener | None = None

    def start(self, bootstrap: Sequence[Address], port: int) -> int:
        """Listen for connections to any broker; the port. port 0: a free one. OSError: it is taken."""
        self._bootstrap = self.listen(BrokerRoute(bootstrap, self.config), port)
        self._next = port and self._bootstrap.port + 1
        return self._bootstrap.port

    def translate(self, node: int, there: Address, reached: str) -> Address | None:
        """Where a client that reached the proxy by a host reaches this broker; None: it has no address that counts."""
        if node < 0 or not there.host or not 0 < there.port < 1 << 16:
            return None
        route = self._routes.get(node)
        if route is None:
            if not self._open(node, there):
                return None
        elif route.addresses != (there,):
            self.note(f"broker {node} is at {there} now, not at {route.addresses[0]}")
            route.addresses = (there,)
        return Address(reached if self.host in WILDCARDS else self.host, self._listeners[node].port)

    def _open(self, node: int, there: Address) -> bool:
        if len(self._routes) >= MOST_NODES:
            self.note(f"broker {node} at {there}: no listener, there are {MOST_NODES} already")
            return False
        route = BrokerRoute([there], self.config)
        try:
            listener = self._listen(route)
        except OSError as error:
            self.note(f"broker {node} at {there}: no listener: {error.strerror or error}")
            return False
        self._routes[node], self._listeners[node] = route, listener
        self.note(f"broker {node} at {there}: {Address(self.host or '*', listener.port)}")
        return True

    def _listen(self, route: BrokerRoute) -> Listener:
        """A listener at the next port that is free. OSError: none is."""
        if not self._next:
            return self.listen(route, 0)
        last = min(self._next + PORTS_TRIED, (1 << 16) - 1)
        for port in range(self._next, last):
            try:
                listener = self.listen(route, port)
            except OSError:
                continue
            self._next = port + 1
            return listener
        return self.listen(route, last)

    def __iter__(self) -> Iterator[Listener]:
        if self._bootstrap is not None:
            yield self._bootstrap
        yield from self._listeners.values()

"""The brokers of the cluster. Each gets a listener when a response first names it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kcli.broker.net.listening import Listener
from kcli.client.address import WILDCARDS, Address
from kcli.client.dialing import dial
from kcli.client.properties import ClientConfig
from kcli.errors import NetworkError
from kcli.proxy.side import ProxySide

MOST_NODES = 1000  # the most listeners, which responses make the proxy open


class BrokerRoute:
    """The destination of a listener's connections: the first of several addresses that accepts one.
    config: for TLS and timeouts.
    """

    def __init__(self, addresses: Sequence[Address], config: ClientConfig) -> None:
        self.addresses, self.config = tuple(addresses), config

    async def dial(self, make: Callable[[], ProxySide]) -> Address:
        """Connect; return the address that accepted. Raises the NetworkError of the last address."""
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


@dataclass(frozen=True)
class ListenerAddresses:
    """The addresses of the proxy, and those that it advertises.

    host, port: of the first listener. A broker's port is `port + 1 + id`, or a free one if port is 0 or there is no
    such port. mapped: other addresses of brokers, by id. advertised: the host for clients; "" for the listener's host,
    or for the host by which the client reached it if it listens on all addresses.
    """

    host: str = "127.0.0.1"
    port: int = 0
    mapped: Mapping[int, Address] = field(default_factory=dict)
    advertised: str = ""

    def of(self, node: int) -> Address:
        """Return the address of a broker's listener; port 0 for any free port."""
        if node in self.mapped:
            return self.mapped[node]
        port = self.port and self.port + 1 + node
        return Address(self.host, port if port < 1 << 16 else 0)

    def advertised_host(self, host: str, reached: str) -> str:
        """Return the host to advertise for a listener. reached: the host by which the client reached the proxy."""
        return self.advertised or (reached if host in WILDCARDS else host)


class Nodes:
    """Brokers by id, each with its listener.

    listen: opens a listener for a route at an address. note: called with a line about each broker that is new or moves.
    """

    def __init__(
        self,
        places: ListenerAddresses,
        config: ClientConfig,
        listen: Callable[[BrokerRoute, Address], Listener],
        note: Callable[[str], None],
    ) -> None:
        self.places, self.config, self.listen, self.note = places, config, listen, note
        self._routes: dict[int, BrokerRoute] = {}
        self._listeners: dict[int, Listener] = {}
        self._failed: set[int] = set()  # brokers whose listener could not be opened, to log that once
        self._bootstrap: Listener | None = None

    def start(self, bootstrap: Sequence[Address]) -> int:
        """Listen for connections to any broker. Returns the port. Raises OSError if it is taken."""
        self._bootstrap = self.listen(BrokerRoute(bootstrap, self.config), Address(self.places.host, self.places.port))
        return self._bootstrap.port

    def translate(self, node: int, address: Address, reached: str) -> Address | None:
        """Return the address at which a client that reached the proxy by this host reaches the broker; None if the
        broker has no valid address.
        """
        if node < 0 or not address.host or not 0 < address.port < 1 << 16:
            return None
        route = self._routes.get(node)
        if route is None:
            if not self._open(node, address):
                return None
        elif route.addresses != (address,):
            self.note(f"broker {node} is at {address} now, not at {route.addresses[0]}")
            route.addresses = (address,)
        return Address(self.places.advertised_host(self.places.of(node).host, reached), self._listeners[node].port)

    def _open(self, node: int, address: Address) -> bool:
        """Open a broker's listener. Returns False if that fails, which is logged once; the next response tries
        again.
        """
        if len(self._routes) >= MOST_NODES:
            self.note(f"broker {node} at {address}: no listener, there are {MOST_NODES} already")
            return False
        route, place = BrokerRoute([address], self.config), self.places.of(node)
        try:
            listener = self.listen(route, place)
        except OSError as error:
            if node not in self._failed:
                self._failed.add(node)
                self.note(f"broker {node} at {address}: no listener: {error.strerror or error}")
            return False
        self._routes[node], self._listeners[node] = route, listener
        none = "" if place.port or not self.places.port else f", as no port is left for its id (--map {node}=HOST:PORT)"
        self.note(f"broker {node} at {address}: {Address(place.host or '*', listener.port)}{none}")
        return True

    def __iter__(self) -> Iterator[Listener]:
        if self._bootstrap is not None:
            yield self._bootstrap
        yield from self._listeners.values()

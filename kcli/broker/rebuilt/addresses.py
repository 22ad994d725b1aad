"""The addresses of the brokers in a capture, from responses with metadata, coordinators and leaders, and from broker
registrations.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcli.legible import host_port
from kcli.schemas.apikeys import BROKER_REGISTRATION, DESCRIBE_CLUSTER, FETCH, FIND_COORDINATOR, METADATA, PRODUCE

Message = Mapping[str, Any]
Row = tuple[int, str, int]


class Addresses:
    """The brokers' addresses that a capture shows. nodes: the ids of all brokers."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self._by_address: dict[str, int] = {}
        self._by_port: dict[int, set[int]] = {}

    @staticmethod
    def concerns(api_key: int) -> bool:
        """Return whether exchanges of this API have addresses."""
        return api_key in ROWS

    def take(self, api_key: int, request: Message, response: Message) -> None:
        """Add the addresses in an exchange."""
        for node, host, port in ROWS[api_key](request, response) if api_key in ROWS else ():
            if node < 0:
                continue
            self.nodes.add(node)
            self._by_address[host_port(host, port)] = node
            self._by_port.setdefault(port, set()).add(node)

    def node(self, server: str) -> int | None:
        """Return the id of the broker at "address:port", else of the only broker with that port (brokers may be listed
        by host name); None if it is unknown.
        """
        if server in self._by_address:
            return self._by_address[server]
        same = self._by_port.get(int(server.rpartition(":")[2]), self.nodes)
        return next(iter(same)) if len(same) == 1 else None

    def assign(self, servers: Iterable[str]) -> None:
        """Assign new node ids to those of these addresses that belong to no known node, unless there is only one node.

        Unknown addresses count as different brokers, each with sessions of its own.
        """
        unknown = sorted(server for server in set(servers) if self.node(server) is None)
        if len(self.nodes) == 1 or (not self.nodes and len(unknown) == 1):
            return
        for server in unknown:
            node = max(self.nodes, default=0) + 1
            self.nodes.add(node)
            self._by_address[server] = node


def brokers(_request: Message, response: Message) -> Iterable[Row]:
    return ((each["nodeId"], each.get("host", ""), each.get("port", -1)) for each in response.get("brokers") or ())


def described(_request: Message, response: Message) -> Iterable[Row]:
    return ((each["brokerId"], each["host"], each["port"]) for each in response.get("brokers") or ())


def endpoints(_request: Message, response: Message) -> Iterable[Row]:
    return ((each["nodeId"], each["host"], each["port"]) for each in response.get("nodeEndpoints") or ())


def coordinators(_request: Message, response: Message) -> Iterable[Row]:
    rows = response.get("coordinators") or ([response] if "nodeId" in response else [])
    return ((each["nodeId"], each["host"], each["port"]) for each in rows)


def registered(request: Message, _response: Message) -> Iterable[Row]:
    return ((request["brokerId"], each["host"], each["port"]) for each in request.get("listeners") or ())


ROWS: Mapping[int, Callable[[Message, Message], Iterable[Row]]] = {
    PRODUCE: endpoints,
    FETCH: endpoints,
    METADATA: brokers,
    FIND_COORDINATOR: coordinators,
    DESCRIBE_CLUSTER: described,
    BROKER_REGISTRATION: registered,
}

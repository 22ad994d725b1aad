"""Brokers by id: when they get a listener, and where it leads."""

from typing import Any, cast

import pytest

from kcli.broker.net.listening import Listener
from kcli.client.address import Address
from kcli.client.properties import ClientConfig
from kcli.proxy.nodes import BrokerRoute, ListenerAddresses, Nodes

TAKEN: set[int] = set()


class Listening:
    def __init__(self, route: BrokerRoute, at: Address) -> None:
        if at.port in TAKEN:
            raise OSError(98, "Address already in use")
        self.route, self.port = route, at.port or 40000


def nodes(host: str = "proxy", port: int = 9192, **more: Any) -> tuple[Nodes, list[str]]:
    notes: list[str] = []
    places = ListenerAddresses(host, port, **more)
    made = Nodes(places, ClientConfig({}), lambda *where: cast(Listener, Listening(*where)), notes.append)
    made.start([Address("boot", 9092)])
    return made, notes


def port_of(made: Nodes, node: int) -> int | None:
    found = made.translate(node, Address("b", 9000 + node), "")
    return None if found is None else found.port


def test_a_brokers_port_is_behind_the_first_one_by_its_id() -> None:
    """Whichever are up when it starts, and whichever come first."""
    for order in ((4, 0, 9), (9, 4, 0), (0,)):
        made, notes = nodes()
        assert [port_of(made, node) for node in order] == [9193 + node for node in order]
        assert notes[0] == f"broker {order[0]} at b:{9000 + order[0]}: proxy:{9193 + order[0]}"
        assert [each.port for each in made] == [9192, *(9193 + node for node in order)]


def test_a_port_that_is_taken_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other broker's port changes, and it is tried again."""
    made, notes = nodes()
    TAKEN.add(9195)
    try:
        assert [port_of(made, node) for node in (1, 2, 2, 3)] == [9194, None, None, 9196]
    finally:
        TAKEN.remove(9195)
    assert [note for note in notes if "no listener" in note] == [
        "broker 2 at b:9002: no listener: Address already in use"
    ]
    assert port_of(made, 2) == 9195


def test_brokers_that_have_a_place_of_their_own() -> None:
    made, _ = nodes(mapped={101: Address("other", 9301), 2: Address("", 9302)})
    at = Address("b", 1)
    found = [made.translate(node, at, "seen") for node in (101, 2, 3)]
    assert found == [Address("other", 9301), Address("seen", 9302), Address("proxy", 9196)]
    made, _ = nodes("", mapped={101: Address("other", 9301)}, advertised="told")
    assert [made.translate(node, at, "seen") for node in (101, 2)] == [Address("told", 9301), Address("told", 9195)]


def test_port_0_means_free_ones() -> None:
    made, _ = nodes(port=0)
    assert made.translate(1, Address("b", 1), "") == Address("proxy", 40000)


def test_what_is_no_address_has_no_listener() -> None:
    made, notes = nodes()
    for node, there in ((-1, Address("b", 1)), (1, Address("", 1)), (1, Address("b", -1)), (1, Address("b", 1 << 16))):
        assert made.translate(node, there, "") is None
    assert not notes


def test_a_broker_that_moves_is_followed() -> None:
    made, notes = nodes()
    first = made.translate(1, Address("old", 1), "")
    assert made.translate(1, Address("new", 2), "") == first
    assert notes[-1] == "broker 1 is at new:2 now, not at old:1"
    _, listener = made
    assert cast(Listening, listener).route.addresses == (Address("new", 2),)


def test_a_response_opens_only_so_many_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kcli.proxy.nodes.MOST_NODES", 2)
    made, notes = nodes()
    assert [made.translate(node, Address("b", 1), "") is None for node in range(4)] == [False, False, True, True]
    assert "no listener, there are 2 already" in notes[-1]


def test_a_broker_whose_id_leaves_no_port_has_a_free_one() -> None:
    """A client that gets the broker's own address would go past the proxy without a word."""
    made, notes = nodes(port=65534)
    assert made.translate(0, Address("b", 1), "") == Address("proxy", 65535)
    assert made.translate(1001, Address("b", 1), "") == Address("proxy", 40000)
    assert notes[-1] == "broker 1001 at b:1: proxy:40000, as no port is left for its id (--map 1001=HOST:PORT)"

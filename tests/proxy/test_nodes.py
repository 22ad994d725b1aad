"""Brokers by id: when they get a listener, and where it leads."""

from __future__ import annotations

from typing import cast

import pytest

from kcli.broker.net.listening import Listener
from kcli.client.address import Address
from kcli.client.properties import ClientConfig
from kcli.proxy.nodes import BrokerRoute, Nodes

TAKEN = {9193, 9195}


class Listening:
    def __init__(self, route: BrokerRoute, port: int) -> None:
        if port in TAKEN:
            raise OSError(98, "Address already in use")
        self.route, self.port = route, port or 40000


def nodes(host: str = "proxy", port: int = 9192) -> tuple[Nodes, list[str]]:
    notes: list[str] = []
    made = Nodes(host, ClientConfig({}), lambda *where: cast(Listener, Listening(*where)), notes.append)
    made.start([Address("boot", 9092)], port)
    return made, notes


def test_each_broker_has_the_next_port_that_is_free() -> None:
    made, notes = nodes()
    assert [made.translate(node, Address("b", 9000 + node), "") for node in (4, 2, 4, 9)] == [
        Address("proxy", port) for port in (9194, 9196, 9194, 9197)
    ]
    assert notes[0] == "broker 4 at b:9004: proxy:9194"
    assert [each.port for each in made] == [9192, 9194, 9196, 9197]


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


def test_no_port_left() -> None:
    made, notes = nodes(port=65534)
    made.translate(1, Address("b", 1), "")
    TAKEN.add(65535)
    try:
        assert made.translate(2, Address("b", 1), "") is None
    finally:
        TAKEN.remove(65535)
    assert "Address already in use" in notes[-1]

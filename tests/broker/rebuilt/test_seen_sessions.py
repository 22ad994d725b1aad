"""Which addresses are of one broker, and how many shards its cache of sessions has."""

import pytest

from kcli.broker.rebuilt.addresses import Addresses
from kcli.broker.rebuilt.capture_history import SeenSessions, shards_of
from kcli.broker.rebuilt.session_capacity import FetchKey, SessionCapacity

WIDTH = (2**31 - 1) // 8


def granted(*sessions: int) -> SessionCapacity:
    made = SessionCapacity()
    for number, session in enumerate(sessions, 1):
        head = {"sessionId": 0, "sessionEpoch": 0}
        made.take(
            FetchKey("s-c", number, number), number, head, {"errorCode": 0, "sessionId": session, "responses": [{}]}
        )
    return made


@pytest.mark.parametrize(
    ("newest", "sessions", "shards"),
    [
        (-1, (5, 6), 8),
        (17, (5, 6), 8),
        (15, (5, WIDTH + 5), 1),
        (16, (5, WIDTH + 5, 2 * WIDTH + 1), 8),
        (16, (5, 4 * WIDTH, 2 * WIDTH + 1), 1),
    ],
)
def test_shards_came_with_a_release(newest: int, sessions: tuple[int, ...], shards: int) -> None:
    assert shards_of(newest, [granted(*sessions)]) == shards


def test_two_listeners_of_one_broker_share_its_sessions() -> None:
    addresses, seen = Addresses(), SeenSessions()
    for port in (9092, 9093):
        addresses.take(3, {}, {"brokers": [{"nodeId": 4, "host": "h", "port": port}]})
    seen.by_server = {"h:9092": granted(5), "h:9093": granted(WIDTH + 5)}
    seen.settle(addresses)
    assert seen.by_server["h:9092"] is seen.by_server["h:9093"]
    assert seen.by_server["h:9092"].saw_grant(WIDTH + 5)


def test_addresses_that_nothing_names_are_brokers_of_their_own() -> None:
    addresses, seen = Addresses(), SeenSessions()
    seen.by_server = {"h:9092": granted(5), "h:9094": granted(6)}
    seen.settle(addresses)
    assert addresses.nodes == {1, 2}
    assert addresses.node("h:9092") != addresses.node("h:9094")


def test_one_address_alone_needs_no_node() -> None:
    addresses, seen = Addresses(), SeenSessions()
    seen.by_server = {"h:9092": granted(5)}
    seen.settle(addresses)
    assert addresses.nodes == set()

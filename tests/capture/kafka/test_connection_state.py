"""What is under way on a connection, counted and handed over."""

from kcli.capture.kafka.bodies import Bodies
from kcli.capture.kafka.connection_state import ConnectionState
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.kafka.pending import REQUEST_SIZE, Pending
from tests.capture.messages import metadata

ENDS = ("10.0.0.1:40000", "10.0.0.2:9092")
ASKED = metadata(1)[0][4:]


def made(client: int | None = 0) -> ConnectionState:
    items: list[Exchange | Event] = []
    return ConnectionState(ENDS, client, (True, True), Bodies(), items.append)


def test_what_is_released_is_restored() -> None:
    state = made()
    waiting = (1, 3, 12, 5, ASKED, False, 4, -1, 0, None)
    state.restore(True, [waiting], [b"abc", b""], (10, 20), (5, 6), 4, True, (3, 0), 2, b"app")
    assert state.steady and state.weight == REQUEST_SIZE + len(ASKED) + 3
    assert [stream.received for stream in state.streams] == [13, 20]
    assert state.release() == ([waiting], [b"abc", b""], (5, 6), (3, 0), 2, b"app")
    assert state.weight == 0


def test_a_connection_is_steady_where_handing_it_over_costs_little() -> None:
    state = made()
    state.restore(True, [], [bytes(1 << 18), b""], (0, 0), (5, 6), 4, True, (0, 0), 0, b"")
    found = [state.steady]
    state.release()
    found.append(state.steady)
    state.pending.append(Pending(1, 3, 12, 5, None))
    assert [*found, state.steady] == [False, True, False]


def test_a_connection_with_many_waiting_requests_is_steady_once_reading_it_took_as_long_as_handing_it_over() -> None:
    waiting = [(number, 3, 12, 5, bytes(40), False, 0, -1, -1) for number in range(1000)]
    state = made()
    state.restore(True, waiting, [b"", b""], (0, 0), (5, 6), 4, True, (0, 0), 0, b"")
    found = [state.steady]
    state.streams[0].receive(bytes(state.weight // 8))
    assert [*found, state.steady] == [False, True]


def test_nothing_is_steady_before_it_is_proved() -> None:
    state = made()
    state.restore(True, [], [b"", b""], (0, 0), (0, 0), 0, False, (0, 0), 0, b"")
    assert not state.steady


def test_who_is_who() -> None:
    assert str(made().link) == str(made(None).link) == "10.0.0.2:9092-10.0.0.1:40000"
    assert str(made(1).link) == "10.0.0.1:40000-10.0.0.2:9092"


def test_one_of_connections_with_the_same_ends_has_its_number_at_the_client() -> None:
    ends = tuple(f"{end}#2" for end in ENDS)
    for client in (0, None):
        state = ConnectionState((ends[0], ends[1]), client, (True, True), Bodies(), lambda item: None)
        assert state.link.server == "10.0.0.2:9092" and state.link.client == "10.0.0.1:40000#2"

"""Sessions begin, move and end, and what breaks a rule is counted for the session that it is about."""

from kcli.sessions.fetch_exchange import FetchExchange
from kcli.sessions.registry import REMEMBERED, SessionRegistry
from kcli.sessions.session import ObservedSession
from kcli.sessions.session_findings import SessionFinding


def fetch(ns: int, granted: int, connection: str = "b:1-c:2", epoch: int = 0, session_id: int = 0) -> FetchExchange:
    header = {"requestApiVersion": 12, "correlationId": ns, "clientId": "app"}
    x = FetchExchange("b:1", connection, header, ns, ns + 1)
    return x.take((session_id, epoch, 9, 0, -1, []), (0, 0, granted, []), True)


def test_a_session_begins_is_found_by_its_id_and_ends() -> None:
    over: list[ObservedSession] = []
    found: list[SessionFinding] = []
    registry = SessionRegistry(found.append, over.append)
    registry.begin(fetch(10, 7))
    session = registry.sessions["b:1", 7]
    assert (registry.opened, registry.holds) == (1, {("b:1-c:2", "app"): 7})
    registry.find(fetch(11, 7), "epoch-jump", 7, "epoch 3 where 1 is due")
    assert session.findings == 1 and [finding.session_id for finding in found] == [7]
    registry.end(session, "closed", 20)
    assert (registry.sessions, registry.holds, over) == ({}, {}, [])
    registry.report_ended()
    assert over == [session] and not registry.ended


def test_sessions_of_a_fetch_that_was_asked_for() -> None:
    registry = SessionRegistry()
    registry.begin(fetch(10, 7))
    registry.begin(fetch(11, 8))
    old, other = registry.sessions["b:1", 7], registry.sessions["b:1", 8]
    registry.end(old, "replaced", 20)
    registry.begin(fetch(20, 9, session_id=7))
    registry.choose(fetch(20, 9, session_id=7))
    assert (old.chosen, other.chosen, registry.sessions["b:1", 9].chosen) == (True, False, True)
    registry.count_sessionless(fetch(30, 0, epoch=-1))
    registry.choose(fetch(30, 0, epoch=-1))
    assert registry.sessionless["b:1", "app"].chosen
    registry.choose(fetch(40, 0, "x:1-y:2", 5, 99))  # of a session that nobody has seen


def test_of_many_that_ended_the_oldest_are_reported_at_once() -> None:
    over: list[ObservedSession] = []
    registry = SessionRegistry(on_end=over.append)
    for number in range(1, REMEMBERED + 3):
        registry.begin(fetch(number, number))
        registry.end(registry.sessions["b:1", number], "closed", number)
    assert [session.session_id for session in over] == [1, 2]


def test_an_id_that_comes_again_is_another_session() -> None:
    """Also where the first one was still open."""
    over: list[ObservedSession] = []
    registry = SessionRegistry(on_end=over.append)
    for number, ended in enumerate((True, False, True)):
        former = registry.sessions.get(("b:1", 7))
        if former is not None:
            registry.end(former, "id taken over", number)
        registry.begin(fetch(10 + number, 7))
        if ended:
            registry.end(registry.sessions["b:1", 7], "closed", 20 + number)
    registry.report_ended()
    assert [(each.first_ns, each.end) for each in over] == [(10, "closed"), (11, "id taken over"), (12, "closed")]


def test_only_sessions_of_the_connection_are_blurred() -> None:
    registry = SessionRegistry()
    registry.begin(fetch(1, 7, "b:1-c:2"))
    registry.begin(fetch(2, 8, "b:1-c:3"))
    registry.blur("b:1-c:2")
    assert [session.complete for session in registry.sessions.values()] == [False, True]
    assert registry.holds == {("b:1-c:3", "app"): 8}
    registry.blur(None)
    assert not any(session.complete for session in registry.sessions.values()) and not registry.holds


def test_a_session_that_moves_is_blurred_with_its_new_connection() -> None:
    registry = SessionRegistry()
    registry.begin(fetch(1, 7, "b:1-c:2"))
    session = registry.sessions["b:1", 7]
    registry.move(session, "b:1-c:9")
    assert (session.connection, session.complete) == ("b:1-c:9", False)


def test_a_closing_fetch_counts_for_its_session_and_any_other_for_the_client() -> None:
    registry = SessionRegistry()
    registry.begin(fetch(1, 7))
    session = registry.sessions["b:1", 7]
    registry.end(session, "closed", 2)
    registry.count_sessionless(fetch(3, 0, epoch=-1, session_id=7))
    assert (session.fetches, registry.sessionless) == (2, {})
    registry.count_sessionless(fetch(4, 0, epoch=-1))
    registry.count_sessionless(fetch(5, 0))
    (client,) = registry.sessionless.values()
    assert (client.fetches, client.not_wanted, client.not_granted) == (2, 1, 1)

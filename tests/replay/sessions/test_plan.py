import operator
from functools import partial

from kcli.replay.sessions.plan import make_plan
from tests.replay.sessions.made import fetch

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


def test_a_connection_is_a_fetcher_and_steps_have_their_time() -> None:
    plan = make_plan(
        [
            fetch(2.5, {T0: 4}, session=(7, 1), granted=7),
            fetch(1, {T0: 3}, {T0: 0}, granted=7),
            fetch(2, {U0: 0}, {U0: 5}, connection="s:1-c:2"),
        ]
    )
    assert [(each.label, [step.seconds for step in each.steps]) for each in plan.fetchers] == [
        ("c s:1-c:1", [0.0, 1.5]),
        ("c s:1-c:2", [1.0]),
    ]
    assert [step.is_full for step in plan.fetchers[0].steps] == [True, False]
    assert plan.fetches == 3
    assert plan.partitions() == {"t": 1, "u": 1}
    assert plan.fetchers[0].steps[0].captured.max_wait_ms == 500


def test_a_client_that_reconnects_goes_on_with_its_session() -> None:
    plan = make_plan(
        [
            fetch(0, {T0: 0}, {T0: 0}, granted=7),
            fetch(1, {T0: 0}, {T0: 0}, session=(7, 0), granted=8, connection="s:1-c:2"),
            fetch(2, session=(8, 1), granted=8, connection="s:1-c:2"),
            fetch(3, {T0: 0}, {T0: 0}, session=(7, 0), granted=9, connection="other:1-c:3"),
        ]
    )
    assert [[step.reconnect for step in each.steps] for each in plan.fetchers] == [[False, True, False], [False]]


def test_what_can_not_be_replayed_is_counted() -> None:
    plan = make_plan(
        [
            fetch(0, {("__cluster_metadata", 0): 0}, {}),
            fetch(1, {T0: 0}, answered=False),
            fetch(2, {T0: 0, ("__cluster_metadata", 0): 0}, {T0: 1}, replica=3),
        ]
    )
    assert dict(plan.left_out) == {
        "of the metadata log": 1,
        "of the metadata log, in part,": 1,
        "without a response": 1,
    }
    assert [key for key, _ in plan.fetchers[0].steps[0].captured.asked] == [T0]
    assert (plan.fetches, plan.followers) == (1, 1)


def test_a_session_older_than_the_capture_carries_what_its_responses_hold() -> None:
    plan = make_plan(
        [
            fetch(0, {U0: 5}, {T0: 10}, session=(7, 40), granted=7),
            fetch(1, {}, {T1: 10}, session=(7, 41), granted=7, forgotten={"v": [2]}),
            fetch(2, {T0: 1}, {T0: 0}, session=(7, 0), granted=9),
            fetch(3, {}, {T0: 3}, session=(9, 1), granted=9),
        ]
    )
    assert plan.fetchers[0].carried == {U0, T0, T1, ("v", 2)}
    assert plan.partitions() == {"t": 2, "u": 1, "v": 3}


def test_the_close_of_a_session_is_known() -> None:
    plan = make_plan([fetch(0, session=(7, -1)), fetch(1, {T0: 0}, {T0: 0}, session=(0, -1))])
    assert [step.is_close for step in plan.fetchers[0].steps] == [True, False]


def test_a_session_is_replayed_whole_or_not_at_all() -> None:
    fetches = [
        fetch(0, {T0: 0}, {T0: 0}, granted=7),
        fetch(1, session=(7, 1), granted=7),
        fetch(2, session=(7, -1)),
        fetch(3, {T1: 0}, {T1: 0}, granted=8),
        fetch(4, session=(8, 1), granted=8, connection="s:1-c:9"),
        fetch(5, {U0: 0}, {U0: 0}, granted=9, connection="s:1-c:2", replica=3),
    ]
    for wanted, seconds in ((fetches[2], [0, 1, 2]), (fetches[3], [0, 1]), (fetches[4], [0, 1]), (fetches[5], [0])):
        plan = make_plan(fetches, partial(operator.is_, wanted))
        assert [[step.seconds for step in each.steps] for each in plan.fetchers] == [seconds]
        assert plan.followers == int(wanted.replica_id == 3)
    assert make_plan(fetches, lambda _: False).fetchers == []


def test_nothing_is_a_plan_too() -> None:
    plan = make_plan([])
    assert (plan.fetches, plan.partitions()) == (0, {})

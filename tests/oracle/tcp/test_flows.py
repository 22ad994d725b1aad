"""Connections that wait are due by time, and then by when they began to wait."""

from tests.oracle.tcp.flows import Flow, Timers

ENDS = (4, b"\1\1\1\1", 1), (4, b"\2\2\2\2", 2)


def flow(deadline: int, mark: int) -> Flow:
    return Flow(ENDS, deadline=deadline, mark=mark)


def test_flows_are_due_by_time_and_then_by_when_they_began_to_wait() -> None:
    timers = Timers()
    first, second, third = flow(30, 1), flow(10, 2), flow(20, 3)
    for each in (third, second, first):
        timers.push(each)
    assert timers.alarm == 10 and timers.due(9, 100) is None
    assert timers.due(20, 1) is None and timers.alarm == 0
    assert timers.due(20, 100) is second
    assert [timers.due(40, 100) for _ in range(3)] == [first, third, None]
    assert timers.alarm is None


def test_a_flow_that_was_pulled_or_pushed_again_counts_once() -> None:
    timers = Timers()
    gone, again = flow(10, 1), flow(10, 2)
    timers.push(gone)
    timers.push(again)
    timers.pull(gone)
    again.deadline = 50
    timers.push(again)
    assert timers.due(40, 100) is None
    assert timers.due(50, 100) is again and timers.due(50, 100) is None

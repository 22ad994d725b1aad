"""Answers of several brokers to one step."""

from kcli.replay.sessions.live_fetch import merged
from tests.replay.sessions.made import fetch

T0, T1 = ("t", 0), ("t", 1)


def test_answers_of_several_brokers_are_one() -> None:
    one = fetch(0, {T0: 1}, {T0: 5}, granted=3)
    other = fetch(0, {T1: 2}, {T1: 6}, granted=4, error=70)
    one.request_bytes, other.request_bytes = 10, 20
    whole = merged([one, other], True)
    assert [key for key, _ in whole.asked] == [key for key, _ in whole.reported] == [T0, T1]
    assert (whole.request_bytes, whole.error, whole.granted) == (30, 70, 3)

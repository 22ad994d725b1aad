"""Which exchanges are wanted."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.capture.events import Event, Exchange, error_codes
from kcli.capture.filters import Filter, mentions
from kcli.capture.reading import read_capture
from tests.capture.wires import SAMPLES

ITEMS = list(read_capture(SAMPLES / "java44-txn.pcap").items())
FIRST, LAST = ITEMS[0], ITEMS[-1]
assert isinstance(FIRST, Exchange) and isinstance(LAST, Exchange)


def kept(**how: Any) -> int:
    chosen = Filter(**how)
    return sum(chosen.wants(item) for item in ITEMS)


def test_nothing_asked_is_everything() -> None:
    assert Filter().takes_all and kept() == 78 and not Filter(errors=True).takes_all


@pytest.mark.parametrize(
    ("how", "count"),
    [
        ({"apis": frozenset({0})}, 8),
        ({"apis": frozenset({0, 3})}, 16),
        ({"client_id": "broker-1-txn-marker-sender"}, 8),
        ({"client_id": "nobody"}, 0),
        ({"errors": True}, 8),
        ({"topic": "pay-out"}, 4),
        ({"topic": "pay"}, 0),
        ({"since": FIRST.request_ns + 1}, 77),
        ({"until": FIRST.request_ns}, 1),
        ({"since": LAST.request_ns + 1}, 0),
    ],
)
def test_what_is_kept(how: dict[str, Any], count: int) -> None:
    assert kept(**how) == count


def test_events_stay_unless_their_exchange_is_asked_for() -> None:
    gap = Event("gap", "a-b", 50, 0, 1, "x")
    assert Filter(errors=True).wants(gap) and Filter(since=50).wants(gap)
    assert not Filter(since=51).wants(gap) and not Filter(apis=frozenset({1})).wants(gap)
    assert Filter(since=51).wants(Event("truncated", None, 0, 0, 1, "x", file="f"))


def test_error_codes_at_any_depth() -> None:
    value = {"errorCode": 0, "a": [{"partitionErrorCode": 6, "b": {"errorCode": 3}}], "n": [1, 2], "errorMessage": "x"}
    assert list(error_codes(value)) == [6, 3]


def test_topics_are_found_by_field() -> None:
    assert mentions({"topics": [{"name": "a"}]}, "a") and mentions({"topicNames": ["b", "a"]}, "a")
    assert mentions({"x": [{"topicId": "1", "_topicName": "a"}]}, "a") and mentions({"resourceName": "a"}, "a")
    assert not mentions({"groupId": "a", "topics": [{"name": "ab"}], "list": [1]}, "a")

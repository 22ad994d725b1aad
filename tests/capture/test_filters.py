"""Which exchanges are wanted."""

import json
from typing import Any

import pytest

from kcli.capture.api import read_capture
from kcli.capture.filters import Choice, Filter, chosen, mentions
from kcli.capture.kafka.error_codes import error_codes
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.name_choice import Wanted, matches
from kcli.errors import UsageError
from tests.capture.decoding import as_values, lines_of, pieces, write_lines
from tests.capture.wires import SAMPLES

TXN = str(SAMPLES / "java44-txn.pcap")
ITEMS = list(read_capture(TXN).items())
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
        ({"topic": "pay-o*"}, 4),
        ({"client_id": "broker-?-txn*"}, 8),
        ({"error": Wanted((48,))}, 0),
        ({"error": Wanted((51,))}, 3),
        ({"slower_than": 100_000_000}, 2),
        ({"connection": ":32990"}, 5),
        ({"connection": "127.0.0.1:21000-127.0.0.1:3299?"}, 8),
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
    assert mentions({"x": [{"topicId": "1", "_topicName": "a"}]}, "a")
    assert mentions({"resourceType": 2, "resourceName": "a"}, "a")
    assert not mentions({"groupId": "a", "topics": [{"name": "ab"}], "list": [1]}, "a")
    named = {"topics": [{"topicId": "1", "_topicName": "a"}]}
    assert not any(mentions(named, topic) for topic in ("!a", "!1", "a,!1", "?,!a")) and mentions(named, "!b")
    assert mentions({"topics": [*named["topics"], {"topicId": "2", "_topicName": "b"}]}, "!a")


@pytest.mark.parametrize(
    "value",
    [
        {"protocols": [{"name": "a"}]},
        {"supportedFeatures": [{"name": "a"}]},
        {"users": [{"name": "a"}]},
        {"resourceType": 3, "resourceName": "a"},
        {"subscribedTopicRegex": "a"},
        {"topics": [{"name": "b", "configs": [{"name": "a"}]}]},
    ],
)
def test_other_names_are_no_topics(value: dict[str, Any]) -> None:
    """They neither choose an exchange, nor bring back one whose topic is left out."""
    assert not mentions(value, "a") and not mentions(value, "!b")
    assert mentions({**value, "topicNames": ["c"]}, "!b")


def test_what_the_core_can_tell() -> None:
    assert Filter(client_id="c", topic="t", errors=True, since=1).is_plain
    for how in (
        {"client_id": "c*"},
        {"topic": "[ab]"},
        {"error": Wanted((1,))},
        {"slower_than": 0},
        {"connection": ""},
    ):
        assert not Filter(**how).is_plain


def test_a_name_that_looks_like_a_pattern_is_still_a_name() -> None:
    assert matches("b", "a,b") and matches("a,b", "a,b") and not matches("ab", "a,b") and matches("!a", "!a")
    assert matches("b", "!a") and matches(None, "!a") and not matches("a", "!a") and not matches("ab", "a*,!ab, b")
    assert matches("x:1-y:2", ":9,:2", part=True) and not matches("x:1-y:2", "!:2", part=True)
    assert matches("a[b]*", "a[b]*") and matches("abc", "a*") and not matches("Abc", "a*") and not matches(None, "*")


PATTERNS: list[dict[str, Any]] = [
    {"client_id": "broker-?-txn*"}, {"error": Wanted((51,))}, {"error": Wanted((5,))},
    {"slower_than": 100_000_000}, {"slower_than": 0},
    {"connection": ":32990"}, {"connection": "*:32990"}, {"connection": "nowhere"}, {"topic": "pay-*"},
    {"topic": "pay-i?"}, {"error": Wanted((51,)), "topic": "*"},
    {"client_id": "lab-*", "slower_than": 1_000_000, "connection": "127"},
]  # fmt: skip


@pytest.mark.parametrize("text", [True, False])
def test_lines_and_values_have_the_same(text: bool) -> None:
    for how in PATTERNS:
        paths = [str(SAMPLES / "java44-txn.pcap")]
        if text:
            assert lines_of(paths, chosen=Filter(**how)).count(b"\n") == kept(**how)
        else:
            assert sum(map(len, pieces(as_values(paths, chosen=Filter(**how))))) == kept(**how)


def test_events_of_a_connection() -> None:
    event = Event("gap", "s:1-c:2", 5, 0, 9, "lost")
    assert Filter(connection="c:2").wants(event) and not Filter(connection="c:3").wants(event)
    assert not Filter(error=Wanted((1,))).wants(event) and not Filter(slower_than=0).wants(event)


@pytest.mark.parametrize(
    "chosen",
    [
        Filter(apis=frozenset({0, 24})),
        Filter(client_id="lab-*", topic="pay-in"),
        Filter(errors=True),
        Filter(error=Wanted((47,))),
        Filter(slower_than=5_000_000, connection=":21000-"),
    ],
)
def test_lines_as_values_are_exchanges(chosen: Filter) -> None:
    lines: list[bytes] = []
    write_lines([TXN], lambda text: lines.append(bytes(text)))
    rows = [json.loads(line) for line in b"".join(lines).splitlines()]
    items = [each for part in pieces(as_values([TXN])) for each in part if isinstance(each, Exchange)]
    assert len(rows) == len(items)
    kept = [chosen.wants_row(row, item.request_ns, item.response_ns) for row, item in zip(rows, items, strict=True)]
    assert kept == [chosen.wants(item) for item in items] and any(kept) and not all(kept)


def test_errors_by_name_and_code() -> None:
    assert chosen(Choice(error="not_leader_for_partition")).error == Wanted((6,))
    assert chosen(Choice(error="-1,!7")).error == Wanted((-1,), (7,))
    assert chosen(Choice(slower_than=1.5)).slower_than == 1_500_000
    with pytest.raises(UsageError, match="did you mean NOT_CONTROLLER"):
        chosen(Choice(error="NOT_CONTROLER"))


def test_what_asks_for_times_alone() -> None:
    assert Filter().is_times and Filter(since=1, until=2).is_times
    assert not Filter(since=1, client_id="c").is_times and not Filter(errors=True).is_times

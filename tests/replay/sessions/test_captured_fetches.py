from pathlib import Path
from typing import Any

import pytest

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from kcli.errors import InputError
from kcli.jsontext import loads
from kcli.replay.sessions.captured_fetches import fetch_of_exchange, fetch_of_row
from kcli.replay.sessions.plan import make_plan
from kcli.replay.topic_mapping import TopicNames
from tests.sessions.captured import DATA
from tests.sessions.test_draft_tracker import rows as draft_rows

SAMPLES = Path(__file__).parents[3] / "samples"


def row(api_key: int = 1, **changes: Any) -> dict[str, Any]:
    header = {"requestApiKey": api_key, "requestApiVersion": 13, "correlationId": 5, "clientId": "c"}
    part = {"partition": 0, "fetchOffset": 3, "partitionMaxBytes": 100}
    made = {
        "timestamp": "2026-11-21T00:52:34.167123Z",
        "connection": "s:1-c:2",
        "requestHeader": header,
        "request": {"maxWaitMs": 9, "topics": [{"topicId": "abc", "_topicName": "orders", "partitions": [part]}]},
        "response": {"errorCode": 0, "sessionId": 7, "responses": []},
        "requestBytes": 50,
        "responseBytes": 20,
        "latencyMs": 1.5,
    }
    return made | changes


def test_a_line_of_decode_pcap() -> None:
    names = TopicNames()
    first = fetch_of_row(row(), names)
    assert first is not None
    assert (first.server, first.connection, first.client_id, first.max_wait_ms) == ("s:1", "s:1-c:2", "c", 9)
    assert first.response_ns is not None
    assert (first.response_ns - first.ns, first.ns % 10**9, first.granted) == (1_500_000, 167_123_000, 7)
    assert (first.request_bytes, first.response_bytes, first.asked[0][0]) == (50, 20, ("abc", 0))
    assert names.names == {"abc": "orders"}


def test_other_lines_are_no_fetches_but_may_name_topics() -> None:
    names = TopicNames()
    assert fetch_of_row({"event": "gap", "connection": "s:1-c:2", "bytes": 3}, names) is None
    assert fetch_of_row(row(3, response={"topics": [{"topicId": "def", "name": "refunds"}]}), names) is None
    unanswered = fetch_of_row(row(response=None, latencyMs=None), names)
    assert unanswered is not None
    assert not unanswered.answered
    assert names.names == {"abc": "orders", "def": "refunds"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": 1}, "no 'requestHeader'"),
        (row(connection="x"), "not SERVER:PORT-CLIENT:PORT"),
        (row(timestamp="yesterday"), "yesterday"),
        (row(request={"topics": 3}), "no exchange"),
        (row(requestHeader=3), "no exchange"),
    ],
)
def test_what_is_no_exchange_is_said(value: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        fetch_of_row(value, TopicNames())


def test_a_capture_and_its_lines_say_the_same() -> None:
    exchanges = [item for item in read_capture(SAMPLES / "java44-txn.pcap").items() if isinstance(item, Exchange)]
    names, others = TopicNames(), TopicNames()
    fetches = [fetch for item in exchanges if (fetch := fetch_of_exchange(item, names))]
    rows = [fetch for item in exchanges if (fetch := fetch_of_row(loads(item.line()), others))]
    assert len(fetches) == len(rows) == 3
    for one, other in zip(fetches, rows, strict=True):
        for name in (
            "asked",
            "reported",
            "forgotten",
            "granted",
            "error",
            "max_wait_ms",
            "request_bytes",
            "connection",
        ):
            assert getattr(one, name) == getattr(other, name)
        assert abs(one.ns - other.ns) < 1000
    topics = {topic for fetch in fetches for (topic, _), _ in fetch.asked}
    assert {names.names[topic] for topic in topics} == {others.names[topic] for topic in topics} == {"pay-in"}


def test_fetches_of_the_draft_are_sessions_too() -> None:
    """Full fetches with a uuid and incremental ones, as a plan that any broker can be asked to follow."""
    made = [fetch for row in draft_rows() if (fetch := fetch_of_row(row, TopicNames())) is not None]
    plan = make_plan(made)
    assert (plan.fetches, len(plan.fetchers)) == (36, 4)
    kinds = [step.is_full for step in plan.fetchers[0].steps]
    assert (kinds.count(True), kinds.count(False)) == (2, 9)
    assert {step.captured.version for step in plan.fetchers[0].steps} == {7}
    assert made[1].max_wait_ms == 50
    assert made[1].session_id == made[0].granted != 0


def test_a_version_that_nobody_knows_is_left_out() -> None:
    """Its bytes are all that there is of it; so are those of the draft without its dialect."""
    unread = {"_trailing": "AAAA"}
    assert fetch_of_row(row(request=unread, response=unread), TopicNames()) is None
    assert fetch_of_row(row(response=unread), TopicNames()) is None
    assert fetch_of_row(row(30227, request=unread, response=unread), TopicNames()) is None
    items = [item for item in read_capture(DATA / "draft/one.pcap.gz").items() if isinstance(item, Exchange)]
    assert any(item.api_key == 30227 for item in items)
    assert [item for item in items if fetch_of_exchange(item, TopicNames()) is not None] == []

from pathlib import Path
from typing import Any

import pytest

from kcli.capture.filters import Filter
from kcli.errors import InputError
from kcli.sessions.feeder import Feeder, span, times
from kcli.sessions.session_sink import follow
from kcli.sessions.tracker import Tracker
from tests.capture.wires import Wire, frame, pcap
from tests.sessions.captured import Row, fetches, rows_of

HEADER = {"requestApiKey": 1, "requestApiVersion": 13, "correlationId": 5}


def one_fetch() -> Row:
    return fetches(rows_of("fetch-session-eviction"))[0]


def test_a_line_of_a_brokers_request_log_will_do() -> None:
    """It has no time, no bytes, and says the size of records in another way; its connection has two numbers more."""
    row = one_fetch()
    for name in ("timestamp", "requestBytes", "responseBytes", "latencyMs"):
        del row[name]
    row["connection"] += "-0-5"
    for topic in row["response"]["responses"]:
        for part in topic["partitions"]:
            part["recordsSizeInBytes"] = part.pop("records")["sizeInBytes"]
    ended: list[Any] = []
    tracker = Tracker(on_end=ended.append)
    Feeder(tracker).row(row)
    tracker.close()
    assert ended[0].records_bytes > 0 and ended[0].server == "127.0.0.1:21270"
    assert ended[0].connection == row["connection"].removesuffix("-0-5")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"requestHeader": None}, "TypeError"),
        ({"connection": "nowhere"}, "nowhere"),
        ({"request": {}}, "no 'topics'"),
        ({"timestamp": "yesterday"}, "yesterday"),
        ({"event": "truncated", "timestamp": "yesterday"}, "yesterday"),
        ({"event": "truncated", "timestamp": [1]}, "[1]: no time"),
        ({"latencyMs": 1e300}, "latencyMs beyond a hundred years"),
        ({"requestBytes": "many"}, "a str where a number is expected"),
        ({"requestHeader": {**HEADER, "clientId": {"a": 1}}}, "a dict where a name is expected"),
    ],
)
def test_lines_that_are_no_exchange(change: Row, reason: str) -> None:
    with pytest.raises(InputError, match="no exchange as") as raised:
        Feeder(Tracker()).row({**one_fetch(), **change})
    assert reason in str(raised.value)


def test_a_filter_chooses_sessions_and_not_what_is_followed() -> None:
    rows = fetches(rows_of("fetch-session-eviction"))
    ended: list[Any] = []
    for chosen, any_chosen in ((Filter(client_id="nobody"), False), (Filter(slower_than=0), True)):
        tracker = Tracker(on_end=ended.append)
        feeder = Feeder(tracker, chosen)
        for row in rows:
            feeder.row(row)
        tracker.close()
        assert tracker.fetches == len(rows) and bool(feeder.chosen_fetches) == any_chosen
        assert any(session.chosen for session in ended) == any_chosen
    with pytest.raises(InputError, match="no exchange as"):
        Feeder(Tracker(), Filter(topic="t")).row(
            {**one_fetch(), "request": {"topics": "t", "a": [{"b": [5]}], "c": {}}}
        )


def test_a_body_that_could_not_be_decoded_blurs_its_connection() -> None:
    tracker = Tracker()
    feeder = Feeder(tracker)
    feeder.row(one_fetch())
    session = next(iter(tracker.registry.sessions.values()))
    feeder.row({**one_fetch(), "response": None})
    assert feeder.skipped == 1 and not session.complete


def test_a_version_that_nobody_knows_blurs_its_connection() -> None:
    """Its bodies are bytes and nothing else."""
    tracker = Tracker()
    feeder = Feeder(tracker)
    feeder.row(one_fetch())
    session = next(iter(tracker.registry.sessions.values()))
    feeder.row({**one_fetch(), "request": {"_trailing": "AAAA"}, "response": {"_trailing": "AAAA"}})
    feeder.row({**one_fetch(), "request": {"_trailing": "AAAA"}, "response": None})
    assert feeder.skipped == 2 and not session.complete


def test_captured_fetches_of_a_version_that_nobody_knows_are_skipped(tmp_path: Path) -> None:
    body = bytes.fromhex("0001 0019 0000 0001 0001 63") + bytes(40)
    wire = Wire().open().client(frame(body)).server(frame(bytes([0, 0, 0, 1]) + bytes(20)))
    (tmp_path / "x.pcap").write_bytes(pcap(wire.packets))
    feeder = Feeder(Tracker())
    follow([str(tmp_path / "x.pcap")], feeder, ports=[wire.server_end[1]])
    assert (feeder.exchanges, feeder.skipped) == (1, 1)


def test_other_exchanges_are_passed_over_and_events_blur() -> None:
    tracker = Tracker()
    feeder = Feeder(tracker)
    feeder.row(one_fetch())
    session = next(iter(tracker.registry.sessions.values()))
    produce = {"requestHeader": {"requestApiKey": 0}, "request": {}, "response": None}
    feeder.row({**one_fetch(), **produce})
    feeder.row({"event": "unanswered-at-end", "connection": session.connection})
    feeder.row({"event": "gap", "connection": "127.0.0.1:21270-127.0.0.1:9"})
    assert session.complete and tracker.fetches == 1
    feeder.row({"event": "gap", "connection": session.connection, "timestamp": "2026-11-21T01:40:16Z"})
    assert not session.complete


def test_topic_names_that_a_line_brings() -> None:
    row = one_fetch()
    tracker = Tracker()
    Feeder(tracker).row(row)
    assert tracker.offsets.names == {row["request"]["topics"][0]["topicId"]: "narrow"}


def test_times_of_a_line() -> None:
    assert times({"timestamp": "1970-01-01T00:00:01Z", "latencyMs": 2.5}) == (10**9, 10**9 + 2_500_000)
    assert times({"timestamp": "1970-01-01T00:00:01Z", "latencyMs": None}) == (10**9, None)
    assert times({}) == (0, None)


@pytest.mark.parametrize("latency", [1e25, -1e25, float("nan"), float("inf")])
def test_latencies_beyond_all_times_are_refused(latency: float) -> None:
    with pytest.raises(ValueError, match="beyond a hundred years"):
        span(latency)

"""Figures of captures, beside those of other commands, and their bounds."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from kcli.capture.decoder import decode
from kcli.capture.statistics import StatisticsSink
from kcli.metrics import figures as module
from kcli.metrics.bounded import LONGEST, OTHER, Names, Series
from kcli.metrics.figures import LiveFigures, own_ms
from kcli.pipeline.writing import stored_schema
from kcli.records import build_batch
from tests.capture.wires import pcap, rotated
from tests.diagnose.captured import DATA, diagnosed
from tests.metrics.measured import measured
from tests.rules.test_by_hand import Talk

BEHIND = DATA / "lagging-consumer-pageviews.pcap.zst"


def test_requests_errors_and_bytes_are_those_of_stats(samples: Path) -> None:
    for path in (BEHIND, samples / "java44-txn.pcap"):
        sink = decode([str(path)], StatisticsSink(("api", "client"))).sink
        counted: dict[tuple[str, str], list[int]] = {}
        for (api, client, _, _), load in measured(path).total.loads.items():
            sums = counted.setdefault((api, client), [0] * 4)
            for place, name in enumerate(("exchanges", "errors", "request_bytes", "response_bytes")):
                sums[place] += getattr(load, name)
        expected = {
            (row.group["api"], row.group["client"] or ""): [
                row.figures.exchanges, row.figures.errors, row.figures.request_bytes, row.figures.response_bytes,
            ]
            for row in sink.rows() if row.group is not None
        }  # fmt: skip
        assert counted == expected and len(counted) > 4


def test_the_time_between_rotated_files_is_none_of_theirs(samples: Path, tmp_path: Path) -> None:
    whole = samples / "java44-txn.pcap"
    halves = map(Path, rotated(whole, tmp_path / "halves", 3600))
    assert measured(*halves).total_seconds() == pytest.approx(measured(whole).total_seconds(), rel=0.15)


def test_share_groups_read_topics(tmp_path: Path) -> None:
    talk, topic_id = Talk("worker"), "AAAAAAAAAAAAAAAAAAAAAQ"
    records = build_batch([(1, None, b"v", ()), (2, None, b"w", ())])
    for number in range(2):
        asked = {"groupId": "g", "shareSessionEpoch": number, "topics": [{"topicId": topic_id, "partitions": []}]}
        parts = [{"partitionIndex": part, "records": records} for part in range(2)]
        talk.call(78, 1, asked, {"responses": [{"topicId": topic_id, "partitions": parts}]})
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.wire.packets))
    [((_topic, api, client, *_), load)] = measured(path).total.topics.items()
    assert (api, client) == ("SHARE_FETCH", "worker")
    assert (load.exchanges, load.records, load.response_bytes) == (2, 8, 4 * len(records))


def test_errors_have_their_names(samples: Path) -> None:
    sink = decode([str(samples / "java44-txn.pcap")], StatisticsSink(("error",))).sink
    expected = {
        row.group["error"]: row.figures.exchanges for row in sink.rows() if row.group and row.group["error"] is not None
    }
    names: Counter[str] = sum(measured(samples / "java44-txn.pcap").errors_by.values(), Counter())
    assert dict(names) == expected and names


def test_findings_are_those_of_the_last_judgement() -> None:
    assert [each.finding for each in measured(BEHIND).findings] == [
        each.finding for each in diagnosed("lagging-consumer-pageviews").findings
    ]


def test_a_consumer_that_falls_behind_has_a_lag() -> None:
    figures = measured(BEHIND)
    [found] = [each for each in figures.findings if each.finding == "lagging-consumer"]
    assert found.subject["topic"] == "pageviews"  # whose name no message of the capture says
    lag = figures.lags()[found.subject["group"][0], found.subject["client"], "pageviews"]
    assert lag == found.evidence["last_lag"] > 1000
    assert figures.total.topics["pageviews", "PRODUCE", "pageview-edge"].records > 0


def test_fetches_are_idle_or_of_brokers_or_have_news() -> None:
    kinds: Counter[str] = Counter()
    for (api, _, _, kind), load in measured(DATA / "under-min-isr-orders.pcap.zst").total.loads.items():
        kinds[kind] += load.exchanges if api == "FETCH" else 0
    assert kinds["replication"] > 0
    figures = measured(BEHIND)
    assert any(kind == "client" and api == "FETCH" for api, _, _, kind in figures.total.loads)


@pytest.mark.parametrize(
    ("api", "latency", "wait", "own"),
    [
        ("FETCH", 510.0, 500, 10.0),
        ("FETCH", 3.0, 500, 0.0),
        ("PRODUCE", 3.0, None, 3.0),
        ("JOIN_GROUP", 3.0, None, None),
        ("PRODUCE", None, None, None),
        ("PRODUCE", -3.0, None, None),
    ],
)
def test_a_wait_that_was_asked_for_is_no_latency(
    api: str, latency: float | None, wait: int | None, own: float | None
) -> None:
    assert own_ms(api, latency, wait) == own


def test_a_label_has_no_control_character() -> None:
    """Whoever shows /metrics on a terminal sees names as kcli shows them."""
    names = Names(9)
    assert [names.of(name) for name in ("a\x1b[31m\0", "\u202eb", "ü-1", "a\x1b[31m\0")] == [
        "a\\x1b[31m\\x00", "\\u202eb", "ü-1", "a\\x1b[31m\\x00",
    ]  # fmt: skip


def test_names_that_a_client_invents_count_as_other() -> None:
    names = Names(3)
    assert [names.of(each) for each in ("a", "b", None, "c", "a", "d")] == ["a", "b", "", OTHER, "a", OTHER]
    assert names.refused == 2
    long = Names(9)
    assert {len(long.of("x" * 5000)), len(long.of("x" * 9000))} == {LONGEST + 1} and len(long.known) == 1
    series: Series[Counter[str]] = Series(Counter, 2)
    for name in "abcd":
        series.at(name, "x")["n"] += 1
    assert {key: each["n"] for key, each in series.items()} == {("a", "x"): 1, ("b", "x"): 1, (OTHER, OTHER): 2}


def facts(count: int) -> Any:
    """Requests of as many clients, each on a connection of its own."""
    schema = stored_schema("exchange_facts")
    given: dict[str, Any] = {
        "connection": [f"b:1-c:{number}" for number in range(count)], "server": ["b:1"] * count,
        "client_id": [f"client-{number}" for number in range(count)], "api": ["METADATA"] * count,
        "api_key": [3] * count, "correlation_id": [1] * count, "request_bytes": [10] * count,
        "response_bytes": [20] * count, "latency_ms": [1.5] * count, "errors": [[]] * count,
        "completed_ns": [1] * count,
    }  # fmt: skip
    arrays = [pyarrow.array(given.get(field.name, [None] * count), field.type) for field in schema]
    return pyarrow.record_batch(arrays, schema=schema)


def test_memory_does_not_grow_with_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CONNECTIONS", 100)
    figures = LiveFigures()
    figures.put("exchange_facts", facts(1000))
    figures.settle()
    assert len(figures.total.loads) == module.MOST_CLIENTS + 1
    assert sum(load.exchanges for load in figures.total.loads.values()) == 1000
    assert figures.total.loads["METADATA", OTHER, "b:1", "client"].exchanges == 1000 - module.MOST_CLIENTS
    assert len(figures.connections) <= 100 and len(figures.seen) == module.MOST_CLIENTS + 1


def test_the_latest_figures_are_those_of_some_seconds() -> None:
    now = [100.0]
    figures = LiveFigures(lambda: now[0])
    for _ in range(4):
        figures.put("exchange_facts", facts(2))
        figures.settle()
        now[0] += 4.0
    figures.settle()
    assert sum(load.exchanges for load in figures.latest().loads.values()) == 4
    assert sum(load.exchanges for load in figures.total.loads.values()) == 8
    assert figures.latest_seconds() == module.WINDOW_S


def test_segments_that_are_sent_again_count_while_a_connection_is_open_and_when_it_is_over() -> None:
    figures = LiveFigures()
    figures.put("exchange_facts", facts(1))
    figures.settle([("c:0", "b:1", 3), ("other:1", "other:2", 5)])
    assert figures.retransmissions() == {("client-0", "b:1"): 3}
    row = {"connection": "b:1-c:0", "c_resent": 3, "s_resent": 1}
    figures.put("tcp", pyarrow.RecordBatch.from_pylist([row]))
    figures.settle()
    assert figures.retransmissions() == {("client-0", "b:1"): 4}

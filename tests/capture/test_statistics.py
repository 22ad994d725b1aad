"""Counts by group: those of the core are those that values give, and both are what the lines say."""

import json
import math
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder, DecodeOptions, decode
from kcli.capture.filters import Choice, chosen
from kcli.capture.kafka.exchange import Exchange
from kcli.capture.latency_buckets import bucket_of, middle_of
from kcli.capture.sinks import Sink
from kcli.capture.statistics import COLUMNS, Figures, StatisticsRow, StatisticsSink
from tests.capture.decoding import as_values, pieces, write_lines
from tests.capture.messages import request, response
from tests.capture.wires import DATA, MILLISECOND, SAMPLES, Wire, pcap
from tests.oracle.captures import by_oracle

CAPTURES = [
    SAMPLES / "java44-txn.pcap",
    SAMPLES / "kcat-codecs.pcap",
    SAMPLES / "java44-consume-classic.pcap",
    SAMPLES / "old-librdkafka-on-3.9.pcap",
    SAMPLES / "ipv6.pcapng",
    DATA / "kraft-boot.pcap.zst",
    DATA / "java44-admin.pcap.gz",
    DATA / "mid-stream.pcap.zst",
]


def counted(path: Path, *by: str, **options: Any) -> list[StatisticsRow]:
    return decode([str(path)], StatisticsSink(by), DecodeOptions(**options)).sink.rows()


def plain(rows: list[StatisticsRow]) -> list[Any]:
    return [(row.group, row.figures, row.tcp) for row in rows]


class Together(Sink):
    """Several, each of which gets all: the oracle takes a while to read a capture."""

    def __init__(self, sinks: list[StatisticsSink]) -> None:
        self.sinks = sinks
        self.connection_end = self.note_end

    def begin(self, capture: CaptureDecoder[Any]) -> None:
        for sink in self.sinks:
            sink.begin(capture)

    def exchange(self, exchange: Exchange) -> None:
        for sink in self.sinks:
            sink.exchange(exchange)

    def note_end(self, *end: Any) -> None:
        for sink in self.sinks:
            if sink.connection_end is not None:
                sink.connection_end(*end)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_the_core_counts_what_values_give(path: Path) -> None:
    columns = [*((name,) for name in COLUMNS), ("client", "api", "error"), ("group", "topic", "minute")]
    with by_oracle():
        slow = decode([str(path)], Together([StatisticsSink(by) for by in columns])).sink.sinks
    for by, sink in zip(columns, slow, strict=True):
        assert sink.kept and sink.counts.counted == 0
        assert plain(sink.rows()) == plain(counted(path, *by)), by


def test_a_response_captured_before_its_request_has_no_latency(tmp_path: Path) -> None:
    wire, path = Wire().open(), tmp_path / "a.pcap"
    for number, wait in enumerate((3, -40, 5)):
        wire.client(request(3, 12, number, {"topics": []}))
        wire.now += (wait - 1) * MILLISECOND
        wire.server(response(3, 12, number, {"brokers": [], "topics": []}))
        wire.now += 99 * MILLISECOND
    path.write_bytes(pcap(wire.packets))
    [fast] = plain(counted(path, "api"))
    with by_oracle():
        assert [fast] == plain(counted(path, "api"))
    _, figures, _ = fast
    assert (figures.exchanges, figures.least, figures.most, sum(figures.buckets.values())) == (3, 3000, 5000, 2)


CHOICES: list[dict[str, Any]] = [
    {"api": ["Fetch", "Metadata"]},
    {"client_id": "rdkafka"},
    {"client_id": "nobody"},
    {"errors": True},
    {"topic": "six"},
    {"since": "2026-11-21T01:21:30Z"},
    {"until": "2026-11-21T01:21:30Z"},
    {"since": -5.0, "until": 1e30},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
def test_filters(choice: dict[str, Any]) -> None:
    for path in CAPTURES[:3]:
        fast = counted(path, "api", "client", chosen=chosen(Choice(**choice)))
        source = as_values([str(path)], chosen=chosen(Choice(**choice)))
        wanted = [item for items in pieces(source) for item in items if isinstance(item, Exchange)]
        assert sum(row.figures.exchanges for row in fast) == len(wanted)
        with by_oracle():
            assert plain(counted(path, "api", "client", chosen=chosen(Choice(**choice)))) == plain(fast)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name)
def test_figures_are_those_of_the_lines(path: Path) -> None:
    lines: list[bytes] = []
    write_lines([str(path)], lambda text: lines.append(bytes(text)))
    by_api: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in map(json.loads, b"".join(lines).splitlines()):
        if "event" not in row:
            by_api[row["requestHeader"]["requestApiKeyName"]].append(row)
    found = {row.group["api"]: row.figures for row in counted(path, "api") if row.group}
    assert found.keys() == by_api.keys()
    for api, rows in by_api.items():
        figures, times = found[api], sorted(row["latencyMs"] for row in rows if row["latencyMs"] is not None)
        assert figures.exchanges == len(rows)
        assert figures.request_bytes == sum(row["requestBytes"] for row in rows)
        assert figures.response_bytes == sum(row["responseBytes"] or 0 for row in rows)
        assert figures.errors == sum(bool(errors(row["response"])) for row in rows)
        assert figures.codes == Counter(code for row in rows for code in errors(row["response"]))
        assert figures.max_ms == (times[-1] if times else None)
        for share, shown in zip((0.5, 0.95, 0.99), figures.percentiles((0.5, 0.95, 0.99)), strict=True):
            if times:
                exact = times[math.ceil(share * len(times)) - 1]
                assert shown is not None and abs(shown - exact) <= exact / 128 + 0.0005


def errors(value: Any) -> set[int]:
    if isinstance(value, list):
        return set().union(*map(errors, value))
    if not isinstance(value, dict):
        return set()
    own = {item for name, item in value.items() if name.lower().endswith("errorcode") and item}
    return own.union(*map(errors, value.values()))


def test_a_bucket_is_no_wider_than_it_says() -> None:
    rng = random.Random(5)
    tried = [*range(300), *(rng.randrange(1 << rng.randrange(1, 62)) for _ in range(2000))]
    for value in tried:
        assert abs(middle_of(bucket_of(value)) - value) <= value / 128
    assert [bucket_of(value) for value in range(128)] == [*range(128)]
    edges = [bucket_of(value) for value in sorted(tried)]
    assert edges == sorted(edges)


def test_percentiles_stay_between_the_least_and_the_most() -> None:
    figures = Figures()
    assert figures.percentiles((0.5, 1.0)) == [None, None] and figures.max_ms is None
    figures.merge(Figures(exchanges=1, least=100_001, most=100_001, buckets=Counter({bucket_of(100_001): 1})))
    assert figures.percentiles((0.01, 0.5, 1.0)) == [100.001] * 3
    figures.merge(Figures(exchanges=1, buckets=Counter({0: 1})))
    assert (figures.least, figures.most, figures.percentiles((0.5,))) == (0, 100_001, [0.0])


def heartbeats(tmp_path: Path, groups: list[str]) -> Path:
    wire = Wire().open()
    for number, group in enumerate(groups):
        wire.client(request(12, 0, number, {"groupId": group, "generationId": 1, "memberId": "m"}))
        wire.now += MILLISECOND
        wire.server(response(12, 0, number, {"errorCode": 27}))
    path = tmp_path / "beats.pcap"
    path.write_bytes(pcap(wire.close().packets))
    return path


def test_what_is_beyond_the_bound_is_one_row(tmp_path: Path) -> None:
    rows = counted(heartbeats(tmp_path, [f"g{number}" for number in range(10_003)]), "group")
    assert len(rows) == 10_001 and rows[-1].group is None
    assert rows[-1].figures.exchanges == 3 and rows[-1].figures.errors_by_name == {"REBALANCE_IN_PROGRESS": 3}
    assert sum(row.figures.exchanges for row in rows) == 10_003


@pytest.mark.usefixtures("engine")
def test_one_exchange_is_counted_in_a_bounded_number_of_groups(tmp_path: Path) -> None:
    groups = [{"groupId": f"g{number}", "topics": [{"name": f"t{number}"}]} for number in range(300)]
    wire = Wire().open().client(request(9, 8, 1, {"groups": groups})).server(response(9, 8, 1, {}))
    path = tmp_path / "many.pcap"
    path.write_bytes(pcap(wire.close().packets))
    rows = counted(path, "group", "topic")
    assert sum(row.figures.exchanges for row in rows) == 64 + 16 * 600 + 1 and rows[-1].group is None


@pytest.mark.usefixtures("engine")
def test_names_that_json_escapes(tmp_path: Path) -> None:
    odd = ['"groupId":"x"', "a\\", 'b"', "\x1b[31m", "\u202e", "", "ü"]
    rows = counted(heartbeats(tmp_path, odd), "group")
    assert {row.group["group"] for row in rows if row.group} == set(odd)


def test_rows_are_in_order() -> None:
    rows = counted(CAPTURES[0], "api")
    counts = [row.figures.exchanges for row in rows]
    assert counts == sorted(counts, reverse=True) and rows[0].group == {"api": "ADD_PARTITIONS_TO_TXN"}
    minutes = [row.group["minute"] for row in counted(CAPTURES[0], "api", "minute") if row.group]
    assert minutes == sorted(minutes) and set(minutes) == {"2026-11-21T01:21:00Z", "2026-11-21T01:22:00Z"}


def test_a_partition_has_its_topic_beside_it() -> None:
    rows = counted(CAPTURES[1], "partition", "client")
    assert list(rows[0].group or ()) == ["topic", "partition", "client"]
    assert list(counted(CAPTURES[1], "client", "topic", "partition")[0].group or ()) == ["client", "topic", "partition"]
    found = {(row.group["topic"], row.group["partition"]) for row in rows if row.group}
    assert {("kcat-gzip", 0), ("kcat-gzip", None), (None, None)} <= found


def test_topic_ids_have_the_names_that_the_capture_gives() -> None:
    names = {row.group["topic"] for row in counted(CAPTURES[5], "topic") if row.group}
    assert "__cluster_metadata" in names and {"k1", "k2", "k3"} <= names

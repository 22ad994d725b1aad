"""The core's columns of partitions against the same made row by row: over real captures, and over every version of
Fetch and Produce with all that an answer can say."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kcli.pipeline.derived.leader_changes import changes
from kcli.pipeline.fact_tables import FACTS
from kcli.pipeline.rows.row_source import RowSource
from kcli.records.conversion import down_convert
from kcli.schemas.catalog import catalog
from tests.capture.messages import metadata, request, response
from tests.capture.wires import DATA, SAMPLES, START, Wire, pcap
from tests.oracle.odd import make_all_odd
from tests.pipeline.outputs import slices_of
from tests.pipeline.rows.test_partitions import batch

REAL = sorted([*SAMPLES.glob("*.pcap"), *DATA.glob("*.pcap*")])
TOPIC, UNKNOWN = "AAAAAAAAAAAAAAAAAAAAAQ", "LiM8oXcTSBWR3XF1qnjt6A"
ENDPOINTS = [
    {"nodeId": 4, "host": "b4", "port": 9094, "rack": None},
    {"nodeId": 2, "host": "b2", "port": 9092, "rack": "r"},
]
WHOLE_FRAMES = ("fetch_frames",)
Rows = dict[str, Counter[tuple[Any, ...]]]


def tables(path: Path, odd: bool = False, *, joined: bool = True) -> tuple[Rows, set[bytes]]:
    """The rows of all tables, and the topic ids without a name; odd: all exchanges go the slower way. joined: facts
    that came in pieces are whole."""
    found: Rows = {}

    def put(table: str, row: tuple[Any, ...]) -> None:
        found.setdefault(table, Counter())[tuple(map(plain, row))] += 1

    def put_batch(table: str, _day: int, rows: Any, _nameless: bool) -> None:
        for row in rows.to_pylist():
            put(table, tuple(row.values()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kcli.pipeline.rows.sayings.os.urandom", bytes)  # numbers begin at 0
        if odd:
            make_all_odd(patch)
        source = RowSource(put, put_batch=put_batch)
        source.run(slices_of(path))
    made = {table: whole(table, rows) for table, rows in found.items()} if joined else found
    return made, set(source.bodies.names.missing())


def plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return round(value.timestamp() * 1e6)
    if isinstance(value, list):
        return tuple(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def whole(table: str, rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Facts that may come in pieces, put together: requests of one kind, answers of one kind in a row."""
    made: Counter[tuple[Any, ...]] = Counter()
    if table == "client_uses":
        for row in rows.elements():
            made[row[:8] + row[9:]] += row[8]
        return made
    if table == "connection_sums":
        parts: dict[Any, list[tuple[Any, ...]]] = {}
        for row in rows.elements():
            parts.setdefault(row[0], []).append(row)
        return Counter((link, *added(each)) for link, each in parts.items())
    if table != "outcomes":
        return rows
    last: tuple[Any, ...] | None = None
    for row in sorted(rows.elements(), key=lambda row: (str(row[:7]), row[9])):
        if last is not None and last[:8] == row[:8]:
            last = (*last[:10], max(last[10], row[10]), last[11] + row[11], *last[12:])
            continue
        made.update([last] if last else [])
        last = row
    made.update([last] if last else [])
    return made


def added(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The sums of a connection, of its parts."""
    columns = [[value for value in column if value is not None] for column in zip(*parts, strict=True)]
    client = min(((each[2], each[1]) for each in parts if each[2] is not None), default=(None, None))
    first, last, round_trip = (fold(columns[at], default=None) for at, fold in ((3, min), (4, max), (10, min)))
    return *client, first, last, *map(sum, columns[5:10]), round_trip


def assert_equal(path: Path) -> Rows:
    """Both ways give the same; it is given."""
    (columns, unnamed), (rows, missing) = tables(path), tables(path, odd=True)
    for table in WHOLE_FRAMES:  # records stay in frames of odd exchanges
        assert columns.pop(table, Counter()).total() == rows.pop(table, Counter()).total()
    for table in columns.keys() | rows.keys():
        assert columns.get(table) == rows.get(table), table
    assert unnamed == missing
    return rows


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_captures(path: Path) -> None:
    assert assert_equal(path)


def records(rng: random.Random, version: int, oldest: bool) -> bytes | None:
    """Nothing, one batch or some, the last one cut; of a magic that the version may have."""
    data = b"".join(batch(rng.randrange(1000), 3, rng.choice((5, 90))) for _ in range(rng.randrange(4)))
    if version < 4:
        data = b"".join(down_convert(data, 0 if oldest else 1))
    if rng.random() < 0.2 and data:
        data = data[:-1] + bytes([data[-1] ^ 1])  # a checksum that is wrong
    return (data[:-5] if rng.random() < 0.2 else data) or None


def named(version: int, since: int, name: str, topic_id: str, key: str) -> dict[str, Any]:
    return {"topicId": topic_id} if version >= since else {key: name}


def fetch(version: int, number: int, rng: random.Random) -> tuple[bytes, bytes]:
    asked, reported = [], []
    for name, topic_id in (("orders", TOPIC), ("other", UNKNOWN)):
        indices = rng.sample(range(40), rng.choice((1, 3, 30)))
        asked.append(named(version, 13, name, topic_id, "topic") | {"partitions": [
            {"partition": index, "fetchOffset": rng.randrange(500), "partitionMaxBytes": rng.choice((9, 1 << 20))}
            for index in indices
        ]})  # fmt: skip
        rng.shuffle(indices)
        reported.append(named(version, 13, name, topic_id, "topic") | {"partitions": [
            answer(version, index, rng) for index in [*indices[: rng.randrange(31)], 77]
        ]})  # fmt: skip
    body: dict[str, Any] = {"responses": reported}
    if version >= 16:
        body["nodeEndpoints"] = ENDPOINTS
    if version >= 7 and rng.random() < 0.1:
        body["errorCode"] = 71
    question: dict[str, Any] = {"maxWaitMs": 1, "minBytes": 1, "topics": asked}
    if version >= 7:
        question |= {"sessionId": number % 3, "sessionEpoch": number, "forgottenTopicsData": []}
    return request(1, version, number, question), response(1, version, number, body)


def answer(version: int, index: int, rng: random.Random) -> dict[str, Any]:
    error = rng.choice((0, 0, 0, 6, 74, 1))
    made: dict[str, Any] = {"partitionIndex": index, "errorCode": error, "highWatermark": rng.choice((-1, 2000, 10**6))}
    made["records"] = None if error else records(rng, version, version < 2)
    if version >= 4:
        made |= {
            "lastStableOffset": 5,
            "abortedTransactions": rng.choice((None, [{"producerId": 7, "firstOffset": 3}])),
        }
    if version >= 12 and error and rng.random() < 0.7:
        made["currentLeader"] = {"leaderId": rng.choice((2, 4, 9)), "leaderEpoch": 1}
    return made


def produce(version: int, number: int, rng: random.Random) -> tuple[bytes, bytes]:
    asked, reported = [], []
    for name, topic_id in (("orders", TOPIC), ("other", UNKNOWN)):
        topic = named(version, 13, name, topic_id, "name")
        indices = rng.sample(range(40), 3)
        data = [{"index": index, "records": records(rng, version + 1, version < 2)} for index in indices]
        answers: list[dict[str, Any]] = [
            {"index": index, "errorCode": rng.choice((0, 0, 6, 3))} for index in [*indices[:2], 50]
        ]
        for each in answers:
            if version >= 10 and each["errorCode"] == 6:
                each["currentLeader"] = {"leaderId": 2, "leaderEpoch": 1}
            if version >= 8 and each["errorCode"] == 3:
                each["recordErrors"] = [{"batchIndex": 0, "batchIndexErrorMessage": "no"}]
        asked.append(topic | {"partitionData": data})
        reported.append(topic | {"partitionResponses": answers})
    body: dict[str, Any] = {"responses": reported}
    if version >= 10:
        body["nodeEndpoints"] = ENDPOINTS
    return request(0, version, number, {"acks": -1, "timeoutMs": 1, "topicData": asked}), response(
        0, version, number, body
    )


@pytest.mark.parametrize(("key", "make"), [(1, fetch), (0, produce)])
def test_every_version(key: int, make: Any, tmp_path: Path) -> None:
    rng = random.Random(key)
    versions = catalog().apis[key].versions
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1])  # tells one topic's name
    for version in range(versions.lo, versions.hi + 1):
        for number in range(8):
            asked, reported = make(version, number, rng)
            wire.client(asked).server(reported)
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.close().packets))
    rows = assert_equal(path)
    assert {row[6] for row in rows["exchanges"]} >= set(range(versions.lo, versions.hi + 1))
    batches = rows["record_batches"]
    assert {row[13] for row in batches} == {0, 1, 2}
    assert {row[27] for row in batches} == {True, False}
    assert {row[-1] for row in rows["outcomes"]} >= {None, "b2:9092"}
    if key == 1:
        assert {row[16] for row in rows["fetch_partitions"]} > {None, "NOT_LEADER_OR_FOLLOWER"}
        assert rows["down_conversions"]
        assert rows["remote_fetches"]


def test_the_same_partition_twice_goes_the_slower_way(tmp_path: Path) -> None:
    partition = {"partition": 3, "fetchOffset": 1, "partitionMaxBytes": 10}
    asked = {"maxWaitMs": 1, "topics": [{"topic": "t", "partitions": [partition, partition | {"fetchOffset": 9}]}]}
    reported = {"responses": [{"topic": "t", "partitions": [{"partitionIndex": 3, "highWatermark": 20}]}]}
    path = tmp_path / "made.pcap"
    path.write_bytes(
        pcap(Wire().open().client(request(1, 11, 1, asked)).server(response(1, 11, 1, reported)).close().packets)
    )
    (row,) = assert_equal(path)["fetch_partitions"]
    assert row[14] == 9


def test_an_answer_the_slower_way_ends_the_core_s_runs(tmp_path: Path) -> None:
    """A good answer, an error that only the slower way reads (its partition stands twice), a good one: three facts."""
    wire = Wire().open()
    for number, error in enumerate((0, 6, 0)):
        partition = {"partition": 0, "fetchOffset": 1, "partitionMaxBytes": 10}
        topics = [{"topic": "t", "partitions": [partition] * (2 if error else 1)}]
        reported = {
            "responses": [{"topic": "t", "partitions": [{"partitionIndex": 0, "errorCode": error, "highWatermark": 1}]}]
        }
        wire.client(request(1, 11, number, {"maxWaitMs": 1, "topics": topics})).server(
            response(1, 11, number, reported)
        )
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(wire.close().packets))
    outcomes = sorted(assert_equal(path)["outcomes"], key=lambda row: row[9])
    assert [(row[7], row[11]) for row in outcomes] == [(0, 1), (6, 1), (0, 1)]


def test_where_a_client_went_on_is_seen_on_any_connection(tmp_path: Path) -> None:
    """Good answers of one broker before and after an error of another: the change ends with the first one after it."""
    wires = [Wire(client=("10.0.0.1", 5000 + number), start=START).open() for number in (0, 1)]
    for number, (at, error) in enumerate(((0, 0), (1, 6), (0, 0), (0, 0))):
        partition = {"partition": 0, "fetchOffset": 1, "partitionMaxBytes": 10}
        answer = {"partitionIndex": 0, "errorCode": error, "highWatermark": 1}
        asked = {"maxWaitMs": 1, "topics": [{"topic": "t", "partitions": [partition]}]}
        reported = {"responses": [{"topic": "t", "partitions": [answer]}]}
        wires[at].now = max(wire.now for wire in wires)
        wires[at].client(request(1, 11, number, asked)).server(response(1, 11, number, reported))
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(sorted((packet for wire in wires for packet in wire.packets), key=lambda packet: packet.ns)))
    names = FACTS["outcomes"].names
    for odd in (False, True):
        rows = [dict(zip(names, row, strict=True)) for row in tables(path, odd, joined=False)[0]["outcomes"]]
        [change] = changes(iter(sorted(rows, key=lambda row: row["first_ns"])))
        assert change[-2] == 2.0, odd  # ms

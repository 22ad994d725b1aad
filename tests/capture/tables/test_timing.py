"""Where the time of an exchange went, and what its messages ask: columns of steady connections and of odd ones."""

from pathlib import Path
from typing import Any

import pytest

from kcli.capture.decoder import CaptureDecoder
from kcli.capture.tables.arrow import ArrowSink
from kcli.tables.exchanges import EXCHANGES
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND, Wire, pcap
from tests.oracle.odd import make_all_odd

pytest.importorskip("pyarrow")
TIMES = (
    "request_transfer_ms", "latency_ms", "response_transfer_ms", "wait_ms", "broker_ms", "client_pause_ms",
    "in_flight",
)  # fmt: skip
SAID = ("acks", "min_bytes", "max_wait_ms", "throttle_ms", "group_id", "transactional_id", "replica_id")


def rows(wire: Wire, folder: Path, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    path = folder / "made.pcap"
    path.write_bytes(pcap(wire.packets, nano=True))
    columns = [each for each in EXCHANGES.columns if each.name in (*names, "api_key")]
    made = [
        row for batch in CaptureDecoder([str(path)], ArrowSink(columns)).sink.batches() for row in batch.to_pylist()
    ]
    return [tuple(row[name] for name in names) for row in made if row["api_key"] is not None]  # others are events


def pieces(data: bytes, count: int) -> list[bytes]:
    size = -(-len(data) // count)
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.fixture(params=["steady", "odd", "mid-stream", "lost"])
def wire(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Wire:
    """A connection that the core reads by itself, one whose exchanges come as values, and two that are handed over."""
    made = Wire()
    if request.param == "odd":
        make_all_odd(monkeypatch)
    if request.param != "mid-stream":
        made.open()
    for number in (90, 91):
        made.client(metadata(number)[0]).server(metadata(number)[1])
    if request.param == "lost":
        made.seq[0] += 7  # bytes that the capture lacks, in which no request was
    return made


def metadata(number: int) -> tuple[bytes, bytes]:
    return request(3, 9, number, {"topics": None}), response(3, 9, number, {})


def test_first_bytes_waits_pauses_and_what_is_in_flight(wire: Wire, tmp_path: Path) -> None:
    """A produce in three packets, answered in two; two requests at once; a fetch that may wait 5 ms."""
    asked = {"acks": -1, "timeoutMs": 9, "topicData": [], "transactionalId": "t-1"}
    produce = request(0, 9, 1, asked), response(0, 9, 1, {"responses": [], "throttleTimeMs": 0})
    wire.now += 10 * MILLISECOND
    for piece in pieces(produce[0], 3):
        wire.client(piece)
    wire.now += 4 * MILLISECOND
    for piece in pieces(produce[1], 2):
        wire.server(piece)
    one, other = metadata(2), metadata(3)
    wire.client(one[0]).client(other[0]).server(one[1] + other[1])
    wire.now += 2 * MILLISECOND
    wire.client(request(1, 11, 4, {"replicaId": -1, "maxWaitMs": 5, "minBytes": 7, "topics": []}))
    wire.now += 8 * MILLISECOND
    wire.server(response(1, 11, 4, {"responses": [], "throttleTimeMs": 1}))
    found = rows(wire, tmp_path, TIMES)[2:]
    assert found[0][1:5] == (6.0, 1.0, 0, 5.0) and found[0][6] == 0
    assert found[1:] == [
        (0.0, 2.0, 0.0, 0, 2.0, 1.0, 0),
        (0.0, 1.0, 0.0, 0, 1.0, None, 1),
        (0.0, 9.0, 0.0, 5, 4.0, 3.0, 0),
    ]
    assert found[0][0] == 2.0 and found[0][5] in (11.0, None)


def test_what_messages_say(wire: Wire, tmp_path: Path) -> None:
    calls: list[tuple[int, int, dict[str, Any], dict[str, Any]]] = [
        (0, 9, {"acks": 1, "timeoutMs": 9, "topicData": [], "transactionalId": "t-1"}, {"throttleTimeMs": 70}),
        (
            1,
            17,
            {"replicaState": {"replicaId": 4, "replicaEpoch": 1}, "maxWaitMs": 500, "minBytes": 2, "topics": []},
            {},
        ),
        (1, 11, {"replicaId": 3, "maxWaitMs": 500, "minBytes": 2, "topics": []}, {}),
        (1, 17, {"maxWaitMs": 500, "minBytes": 2, "topics": []}, {}),
        (11, 5, {"groupId": "größe", "sessionTimeoutMs": 1, "rebalanceTimeoutMs": 2}, {}),
        (26, 3, {"transactionalId": "t", "committed": True}, {}),
        (24, 3, {"v3AndBelowTransactionalId": "u"}, {}),
        (63, 1, {"brokerId": 8}, {}),
    ]
    for number, (key, version, asked, answer) in enumerate(calls):
        wire.client(request(key, version, number, asked)).server(response(key, version, number, answer))
    assert rows(wire, tmp_path, SAID)[2:] == [
        (1, None, None, 70, None, "t-1", None),
        (None, 2, 500, 0, None, None, 4),
        (None, 2, 500, 0, None, None, 3),
        (None, 2, 500, 0, None, None, -1),
        (None, None, None, 0, "größe", None, None),
        (None, None, None, 0, None, "t", None),
        (None, None, None, 0, None, "u", None),
        (None, None, None, 0, None, None, 8),
    ]


def test_without_an_answer_there_is_no_time_at_the_broker(tmp_path: Path) -> None:
    wire = Wire().open().client(metadata(1)[0]).server(metadata(1)[1]).client(metadata(2)[0])
    assert rows(wire, tmp_path, TIMES)[-1] == (0.0, None, None, 0, None, 1.0, 0)


def test_throttling_takes_no_time_of_the_throttled_answer(tmp_path: Path) -> None:
    """A broker answers first and is silent after (KIP-219)."""
    wire = Wire().open().client(request(0, 9, 1, {"acks": -1, "timeoutMs": 9, "topicData": []}))
    wire.now += 2 * MILLISECOND
    wire.server(response(0, 9, 1, {"responses": [], "throttleTimeMs": 2196}))
    assert rows(wire, tmp_path, (*TIMES[3:5], "throttle_ms")) == [(0, 3.0, 2196)]


def test_who_waits_for_others_is_not_slow(tmp_path: Path) -> None:
    """JoinGroup waits as long as it said, SyncGroup for whoever leads."""
    wire = Wire().open()
    for key, version, asked in ((11, 5, {"groupId": "g", "sessionTimeoutMs": 9, "rebalanceTimeoutMs": 4}), (14, 3, {})):
        wire.client(request(key, version, key, asked))
        wire.now += 5 * MILLISECOND
        wire.server(response(key, version, key, {}))
    assert [row[3:5] for row in rows(wire, tmp_path, TIMES)] == [(4, 2.0), (None, None)]

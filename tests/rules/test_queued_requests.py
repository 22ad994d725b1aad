"""A producer whose Produce requests wait for each other, and waits that look alike."""

from pathlib import Path

import pytest

from kcli.diagnose import diagnose
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told


def queued(waiting: int, apart: int, value: bytes = b"v", throttle_ms: int = 0, stall: int = 0) -> Talk:
    """Send `waiting` requests at once, and then the next one after each response. apart: ns from one response to the
    next. stall: ns before the first response.
    """
    talk = Talk("writer")
    parts = [{"index": 0, "records": batch_bytes([(b"k", value)])}]
    asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": "orders", "partitionData": parts}]}
    part = {"index": 0, "errorCode": 0, "baseOffset": 7}
    answer = {"responses": [{"name": "orders", "partitionResponses": [part]}], "throttleTimeMs": throttle_ms}
    for number in range(waiting):
        talk.wire.client(request(0, 9, number, asked, "writer"))
    talk.wire.now += stall
    for number in range(160):
        talk.wire.now += apart - 2 * MILLISECOND
        talk.wire.server(response(0, 9, number, answer))
        talk.wire.client(request(0, 9, waiting + number, asked, "writer"))
    return talk


def test_many_small_requests_in_flight(tmp_path: Path) -> None:
    finding = told(found(tmp_path, queued(60, 180 * MILLISECOND)), "queued-requests", client="writer")
    assert (finding.evidence["connections"], finding.evidence["requests"]) == (1, 160)
    assert 48 < finding.evidence["in_flight"] < 61 and 179 < finding.evidence["alone_ms"] < 182
    assert "each took 8,8" in finding.text, finding.text


def test_a_short_queue_is_worth_a_word(tmp_path: Path) -> None:
    assert not found(tmp_path, queued(40, 80 * MILLISECOND))
    [finding] = diagnose([str(tmp_path / "a.pcap")]).findings
    assert finding.finding == "queued-requests" and "each took 2,8" in finding.text


@pytest.mark.parametrize(
    "talk",
    [
        queued(5, 450 * MILLISECOND),  # few in flight, and a slow broker
        queued(40, 80 * MILLISECOND, value=bytes(20_000)),  # nothing to put together
        queued(40, 80 * MILLISECOND, throttle_ms=20),  # a quota holds it back
        queued(100, 20 * MILLISECOND, stall=12 * SECOND),  # the broker stood still
    ],
    ids=["few in flight", "large", "throttled", "a stall"],
)
def test_other_waits_are_no_queue(talk: Talk, tmp_path: Path) -> None:
    found(tmp_path, talk)
    assert "queued-requests" not in {each.finding for each in diagnose([str(tmp_path / "a.pcap")]).findings}

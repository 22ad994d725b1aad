"""A producer whose Produce requests wait for each other, and waits that look alike."""

from pathlib import Path

from kcli.diagnose import diagnose
from tests.capture.messages import request, response
from tests.capture.wires import MILLISECOND
from tests.records.slips.making import batch_bytes
from tests.rules.test_by_hand import SECOND, Talk, found, told


def queued(
    client: str, port: int, waiting: int, apart: int, value: bytes = b"v", throttle_ms: int = 0, stall: int = 0
) -> Talk:
    """Send `waiting` requests at once, and then the next one after each response. apart: ns from one response to the
    next. stall: ns before the first response.
    """
    talk = Talk(client, port)
    parts = [{"index": 0, "records": batch_bytes([(b"k", value)])}]
    asked = {"acks": 1, "timeoutMs": 1000, "topicData": [{"name": client, "partitionData": parts}]}
    part = {"index": 0, "errorCode": 0, "baseOffset": 7}
    answer = {"responses": [{"name": client, "partitionResponses": [part]}], "throttleTimeMs": throttle_ms}
    for number in range(waiting):
        talk.wire.client(request(0, 9, number, asked, client))
    talk.wire.now += stall
    for number in range(160):
        talk.wire.now += apart - 2 * MILLISECOND
        talk.wire.server(response(0, 9, number, answer))
        talk.wire.client(request(0, 9, waiting + number, asked, client))
    return talk


def test_many_small_requests_in_flight(tmp_path: Path) -> None:
    finding = told(found(tmp_path, queued("writer", 40000, 160, 195 * MILLISECOND)), "queued-requests", client="writer")
    assert (finding.evidence["connections"], finding.evidence["requests"]) == (1, 160)
    assert 79 < finding.evidence["in_flight"] < 82 and 194 < finding.evidence["alone_ms"] < 197
    assert finding.severity == "warning" and "each took 15,7" in finding.text, finding.text


def test_other_waits_are_no_queue_and_a_short_one_is_worth_a_word(tmp_path: Path) -> None:
    talks = [
        queued("short", 40000, 40, 80 * MILLISECOND),
        queued("few in flight", 40001, 5, 450 * MILLISECOND),  # and a slow broker
        queued("large", 40002, 40, 80 * MILLISECOND, value=bytes(20_000)),  # nothing to put together
        queued("throttled", 40003, 40, 80 * MILLISECOND, throttle_ms=20),  # a quota holds it back
        queued("stalled", 40004, 100, 20 * MILLISECOND, stall=12 * SECOND),  # the broker stood still
    ]
    found(tmp_path, *talks)
    every = diagnose([str(tmp_path / "a.pcap")])
    told_of = [each for each in [*every.findings, *every.explained] if each.finding == "queued-requests"]
    assert [(each.subject["client"], each.severity) for each in told_of] == [("short", "info")]
    assert "each took 2,8" in told_of[0].text

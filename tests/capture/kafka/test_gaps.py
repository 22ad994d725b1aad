"""What missing bytes do to frames."""

import random
import struct
from collections.abc import Callable
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import metadata, produce, request, response
from tests.capture.traffic import chatter, events, summary, without
from tests.capture.wires import SAMPLES, Wire, frame, packets_of

Read = Callable[[Any], list[Exchange | Event]]


def key_of(item: Exchange) -> tuple[Any, ...]:
    return item.connection, item.correlation_id, item.api_key, item.api_version


def test_a_lost_request_is_a_gap_and_its_answer_is_kept(read: Read) -> None:
    wire = chatter(range(1, 40), Wire().open())
    items = read(without(wire, 3 + 2 * 4))  # the request of correlation id 5
    assert summary(items).count("gap") == 1 and summary(items).count("undecodable") == 1
    answers = [item.correlation_id for item in items if isinstance(item, Exchange)]
    assert answers == [number for number in range(1, 40) if number != 5]
    gap, orphan = events(items)
    assert gap.size == len(metadata(5)[0]) and orphan.reason == "answers no request in the capture"
    assert orphan.data == metadata(5)[1][4:]


def test_a_lost_response_leaves_its_request_unanswered(read: Read) -> None:
    wire = chatter(range(1, 40), Wire().open())
    items = read(without(wire, 4 + 2 * 4))
    assert [event.kind for event in events(items)] == ["gap"]
    assert "METADATA 5 ?" in summary(items)
    found = {item.correlation_id: item for item in items if isinstance(item, Exchange)}
    lost = found[5]
    assert len(found) == 39 and (lost.errors, lost.outcome, lost.response_bytes) == (None, "response lost", None)


def test_what_is_told_of_a_message_with_a_gap_is_true(read: Read) -> None:
    packets = packets_of(SAMPLES / "java44-txn.pcap")
    whole = {key_of(item): item for item in read(packets) if isinstance(item, Exchange)}
    lost = frozenset(random.Random(3).sample(range(len(packets)), len(packets) // 15))
    found = [item for item in read(at for n, at in enumerate(packets) if n not in lost) if isinstance(item, Exchange)]
    for item in found:
        true = whole[key_of(item)]
        assert item.request_ns == true.request_ns and item.response_ns in (None, true.response_ns)
        assert item.request_bytes == true.request_bytes and item.response_bytes in (None, true.response_bytes)
        assert item.errors in (None, true.errors) and item.response in (None, true.response)
        assert item.response is not None or item.errors != [] or true.response is None
    assert len(found) > 0.9 * len(whole)


def test_a_loss_at_the_end_of_a_response_leaves_its_time_unknown(read: Read) -> None:
    body = {"throttleTimeMs": 70, "errorCode": 0, "sessionId": 5, "responses": [{"topic": "t", "partitions": []}] * 99}
    asked = request(1, 12, 5, {"maxWaitMs": 500, "minBytes": 1, "topics": []})
    answer, half = response(1, 12, 5, body), 300
    for lost, size in ((0, len(answer)), (1, None)):
        wire = chatter(range(1, 5), Wire().open()).client(asked)
        at = len(wire.packets)
        wire.server(answer[:200]).server(answer[200:half]).server(answer[half:])
        items = read(without(chatter(range(6, 20), wire), at + 1 + lost))
        [item] = [each for each in items if isinstance(each, Exchange) and each.correlation_id == 5]
        assert (item.errors, item.response, item.response_bytes) == (None, None, size)
        assert (item.latency_ms is None) == (size is None)
        assert len([each for each in items if isinstance(each, Exchange)]) == 19


def test_a_gap_in_an_answer_that_the_tables_lack_leaves_its_errors_unknown(read: Read) -> None:
    wire = chatter(range(1, 5), Wire().open()).client(frame(struct.pack(">hhih", 515, 1, 5, -1)))
    at = len(wire.packets)
    for part in (struct.pack(">ii", 304, 5) + bytes(100), bytes(100), bytes(100)):
        wire.server(part)
    items = read(without(chatter(range(6, 20), wire), at + 1))
    [item] = [each for each in items if isinstance(each, Exchange) and each.api_key == 515]
    assert (item.api, item.errors, item.error_codes, item.response_bytes) == ("515", None, None, 308)
    assert item.start_of("throttleTimeMs?", response=True) is None


def test_a_loss_within_a_frame_damages_only_that(read: Read) -> None:
    asked, answer = produce(5, records=bytes(range(256)) * 20)
    wire = chatter(range(1, 5), Wire().open())
    lost = len(wire.packets) + 1
    for start in range(0, len(asked), 1000):
        wire.client(asked[start : start + 1000])
    wire.server(answer)
    items = read(without(chatter(range(6, 40), wire), lost))
    before, gap, *others = events(items)
    assert gap.size == 1000 and "Produce v9 request 5" in gap.reason
    assert {event.kind for event in (before, *others)} == {"undecodable"}
    found = {item.correlation_id: item for item in items if isinstance(item, Exchange)}
    assert [*found] == [*range(1, 40)]
    assert (found[5].request, found[5].request_bytes, found[5].errors) == (None, len(asked), [])
    assert found[5].response is not None and found[5].latency_ms is not None

"""Frames found in mid-stream."""

from collections.abc import Callable
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.traffic import chatter, events, summary
from tests.capture.wires import Wire

Read = Callable[[Any], list[Exchange | Event]]


def test_a_capture_may_begin_in_mid_stream(read: Read) -> None:
    wire = chatter(range(1, 40), Wire().open())
    for start in range(4, 30):
        items = read(wire.packets[start:])
        numbers = [item.correlation_id for item in items if isinstance(item, Exchange)]
        whole = range((start - 3 + 1) // 2 + 1, 40)
        assert numbers == list(whole), start
        assert all(event.reason == "before the first whole frame" for event in events(items))


def test_a_capture_of_one_direction_has_requests_alone(read: Read) -> None:
    wire = chatter(range(1, 5), Wire().open())
    items = read([packet for packet in wire.packets if packet.data[26:30] == bytes([10, 0, 0, 1])])
    assert summary(items) == [f"METADATA {number} ?" for number in range(1, 5)] + ["unanswered-at-end"]


def test_lengths_that_cannot_be_are_said(read: Read) -> None:
    wire = chatter(range(1, 3), Wire().open()).client(b"\x7f\xff\xff\xff" + bytes(20))
    items = read(chatter(range(3, 5), wire))
    assert summary(items)[:3] == ["METADATA 1", "METADATA 2", "undecodable"]
    assert events(items)[0].reason == "no frame has such a length"
    assert summary(items)[-2:] == ["METADATA 3", "METADATA 4"]

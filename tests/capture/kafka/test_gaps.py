"""What missing bytes do to frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.messages import metadata, produce
from tests.capture.traffic import chatter, events, summary, without
from tests.capture.wires import Wire

Read = Callable[[Any], list[Exchange | Event]]


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
    assert len([item for item in items if isinstance(item, Exchange)]) == 39


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
    assert [item.correlation_id for item in items if isinstance(item, Exchange)] == [*range(1, 5), *range(6, 40)]

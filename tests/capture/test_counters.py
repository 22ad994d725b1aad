"""Counts, and the sum that has to come out."""

import pytest

from kcli.capture.counters import Tally
from kcli.capture.kafka.events import Event
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import DATA, SAMPLES


@pytest.mark.parametrize(
    "path", [*sorted(SAMPLES.glob("*.pcap*")), *sorted(DATA.glob("*.pcap*"))], ids=lambda path: path.name
)
def test_every_byte_is_accounted_for(path: object, engine: str) -> None:
    source = as_values([str(path)])
    for _ in pieces(source):
        pass
    assert source.engine.payload > 0
    assert source.tally.unaccounted(source.engine) == 0


def test_what_is_missing_is_not_counted_as_there() -> None:
    tally = Tally()
    tally.add(Event("gap", "a-b", 0, 0, 100, "", captured=False))
    tally.add(Event("undecodable", "a-b", 0, 0, 30, ""))
    tally.add(Event("truncated", None, 0, 0, 7, "", file="f"))
    assert (tally.captured, tally.event_bytes["gap"], tally.events.total()) == (30, 100, 3)

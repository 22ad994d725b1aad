"""The lines of all turns, put together, are all lines."""

from __future__ import annotations

from typing import Any

import pytest

from kcli.capture.exchanges import CaptureDecoder
from kcli.capture.filters import Filter
from kcli.capture.turns import TurnDecoder
from kcli.core import COMPILED
from tests.capture.wires import DATA, SAMPLES

pytestmark = pytest.mark.skipif(not COMPILED, reason="the core is not built")


def turns_of(path: str, own: int, count: int, size: int, **options: Any) -> list[tuple[int, bytes]]:
    """(whose, text) of each turn, as one process makes them."""
    made: list[tuple[int, bytes]] = []
    text = bytearray()
    source = TurnDecoder([path], **options)

    def turned(number: int) -> None:
        source.engine.drain_text(text.extend)
        made.append((number, bytes(text)))
        text.clear()

    source.on_turn = turned
    source.engine.take_turns(own, count, size)
    source.lines(text.extend)
    turned(source.engine.turn)
    return made


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (SAMPLES / "java44-txn.pcap", {}),
        (SAMPLES / "java44-consume-classic.pcap", {"chosen": Filter(apis=frozenset({1}))}),
        (DATA / "kraft-boot.pcap.zst", {"records": "full"}),
    ],
)
@pytest.mark.parametrize("size", [1, 700, 50_000])
def test_together_they_are_all(name: Any, options: dict[str, Any], size: int) -> None:
    lines = bytearray()
    CaptureDecoder([str(name)], text=True, **options).lines(lines.extend)
    shared = [turns_of(str(name), own, 3, size, **options) for own in range(3)]
    whose = [number for number, _ in shared[0]]
    assert all([number for number, _ in each] == whose for each in shared)
    assert all(not text for own, each in enumerate(shared) for number, text in each if number != own)
    assert b"".join(shared[number][at][1] for at, number in enumerate(whose)) == lines


def test_what_is_counted_is_the_same() -> None:
    path = str(SAMPLES / "java44-txn.pcap")
    whole, part = CaptureDecoder([path], text=True), TurnDecoder([path])
    part.on_turn = lambda number: None
    part.engine.take_turns(1, 2, 1 << 40)
    for source in (whole, part):
        source.lines(lambda text: None)
    assert part.tally == whole.tally and part.tally.unaccounted(part.engine) == 0

"""Fixtures of the capture tests: both engines, and captures written for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from kcli.capture import decoder
from kcli.capture.io import ranges
from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from kcli.core import COMPILED
from tests.capture.wires import Packet, Wire, pcap

Reading = Callable[[Iterable[Packet] | bytes | Wire], list[Exchange | Event]]


@pytest.fixture(params=["interpreted", "compiled"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run with the compiled engine, and with its twin."""
    if request.param == "compiled" and not COMPILED:
        pytest.skip("the core is not built")
    for module in (decoder, ranges):
        monkeypatch.setattr(module, "COMPILED", request.param == "compiled")
    return str(request.param)


@pytest.fixture
def read(engine: str, tmp_path: Path) -> Reading:
    """What comes out of packets, a wire or a file's bytes; every byte has to be accounted for."""

    def reading(given: Iterable[Packet] | bytes | Wire) -> list[Exchange | Event]:
        packets = given.packets if isinstance(given, Wire) else given
        data = packets if isinstance(packets, bytes) else pcap(packets)
        path = tmp_path / "made.pcap"
        path.write_bytes(data)
        source = decoder.CaptureDecoder([str(path)])
        items = [item for piece in source.pieces() for item in piece]
        assert source.tally.unaccounted(source.engine) == 0
        return items

    return reading

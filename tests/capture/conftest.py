"""Fixtures of the capture tests: the core and its oracle, and captures written for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import Packet, Wire, pcap
from tests.oracle.captures import READERS

Reading = Callable[..., list[Exchange | Event]]


@pytest.fixture(params=READERS)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Read packets with the oracle, and with the core."""
    with READERS[request.param]():
        yield request.param


@pytest.fixture
def read(engine: str, tmp_path: Path) -> Reading:
    """What comes out of packets, a wire or a file's bytes; every byte has to be accounted for."""

    def reading(given: Iterable[Packet] | bytes | Wire, **options: Any) -> list[Exchange | Event]:
        packets = given.packets if isinstance(given, Wire) else given
        data = packets if isinstance(packets, bytes) else pcap(packets)
        path = tmp_path / "made.pcap"
        path.write_bytes(data)
        source = as_values([str(path)], **options)
        items = [item for piece in pieces(source) for item in piece]
        assert source.tally.unaccounted(source.engine) == 0
        return items

    return reading

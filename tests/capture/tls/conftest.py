"""What comes out of captures with TLS in them, through both engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from kcli.capture.kafka.events import Event
from kcli.capture.kafka.exchange import Exchange
from tests.capture.decoding import as_values, pieces
from tests.capture.wires import Packet, pcap

Decrypting = Callable[..., tuple[list[Exchange], list[Event]]]


@pytest.fixture
def decrypt(engine: str, tmp_path: Path) -> Decrypting:
    """(exchanges, events) of packets or a capture file, with key logs; every byte has to be accounted for."""

    def reading(given: Iterable[Packet] | Path, key_logs: Sequence[Path] = ()) -> tuple[list[Exchange], list[Event]]:
        path = given if isinstance(given, Path) else tmp_path / "made.pcap"
        if not isinstance(given, Path):
            path.write_bytes(pcap(given))
        source = as_values([str(path)], key_logs=[str(file) for file in key_logs])
        items = [item for piece in pieces(source) for item in piece]
        assert source.tally.unaccounted(source.engine) == 0
        return [each for each in items if isinstance(each, Exchange)], [
            each for each in items if isinstance(each, Event)
        ]

    return reading

"""The compiled streams agree with the interpreted ones, by whose tests (tests/capture/tcp/) both are judged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kcli.capture import decoder
from kcli.core import COMPILED
from tests.capture.wires import SAMPLES, Packet, packets_of, pcap, rebuilt, split

pytestmark = pytest.mark.skipif(not COMPILED, reason="the core is not built")

PACKETS = packets_of(SAMPLES / "kcat-codecs.pcap")


def mangled(seed: int) -> list[Packet]:
    """Lost, doubled, delayed, cut and overlapping segments."""
    chance = random.Random(seed)

    def change(packet: Packet, headers: bytes, seq: int, flags: int, payload: bytes) -> list[Packet]:
        what = chance.random()
        if what < 0.03:
            return []
        if what < 0.06:
            return [packet, packet]
        if what < 0.10:
            middle = chance.randrange(len(payload) + 1)
            return [rebuilt(packet, headers, seq + middle, payload[middle:]), rebuilt(packet, headers, seq, payload)]
        return [packet]

    packets = split(PACKETS, change)
    for _ in range(20):
        at = chance.randrange(len(packets) - 10)
        packets.insert(at + chance.randrange(10), packets.pop(at))
    return packets


@pytest.mark.parametrize("seed", range(25))
def test_both_engines_agree_on_mangled_captures(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mangled.pcap"
    path.write_bytes(pcap(mangled(seed)))
    found = []
    for compiled in (True, False):
        monkeypatch.setattr(decoder, "COMPILED", compiled)
        source = decoder.CaptureDecoder([str(path)])
        lines = [item.line() for items in source.pieces() for item in items]
        engine = source.engine
        assert source.tally.unaccounted(engine) == 0
        found.append((lines, engine.segments, engine.payload, engine.duplicate, engine.stray, engine.connections))
    assert found[0] == found[1]

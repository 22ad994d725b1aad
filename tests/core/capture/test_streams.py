"""The compiled streams agree with the interpreted ones, by whose tests (tests/oracle/tcp/) both are judged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.capture.wires import SAMPLES, Packet, packets_of, pcap, rebuilt, split
from tests.oracle.captures import same_as_oracle

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
def test_the_core_reads_mangled_captures_as_its_oracle_does(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "mangled.pcap"
    path.write_bytes(pcap(mangled(seed)))
    assert same_as_oracle(path)

"""How evenly connections share the bytes, estimated from stretches of the captures."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from kcli.pipeline.packets.skew import STRETCH, largest_share
from kcli.pipeline.storage import StoredFile
from tests.capture.wires import Packet, Wire, pcap, pcapng


def crowd(heavy: int) -> list[Packet]:
    """400 connections in each other's midst, and one that has `heavy` times the bytes of one of them."""
    chance = random.Random(heavy)
    packets = [
        packet
        for port in range(40000, 40400)
        for packet in Wire(client=("10.0.0.1", port)).open().client(bytes(1000)).server(bytes(1000)).packets
    ]
    wire = Wire(client=("10.0.0.2", 50000)).open()
    for _ in range(heavy):
        wire.client(bytes(1000)).server(bytes(1000))
    packets += wire.packets
    chance.shuffle(packets)
    return packets


def stored(path: Path, data: bytes) -> StoredFile:
    path.write_bytes(data)
    return StoredFile(str(path), len(data), 0)


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_many_connections_are_even(write: object, tmp_path: Path) -> None:
    data = write(crowd(0) * 5)  # type: ignore[operator]
    assert len(data) > 4 * STRETCH
    file = stored(tmp_path / "a", data)
    assert 0.5 <= largest_share([file], 2) < 0.58
    assert 0.25 <= largest_share([file, file], 4) < 0.33


def test_one_connection_has_most_of_it(tmp_path: Path) -> None:
    file = stored(tmp_path / "a.pcap", pcap(crowd(3600)))
    assert largest_share([file], 2) == pytest.approx(0.95, abs=0.02)
    packed = stored(tmp_path / "a.pcap.gz", gzip.compress(pcap(crowd(3600)), 1))
    assert largest_share([packed], 2) == pytest.approx(0.95, abs=0.03)


def test_what_cannot_be_told_is_not_even(tmp_path: Path) -> None:
    files = [StoredFile(str(tmp_path / "none"), 100, 0), stored(tmp_path / "bad", b"GIF89a" + bytes(60))]
    assert largest_share(files, 2) == 1.0
    assert largest_share([], 2) == 1.0

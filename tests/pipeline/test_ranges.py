"""Big captures in ranges: each packet is read once, however the file is cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcli.pipeline.ranges import Ends, Range, cut, misread
from kcli.pipeline.scattering import scatter
from kcli.pipeline.storage import StoredFile
from tests.capture.wires import Packet, Wire, pcap


def stored(path: Path) -> StoredFile:
    return StoredFile(str(path), path.stat().st_size, 0)


@pytest.mark.parametrize("name", ["kcat-codecs.pcap", "ipv6.pcapng"])
@pytest.mark.parametrize("size", [1_000, 7_777, 20_000])
def test_every_packet_is_in_one_range(name: str, size: int, samples: Path, tmp_path: Path) -> None:
    whole = scatter(Range(str(samples / name), 0), 0, 1, str(tmp_path / "whole"))
    ranges = cut(stored(samples / name), size)
    assert len(ranges) > 1
    parts = [scatter(each, number, 1, str(tmp_path / "parts")) for number, each in enumerate(ranges)]
    assert sum(part.packets for part in parts) == whole.packets
    assert sum(part.payload for part in parts) == whole.payload
    assert not list(misread(Ends(part.taken, part.began, part.stopped) for part in parts))


def test_a_compressed_file_is_one_range(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(b"\x1f\x8b" + bytes(5000))
    assert cut(stored(path), 1000) == [Range(str(path), 5002)]


def lure(tmp_path: Path) -> Path:
    """A capture whose payload is itself a capture's records, as somebody who copies captures over the network has."""
    inner = pcap(Wire().open().client(b"i" * 80).close().packets * 8)[24:]
    wire = Wire().open()
    for _ in range(6):
        wire.client(inner)
    path = tmp_path / "lure.pcap"
    path.write_bytes(pcap([Packet(packet.ns, packet.data) for packet in wire.packets]))
    return path


def test_a_wrong_guess_is_found_out(tmp_path: Path) -> None:
    ranges = cut(stored(lure(tmp_path)), 6_000)
    parts = [scatter(each, number, 1, str(tmp_path / "parts")) for number, each in enumerate(ranges)]
    wrong = list(misread(Ends(part.taken, part.began, part.stopped) for part in parts))
    assert wrong
    assert all(each.began is not None and each.began >= each.start for each in wrong)

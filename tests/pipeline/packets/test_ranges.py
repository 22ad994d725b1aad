"""Big captures in ranges: each packet is read once, however the file is cut."""

from pathlib import Path
from typing import Any

import pytest

from kcli.capture.io import capture_file
from kcli.pipeline.packets import ranges
from kcli.pipeline.packets.ranges import Range, cut, misread
from kcli.pipeline.packets.shuffle import ShuffledRange
from kcli.pipeline.storage import StoredFile
from tests.capture.wires import Packet, Wire, packets_of, pcap, pcapng
from tests.pipeline.packets.shuffling import shuffle_range


def stored(path: Path) -> StoredFile:
    return StoredFile(str(path), path.stat().st_size, 0)


@pytest.mark.parametrize("name", ["kcat-codecs.pcap", "ipv6.pcapng"])
@pytest.mark.parametrize("size", [1_000, 7_777, 20_000])
@pytest.mark.parametrize("piece", [1 << 20, 1_500])
def test_every_packet_is_in_one_range(
    name: str, size: int, piece: int, samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """piece: bytes that are read at a time; a range is many of them."""
    monkeypatch.setattr(capture_file, "PIECE", piece)
    whole = shuffle_range(Range(str(samples / name), 0), 0, 1, str(tmp_path / "whole"))
    ranges = cut(stored(samples / name), size)
    assert len(ranges) > 1
    parts = [shuffle_range(each, number, 1, str(tmp_path / "parts")) for number, each in enumerate(ranges)]
    assert sum(part.packets for part in parts) == whole.packets
    assert sum(part.payload for part in parts) == whole.payload
    assert not list(misread(part.ends for part in parts))


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
    parts = [shuffle_range(each, number, 1, str(tmp_path / "parts")) for number, each in enumerate(ranges)]
    wrong = list(misread(part.ends for part in parts))
    assert wrong
    assert all(each.began is not None and each.began >= each.start for each in wrong)


def read_again(path: Path, tmp_path: Path, size: int) -> tuple[list[ShuffledRange], int]:
    """The ranges as a run reads them, and how many it had to read again."""
    made = [
        shuffle_range(each, number, 1, str(tmp_path / "parts")) for number, each in enumerate(cut(stored(path), size))
    ]
    again = 0
    while wrong := list(misread(each.ends for each in made)):
        again += len(wrong)
        starts = {each.start for each in wrong}
        made = [each for each in made if each.part.start not in starts]
        made += [shuffle_range(each, again, 1, str(tmp_path / "parts")) for each in wrong]
    return sorted(made, key=lambda each: each.part.start), again


@pytest.mark.parametrize(
    "second",
    [
        {"resolution": 9},  # another unit of time
        {"interface": 2, "link": 1},  # of the third interface
        {"big": True, "resolution": 3},
    ],
)
def test_interfaces_that_are_described_late(
    second: dict[str, Any], samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sections of other interfaces, one behind the other: what the file's start says is not true of all ranges."""
    monkeypatch.setattr(ranges, "HEAD", 500)
    packets = packets_of(samples / "java44-txn.pcap")
    path = tmp_path / "late.pcapng"
    path.write_bytes(pcapng(packets[:150]) + pcapng(packets[150:], **second) + pcapng(packets[:20]))
    whole = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / "whole"))
    assert whole.tcp == len(packets) + 20
    parts, again = read_again(path, tmp_path, 9_000)
    assert len(parts) > 5
    assert again > 0
    for name in ("packets", "tcp", "payload", "first_ns"):
        counts = [getattr(part, name) for part in parts]
        assert (min(counts) if name == "first_ns" else sum(counts)) == getattr(whole, name)
    assert max(part.last_ns for part in parts) == whole.last_ns
    assert not [event for part in parts for event in part.events]


def test_an_interface_added_in_the_middle(samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Wireshark writes it when another interface comes up: no new section, a block among the packets."""
    monkeypatch.setattr(ranges, "HEAD", 500)
    packets = packets_of(samples / "java44-txn.pcap")
    later = pcapng(packets[100:], interface=1)
    blocks = later[28:]  # without the section's own block
    path = tmp_path / "added.pcapng"
    path.write_bytes(pcapng(packets[:100]) + blocks[blocks.index(b"\x01\x00\x00\x00\x14\x00\x00\x00") + 20 :])
    whole = shuffle_range(Range(str(path), 0), 0, 1, str(tmp_path / "whole"))
    assert (whole.tcp, whole.events) == (len(packets), [])
    parts, again = read_again(path, tmp_path, 9_000)
    assert (sum(part.tcp for part in parts), again > 0) == (len(packets), True)

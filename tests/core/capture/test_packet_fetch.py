"""Packets gathered from where they are: byte for byte those that would have been copied."""

import random
from pathlib import Path

import pytest

from kcli.core.capture.packet_fetch import Gatherer
from kcli.core.capture.packet_shuffle import Scatter
from kcli.core.capture.packets import PacketReader
from tests.capture.wires import Packet, Wire, pcap, pcapng

FOREVER = (1 << 63) - 1


def parts_of(data: bytes, count: int, *, refer: bool) -> dict[tuple[int, int], list[bytes]]:
    """What is handed on for each bucket and link layer."""
    out: dict[tuple[int, int], list[bytes]] = {}
    scatter = Scatter(
        count, lambda share, link, *answer: out.setdefault((share, link), []).append(answer[-1]), refer=refer
    )
    assert scatter.run(PacketReader(), data, FOREVER) == (len(data), "end")
    scatter.finish()
    return out


def gathered(path: Path, index: bytes, room: int) -> bytes:
    made = bytearray()
    with path.open("rb") as file:
        gatherer = Gatherer(file.fileno(), index)
        piece = bytearray(room)
        while count := gatherer.readinto(piece):
            made += piece[:count]
    return bytes(made)


def crowd() -> list[Packet]:
    """Connections in each other's midst: packets of a few bytes, and such as are read by themselves."""
    chance = random.Random(7)
    packets: list[Packet] = []
    for port in range(40000, 40030):
        wire = Wire(client=("10.0.0.1", port)).open()
        for _ in range(12):
            size = chance.choice([1, 60, 700, 1448, 5000, 9000, 30000, 64000])
            wire.client(chance.randbytes(size)).server(chance.randbytes(chance.choice([1, 200, 40000])))
        packets += wire.packets
    return sorted(packets, key=lambda packet: (packet.ns + chance.choice([0, 3, -5])) % 1009)


@pytest.mark.parametrize("write", [pcap, pcapng])
@pytest.mark.parametrize("room", [1 << 20, 70_000, 4096, 19, 1])
def test_the_records_that_would_have_been_copied(write: object, room: int, tmp_path: Path) -> None:
    data = write(crowd() if room > 100 else crowd()[:40])  # type: ignore[operator]
    path = tmp_path / "a"
    path.write_bytes(data)
    copies = parts_of(data, 5, refer=False)
    indexes = parts_of(data, 5, refer=True)
    assert copies.keys() == indexes.keys()
    for bucket, parts in copies.items():
        assert gathered(path, b"".join(indexes[bucket]), room) == b"".join(parts)


def test_a_part_can_be_read_without_those_before_it(tmp_path: Path) -> None:
    data = pcap(crowd() * 3)
    path = tmp_path / "a"
    path.write_bytes(data)
    copies, indexes = (parts_of(data, 1, refer=refer)[0, 1] for refer in (False, True))
    assert len(copies) == len(indexes) > 3
    assert sum(map(len, indexes)) < len(data) // 500
    for number in range(len(copies)):
        assert gathered(path, b"".join(indexes[number:]), 1 << 20) == b"".join(copies[number:])


def test_a_file_that_is_shorter_than_it_was(tmp_path: Path) -> None:
    data = pcap(crowd())
    path = tmp_path / "a"
    path.write_bytes(data[:-100])
    index = b"".join(parts_of(data, 1, refer=True)[0, 1])
    with pytest.raises(EOFError, match=r"bytes at 0x[0-9a-f]+ can't be read"):
        gathered(path, index, 1 << 20)


def test_an_index_that_makes_no_sense_ends(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(bytes(100))
    for index in (b"", b"\0", b"\0\0\0", b"\x80" * 40, b"\0\x05\x01"):
        assert gathered(path, index, 100) == b""

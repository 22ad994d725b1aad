"""Packets dealt out by connection: nothing is lost, and both directions stay together."""

import struct

from kcli.core.capture.packet_shuffle import Scatter, pcap_header, share_of
from kcli.core.capture.packets import PacketReader
from tests.capture.wires import Wire, ip4, pcap, segment

FOREVER = (1 << 63) - 1


def chat(port: int) -> Wire:
    return Wire(client=("10.0.0.1", port)).open().client(b"x" * 100).server(b"y" * 50).close()


def deal(data: bytes, count: int, *, only: int = -1, refer: bool = False) -> tuple[Scatter, dict[int, bytes]]:
    out: dict[int, bytes] = {}

    def write(share: int, link: int, *answer: object) -> None:
        assert isinstance(answer[-1], bytes)
        out[share] = out.get(share, b"") + answer[-1]

    scatter = Scatter(count, write, only=only, refer=refer)
    used, why = scatter.run(PacketReader(), data, FOREVER)
    assert (used, why) == (len(data), "end")
    scatter.finish()
    return scatter, out


def connections(records: bytes) -> set[bytes]:
    _, rows = PacketReader().rows(pcap_header(1) + records)
    return {row[4] for row in rows}


def test_a_connection_is_in_one_bucket_and_no_packet_is_lost() -> None:
    packets = [packet for port in range(40000, 40020) for packet in chat(port).packets]
    scatter, out = deal(pcap(packets), 4)
    assert (scatter.packets, scatter.tcp, scatter.kept) == (len(packets), len(packets), len(packets))
    found = [connections(records) for records in out.values()]
    assert len(set.union(*found)) == sum(map(len, found)) == 20
    assert len(out) == 4


def test_packets_come_out_as_they_went_in() -> None:
    packets = chat(40000).packets
    _, out = deal(pcap(packets, nano=True), 1)
    _, rows = PacketReader().rows(pcap_header(1) + out[0])
    assert [(row[1], row[5]) for row in rows] == [(packet.ns, packet.data) for packet in packets]


def test_one_bucket_alone() -> None:
    packets = [packet for port in range(40000, 40020) for packet in chat(port).packets]
    _, whole = deal(pcap(packets), 4)
    scatter, out = deal(pcap(packets), 4, only=2)
    assert out == {2: whole[2]}
    assert scatter.packets == len(packets)


def test_a_connection_kept_from_another_run_finds_its_bucket() -> None:
    packets = [packet for port in range(40000, 40008) for packet in chat(port).packets]
    _, out = deal(pcap(packets), 3)
    for share, records in out.items():
        assert {share_of(ends, 3) for ends in connections(records)} == {share}


def test_more_link_layers_than_any_file_has() -> None:
    """Each of those that are read, and others."""
    before = {
        1: bytes(12) + b"\x08\0",
        113: bytes(14) + b"\x08\0",
        276: b"\x08\0" + bytes(18),
        0: bytes(4),
        108: bytes(4),
    }
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    data = section
    for number, link in enumerate([1, 12, 14, 101, 113, 228, 229, 276, 0, 108, 105, 127]):
        packet = before.get(link, b"") + ip4("10.0.0.1", "10.0.0.2", segment(1, 2, 3, 4, 16))
        size = 32 + len(packet) + -len(packet) % 4
        data += struct.pack("<IIHHII", 1, 20, link, 0, 65535, 20)
        data += struct.pack("<IIIIIII", 6, size, number, 0, number, len(packet), len(packet))
        data += packet + bytes(-len(packet) % 4) + struct.pack("<I", size)
    assert deal(data, 2)[0].kept == 10


def test_what_describes_packets_is_kept_block_by_block() -> None:
    section = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    one = struct.pack("<IIHHII", 1, 20, 101, 0, 65535, 20)
    scatter, _ = deal(section + one * 5, 1)
    assert scatter.described == section + one * 5 and scatter.known == b""
    again, _ = deal(section + one * 5 + section + one, 1)
    assert again.described == section + one
    primed = Scatter(1, lambda *_: None)
    primed.prime(PacketReader(), section + one * 2)
    assert primed.known == section + one * 2

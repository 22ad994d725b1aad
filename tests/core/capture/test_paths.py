"""Connections with the same two ends, told apart by the way that their packets took, and those that stay one."""

import json
import struct
from collections import Counter
from collections.abc import Callable
from itertools import starmap
from pathlib import Path

import pytest

from kcli.capture.api import read_capture
from kcli.capture.kafka.exchange import Exchange
from tests.capture.decoding import as_values, lines_of, pieces
from tests.capture.messages import metadata
from tests.capture.tunnels import TUNNELS, between, e_tag, erspan2, mpls, nsh, pptp, vlan, vn_tag, vxlan
from tests.capture.wires import Packet, Wire, block, pcap, pcapng

Way = Callable[[bytes], bytes]


def wire(count: int, seq: int) -> Wire:
    """A connection with requests and answers; its numbers begin at `seq`."""
    made = Wire(seq=(seq, seq + 77_000_000)).open()
    for number in range(count):
        asked, answer = metadata(number)
        made.client(asked).server(answer)
    return made.close()


def read(path: Path, data: bytes) -> tuple[int, int, dict[str, int]]:
    """(exchanges with an answer, connections, events by kind)."""
    path.write_bytes(data)
    source = as_values([str(path)])
    for _ in pieces(source):
        pass
    assert source.tally.unaccounted(source.engine) == 0
    return source.tally.answered, source.engine.connections, dict(source.tally.events)


def mixed(*wires: list[Packet]) -> list[Packet]:
    """Packets of several connections, one of each in turn."""
    most = max(map(len, wires))
    return [each[at] for at in range(most) for each in wires if at < len(each)]


def through(packets: list[Packet], way: Way, back: Way | None = None) -> list[Packet]:
    """Packets that took a way, those of the server another one."""
    first = packets[0].data[26:30]
    return [
        packet._replace(data=(way if back is None or packet.data[26:30] == first else back)(packet.data))
        for packet in packets
    ]


WAYS: dict[str, tuple[Way, Way]] = {
    "two VLANs": (lambda frame: vlan(frame, 5), lambda frame: vlan(frame, 6)),
    "a VLAN and none": (lambda frame: vlan(frame, 5), lambda frame: frame),
    "two networks": (lambda frame: vxlan(frame, 7), lambda frame: vxlan(frame, 8)),
    "two mirror sessions": (lambda frame: erspan2(frame, 1), lambda frame: erspan2(frame, 2)),
    "a tunnel and none": (TUNNELS["gre with key, checksum and number"], lambda frame: frame),
    "two service paths": (lambda frame: nsh(frame, 7), lambda frame: nsh(frame, 8)),
    "two calls": (lambda frame: pptp(frame, 3), lambda frame: pptp(frame, 4)),
    "two VN-tags": (lambda frame: vn_tag(frame, 1), lambda frame: vn_tag(frame, 2)),
    "two VN-tags with one sum": (lambda frame: vn_tag(frame, 1, 2), lambda frame: vn_tag(frame, 0, 3)),
    "two ports": (lambda frame: e_tag(frame, 1), lambda frame: e_tag(frame, 2)),
    "two ports beyond 12 bits": (lambda frame: e_tag(frame, 1 << 12), lambda frame: e_tag(frame, 2 << 12)),
    "an outer label": (lambda frame: mpls(frame, 100, 200), lambda frame: mpls(frame, 101, 200)),
    "a label more": (lambda frame: mpls(frame, 7, 100, 200), lambda frame: mpls(frame, 100, 200)),
    "other hosts of a tunnel": (TUNNELS["IP in IPv4"], lambda frame: between(TUNNELS["IP in IPv4"](frame), 1, 3)),
    "other hosts of a network": (vxlan, lambda frame: between(vxlan(frame), 4, 2)),
    "other hosts of a mirror": (TUNNELS["erspan I"], lambda frame: between(TUNNELS["erspan I"](frame), 3, 4)),
}


@pytest.mark.parametrize("name", WAYS)
def test_two_connections_with_the_same_ends(name: str, tmp_path: Path) -> None:
    one, other = wire(20, 1000), wire(20, 2_500_000_000)
    packets = mixed(through(one.packets, WAYS[name][0]), through(other.packets, WAYS[name][1]))
    assert read(tmp_path / "a.pcap", pcap(packets)) == (40, 2, {})


def test_each_of_two_has_its_own_name(tmp_path: Path) -> None:
    """Also where the slower way reads them, in mid-stream, and where one takes another's place."""
    one, other = wire(20, 1000), wire(20, 2_500_000_000)
    again = Wire(start=other.now, seq=(3_500_000_000, 1_000_000)).open()
    asked, answer = metadata(1)
    again.client(asked).server(answer)
    ways = WAYS["two VLANs"]
    for first in (0, 3):
        packets = mixed(
            through(one.packets[first:], ways[0]), through([*other.packets[first:], *again.packets], ways[1])
        )
        path = tmp_path / "a.pcap"
        path.write_bytes(pcap(packets))
        found = Counter(item.connection for item in read_capture(path).items() if isinstance(item, Exchange))
        name = "10.0.0.2:9092-10.0.0.1:40000"
        assert found == {name: 20, f"{name}#2": 21}
        assert {json.loads(line)["connection"] for line in lines_of([str(path)]).splitlines()} == set(found)


@pytest.mark.parametrize("name", WAYS)
def test_two_that_were_under_way(name: str, tmp_path: Path) -> None:
    one, other = wire(30, 1000), wire(30, 2_500_000_000)
    packets = mixed(through(one.packets[3:], WAYS[name][0]), through(other.packets[3:], WAYS[name][1]))
    answered, connections, _ = read(tmp_path / "a.pcap", pcap(packets))
    assert connections == 2 and answered == 60


@pytest.mark.parametrize("name", WAYS)
def test_one_whose_directions_take_two_ways(name: str, tmp_path: Path) -> None:
    packets = through(wire(20, 1000).packets, *WAYS[name])
    assert read(tmp_path / "a.pcap", pcap(packets)) == (20, 1, {})


@pytest.mark.parametrize("name", WAYS)
def test_one_that_is_captured_in_two_places(name: str, tmp_path: Path) -> None:
    for first in (0, 2):  # from the SYN on, or from the acknowledgement behind it, as of a connection under way
        packets = wire(20, 1000).packets[first:]
        twice = mixed(through(packets, WAYS[name][0]), through(packets, WAYS[name][1]))
        assert read(tmp_path / "a.pcap", pcap(twice)) == (20, 1, {})


def test_one_that_changes_its_way(tmp_path: Path) -> None:
    packets = wire(20, 1000).packets
    moved = packets[:9] + through(packets[9:], lambda frame: vlan(frame, 9))
    assert read(tmp_path / "a.pcap", pcap(moved)) == (20, 1, {})


def test_two_on_two_interfaces(tmp_path: Path) -> None:
    one, other = wire(20, 1000).packets, wire(20, 2_500_000_000).packets
    start = pcapng([]) + block("<", 1, struct.pack("<HHI", 1, 0, 0))  # two of Ethernet
    turns = [(number, each) for pair in zip(one, other, strict=True) for number, each in enumerate(pair)]
    assert read(tmp_path / "a.pcapng", start + b"".join(starmap(enhanced, turns))) == (40, 2, {})


def enhanced(interface: int, packet: Packet) -> bytes:
    """A packet's block."""
    stamp, size = packet.ns // 1000, len(packet.data)
    return block("<", 6, struct.pack("<IIIII", interface, stamp >> 32, stamp & 0xFFFFFFFF, size, size) + packet.data)


def test_many_alike_are_not_looked_for_in_vain(tmp_path: Path) -> None:
    """A capture in which each packet claims another way and other numbers is read in linear time."""
    packets = [
        Packet(
            packet.ns + number * 1000,
            vlan(packet.data[:38] + (number << 20).to_bytes(4, "big") + packet.data[42:], 1 + number % 4000),
        )
        for number, packet in enumerate([wire(1, 1000).packets[3]] * 4000)
    ]
    _, connections, _ = read(tmp_path / "a.pcap", pcap(packets))
    assert connections <= 64

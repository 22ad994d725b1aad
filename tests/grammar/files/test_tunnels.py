"""Tunnels and link layers by the grammar, and the core held against it, whole and damaged, one in another."""

import random
from itertools import product

import pytest

from kcli.core.capture.packets import dissected
from kcli.grammar.files import tunnels
from tests.capture.tunnels import LINKS, TUNNELS, carried, erspan2, udp4, vlan, vxlan
from tests.capture.wires import ACK, ethernet, ip4, ip6, segment
from tests.oracle.tcp.dissection import dissect
from tests.oracle.tcp.packet_outcomes import NoSegment, TcpSegment

TCP = segment(1234, 9092, 7, 9, ACK, b"payload")
FRAMES = {
    "IPv4": ethernet(ip4("10.0.0.1", "10.0.0.2", TCP)),
    "IPv6": ethernet(ip6(bytes(15) + b"\1", bytes(15) + b"\2", TCP), 0x86DD),
}
ONLY_IP4 = ("vxlan-gpe with IPv4",)
ABOUT_IP = {*ONLY_IP4, "pptp", "IP in IPv4", "IP in IPv6", "pppoe", "mpls", "mpls in udp", "nsh with IP"}


def check(link: int, data: bytes) -> TcpSegment:
    """The segment that the grammar finds; the core finds the same."""
    found = dissect(link, data, len(data))
    assert isinstance(found, TcpSegment), getattr(found, "unread", None)
    assert (found.seq, found.ack, found.flags, found.data, found.length) == (7, 9, ACK, b"payload", 7)
    same(link, data, len(data))
    return found


def same(link: int, data: bytes, length: int) -> None:
    """The core finds in a packet what the grammar does."""
    found, made = dissect(link, data, length), dissected(data, link, length)
    if isinstance(found, NoSegment):
        words = {"other": 0, "cut": 2, "fragment": 3, "link": 4}
        assert made[0] == words[found], (found, made)
        assert found in ("cut", "fragment") or made[1] == found.unread, (tunnels.unread_name(made[1]), found.unread)
        return
    expected = (found.version, found.seq, found.ack, found.flags, found.data, found.length, found.places[0])
    assert made[:1] + made[2:9] == (1, *expected)
    assert made[10] == found.wrapped


def test_a_plain_frame_is_cut_and_damaged_anywhere() -> None:
    """The core knows most packets without a look at each layer."""
    plain = FRAMES["IPv4"]
    for size in range(len(plain) + 1):
        same(1, plain[:size], size)
        same(1, plain[:size], len(plain))
    for at in range(12, len(plain)):
        for value in range(256):
            same(1, plain[:at] + bytes([value]) + plain[at + 1 :], len(plain))


@pytest.mark.parametrize("name", TUNNELS)
@pytest.mark.parametrize("version", FRAMES)
def test_a_segment_is_found_in_a_tunnel(name: str, version: str) -> None:
    if version == "IPv6" and name in ONLY_IP4:
        return
    assert check(1, TUNNELS[name](FRAMES[version])).wrapped == (name != "vlan")


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("version", FRAMES)
def test_a_segment_is_found_behind_a_link_layer(name: str, version: str) -> None:
    link, wrap = LINKS[name]
    assert check(link, wrap(FRAMES[version])).wrapped


def test_tunnels_may_be_in_tunnels() -> None:
    for outer, inner in product(TUNNELS, TUNNELS):
        frame = TUNNELS[inner](FRAMES["IPv4"])
        version = {b"\x08\0": "IPv4", b"\x86\xdd": "IPv6"}.get(frame[12:14])
        if outer not in ABOUT_IP or (version is not None and (outer, version) != (*ONLY_IP4, "IPv6")):
            check(1, TUNNELS[outer](frame))
    for link, wrap in LINKS.values():
        check(link, wrap(vxlan(FRAMES["IPv6"])))


@pytest.mark.parametrize("name", [*TUNNELS, *LINKS])
def test_the_core_reads_damaged_packets_as_the_grammar_does(name: str) -> None:
    link, wrap = LINKS[name] if name in LINKS else (1, TUNNELS[name])
    chance = random.Random(name)
    whole = wrap(FRAMES[chance.choice(["IPv4"] if name in ONLY_IP4 else [*FRAMES])])
    for size in range(len(whole)):
        same(link, whole[:size], len(whole))
        same(link, whole[:size], size)
    for _ in range(300):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 4)):
            data[chance.randrange(len(data) - len(TCP))] = chance.randrange(256)
        same(link, bytes(data), len(data))


def test_networks_and_sessions_are_ways_of_their_own() -> None:
    frame = FRAMES["IPv4"]
    ways = [
        vxlan(frame, 7),
        vxlan(frame, 8),
        vlan(frame, 5),
        vlan(frame, 6),
        erspan2(frame, 1),
        erspan2(frame, 2),
        frame,
    ]
    assert len({check(1, way).path for way in ways}) == len(ways)
    assert len({dissected(way, 1, len(way))[9] for way in ways}) == len(ways)


UDP = ip4("10.0.0.1", "10.0.0.2", bytes(20))
UDP = ethernet(UDP[:9] + b"\x11" + UDP[10:])
UNREAD = {
    "an unread packet in a tunnel": (1, vxlan(UDP), ("VXLAN", "UDP")),
    "ARP in one": (1, erspan2(ethernet(bytes(28), 0x0806)), ("ERSPAN", "ARP")),
    "encrypted": (1, carried(50, bytes(40)), ("", "ESP (IPsec)")),
    "another protocol": (1, carried(200, bytes(40)), ("", "IP protocol 200")),
    "another tunnel": (1, udp4(2152, bytes(40)), ("", "UDP (GTP-U)")),
    "spanning tree": (1, bytes(12) + b"\0\x26\x42\x42\x03" + bytes(35), ("", "spanning tree")),
    "another EtherType": (1, ethernet(bytes(28), 0x1234), ("", "EtherType 0x1234")),
    "a control protocol": (9, b"\xff\x03\xc0\x21" + bytes(20), ("", "LCP")),
    "another link layer": (105, bytes(40), ("", "link type 105 (IEEE 802.11)")),
    "no length for its version": (1, vxlan(b""), ("VXLAN", "")),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_stays_unread_has_a_name(name: str) -> None:
    link, data, expected = UNREAD[name]
    found = dissect(link, data, len(data))
    assert isinstance(found, NoSegment)
    assert tunnels.unread_name(found.unread) == expected
    same(link, data, len(data))

"""Headers of every link type and IP: addresses are replaced, checksums fit, what is not known is gone."""

import struct
from pathlib import Path

import pytest

from kcli.capture.io import ranges
from kcli.redact.pseudonyms import Pseudonyms
from kcli.redact.track import clean_segment
from tests.capture.wires import ACK, ethernet, ip4, ip6, segment
from tests.oracle.checksums import sum_of
from tests.oracle.redact.headers import blank_packet, set_checksums
from tests.oracle.tcp.dissection import dissect
from tests.oracle.tcp.packet_outcomes import TcpSegment

NAMES = Pseudonyms(b"a key for tests, of 32 bytes ...")
SECRET = b"payload-of-a-customer"
TCP = segment(40000, 9092, 1000, 5000, ACK, SECRET)
EVERY_KIND = [
    (1, ethernet(ip4("10.1.2.3", "10.1.2.4", TCP))),
    (1, ethernet(ip4("10.1.2.3", "10.1.2.4", TCP), tags=(0x88A8, 0x8100))),
    (1, ethernet(ip4("10.1.2.3", "10.1.2.4", TCP, options=b"SECRETop")) + b"trailing secret"),
    (1, ethernet(ip6(bytes(range(1, 17)), bytes(range(17, 33)), TCP), 0x86DD)),
    (1, ethernet(ip6(b"0123456789abcdef", b"fedcba9876543210", TCP, extensions=((0, b"\0SECRET"),)), 0x86DD)),
    (101, ip4("10.1.2.3", "10.1.2.4", TCP)),
    (0, b"\2\0\0\0" + ip4("10.1.2.3", "10.1.2.4", TCP)),
    (113, struct.pack(">HHH", 0, 1, 6) + b"MACMAC\xaa\xbb" + b"\x08\0" + ip4("10.1.2.3", "10.1.2.4", TCP)),
    (276, b"\x08\0\0\0\0\0\0\2\0\1\0\6MACMAC\xaa\xbb" + ip4("10.1.2.3", "10.1.2.4", TCP)),
]


def dissected(link: int, data: bytes) -> TcpSegment:
    found = dissect(link, data, len(data))
    assert isinstance(found, TcpSegment)
    return found


def redacted(link: int, data: bytes, keep: bool = False) -> tuple[TcpSegment, TcpSegment, bytes]:
    found = dissected(link, data)
    made = blank_packet(link, data, found, NAMES, keep)
    set_checksums(made, found.places, len(data))
    assert len(made) == len(data) and SECRET not in made
    return found, dissected(link, bytes(made)), bytes(made)


@pytest.mark.parametrize(("link", "packet"), EVERY_KIND)
def test_every_kind(link: int, packet: bytes) -> None:
    before, after, made = redacted(link, packet)
    assert (after.seq, after.ack, after.flags, after.length) == (before.seq, before.ack, before.flags, before.length)
    assert [port for _, port in after.ends] == [40000, 9092]
    assert [address for address, _ in after.ends] == [NAMES.address(address) for address, _ in before.ends]
    assert not [
        part
        for part in (b"SECRET", b"secret", b"MACMAC", b"\xaa\xbb", *(end[0] for end in before.ends))
        if part in made
    ]
    check_sums(after, made)


def check_sums(found: TcpSegment, made: bytes) -> None:
    """What stands there makes the sum 0xFFFF, which is 0 there, as a receiver checks it (RFC 1071)."""
    ip, tcp, payload = found.places
    end = payload + found.length
    if found.version == 4:
        assert sum_of(made[ip:tcp]) == 0
    addresses = made[ip + 12 : ip + 20] if found.version == 4 else made[ip + 8 : ip + 40]
    assert sum_of(addresses + (end - tcp).to_bytes(4, "big") + b"\0\0\0\6" + made[tcp:end]) == 0


def test_a_real_capture_has_the_same_checksums_where_nothing_changes(samples: Path) -> None:
    """Payload and addresses put back, they are what the sender's machine computed."""
    seen = 0
    for row in ranges.rows(str(samples / "ipv6.pcapng")):
        found = dissect(row.link, row.data, row.length)
        if isinstance(found, TcpSegment):
            made = bytearray(row.data)
            set_checksums(made, found.places, row.length)
            check_sums(found, bytes(made))
            seen += 1
    assert seen == 173


def test_options_of_tcp() -> None:
    options = b"\2\4\5\xb4" + b"\x1e\6SECR" + b"\1\1" + b"\5\x0a" + bytes(range(8)) + b"\0\0"
    head = bytearray(segment(1, 2, 3, 4, ACK))
    head[12] = (20 + len(options)) // 4 << 4
    _, _, made = redacted(101, ip4("10.1.2.3", "10.1.2.4", bytes(head) + options + SECRET))
    kept = made[40 : 40 + len(options)]
    assert kept == b"\2\4\5\xb4" + b"\1" * 6 + b"\1\1" + b"\5\x0a" + bytes(range(8)) + b"\1\1"


def test_addresses_may_be_kept() -> None:
    before, after, _ = redacted(1, ethernet(ip4("10.1.2.3", "10.1.2.4", TCP)), keep=True)
    assert before.ends == after.ends


def test_a_packet_that_was_cut_has_no_checksum_of_tcp() -> None:
    data = ethernet(ip4("10.1.2.3", "10.1.2.4", TCP))
    found = dissect(1, data[:60], len(data))
    assert isinstance(found, TcpSegment)
    made = blank_packet(1, data[:60], found, NAMES, False)
    set_checksums(made, found.places, len(data))
    assert made[50:52] == b"\0\0" and sum_of(bytes(made[14:34])) == 0 and made[54:] == b"\xff" * 6


@pytest.mark.parametrize("packet", [ip4("10.1.2.3", "10.1.2.4", TCP), ip6(bytes(16), bytes(16), TCP)])
def test_a_packet_made_after_another(packet: bytes) -> None:
    found = dissected(101, packet)
    made = clean_segment(packet, found.places[:2], 2**32 + 7, 9, ACK, 5)
    set_checksums(made, found.places, len(made))
    after = dissected(101, bytes(made))
    assert (after.seq, after.ack, after.flags, after.data) == (7, 9, ACK, b"\xff" * 5)
    check_sums(after, bytes(made))

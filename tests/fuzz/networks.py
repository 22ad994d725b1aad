"""Damaged packets in tunnels, headers of the PROXY protocol, key logs that grow: nothing breaks, no byte is lost."""

import random
import struct

from kcli.core.capture.packets import dissected
from kcli.grammar.files.proxy_protocol import SIGNATURE
from tests.capture.decoding import as_values
from tests.capture.messages import metadata
from tests.capture.tls.traffic import Talk
from tests.capture.tunnels import LINKS, TUNNELS
from tests.capture.wires import Packet, Wire, pcap
from tests.fuzz.damage import damaged
from tests.fuzz.tls import SUITES, change, cut, decoded, double, folder, lose, swap, talk
from tests.oracle.captures import each_reader
from tests.oracle.tcp.dissection import dissect
from tests.oracle.tcp.packet_outcomes import NoSegment

__all__ = ["late_keys", "proxy_headers", "tunnels"]

KINDS = {"other": 0, "cut": 2, "fragment": 3, "link": 4}


def tunnels(rng: random.Random) -> bytes:
    """Packets in tunnels in tunnels: the core finds in each what the grammar does, and reads the capture to its end."""
    ways = [rng.choice([*TUNNELS.values()]) for _ in range(rng.randrange(4))]
    link, wrap = rng.choice([(1, bytes), *LINKS.values()])
    packets = []
    for packet in conversation(rng).packets:
        data = packet.data
        for way in ways:
            data = way(data)
        data = wrap(data)
        if rng.random() < 0.3:
            data = damaged(data, rng)
        if rng.random() < 0.2:
            data = data[: rng.randint(0, len(data))]
        packets.append(Packet(packet.ns, data, max(len(data), len(packet.data))))
        check(link, data, rng.choice((len(data), len(data) + 9)))
    written = pcap(packets, link=link)
    read(written)
    return written


def check(link: int, data: bytes, length: int) -> None:
    """The core finds in a packet what the grammar does."""
    made, found = dissected(data, link, length), dissect(link, data, length)
    if isinstance(found, NoSegment):
        assert made[0] == KINDS[found]
        assert found in ("cut", "fragment") or made[1] == found.unread
    else:
        expected = (1, found.version, found.seq, found.ack, found.flags, found.data, found.length, found.places[0])
        assert (made[0], *made[2:9]) == expected


def conversation(rng: random.Random, first: bytes = b"") -> Wire:
    """A connection; its client begins with these bytes."""
    wire = Wire(seq=(rng.randrange(1 << 32), rng.randrange(1 << 32))).open()
    while first:
        size = rng.choice((1, 7, len(first)))
        wire.client(first[:size])
        first = first[size:]
    for number in range(rng.randrange(1, 6)):
        asked, answer = metadata(number)
        wire.client(asked).server(answer)
    return wire.close() if rng.random() < 0.5 else wire


def read(data: bytes) -> None:
    path = folder() / "networks.pcap"
    path.write_bytes(data)
    source = as_values([str(path)])
    for _ in source.read():
        pass
    assert source.tally.unaccounted(source.engine) == 0, "bytes are not accounted for"


def proxy_headers(rng: random.Random) -> bytes:
    """Headers of both versions, whole and damaged, in packets of any cut: the oracle reads the same."""
    port = rng.randrange(1 << 16)
    first = rng.choice(
        (
            b"PROXY TCP4 203.0.113.7 10.0.0.2 %d 9092\r\n" % port,
            b"PROXY TCP6 2001:db8::7 ::1 %d 9092\r\n" % port,
            b"PROXY UNKNOWN\r\n",
            SIGNATURE + struct.pack(">BBH", 0x21, 0x11, 12) + rng.randbytes(12),
            SIGNATURE + struct.pack(">BBH", 0x21, 0x21, 40) + rng.randbytes(40),
            SIGNATURE + struct.pack(">BBH", rng.choice((0x20, 0x21, 0x2F)), rng.randrange(256), 9) + rng.randbytes(9),
            b"\0\0\0\x14\x60\x12\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" + bytes(7),
        )
    )
    if rng.random() < 0.4:
        first = damaged(first, rng)
    packets = list(conversation(rng, first).packets)
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice((lose, double, swap, change, cut))(packets, rng.randrange(len(packets)), rng)
    data = pcap(packets)
    path = folder() / "proxied.pcap"
    path.write_bytes(data)
    for _ in each_reader():
        read(data)
    return data


def late_keys(rng: random.Random) -> bytes:
    """A key log that grows while the capture is read, whole or of one direction."""
    made: Talk = talk(rng.randrange(3 * len(SUITES)))
    packets = list(made.wire.packets)
    for _ in range(rng.choice((0, 0, 1, 3))):
        rng.choice((lose, double, swap, change, cut))(packets, rng.randrange(len(packets)), rng)
    lines = made.key_log.read_text().splitlines(keepends=True)
    if rng.random() < 0.3:
        lines.remove(rng.choice(lines))
    rng.shuffle(lines)
    due = sorted((rng.randrange(len(packets) + 1), number) for number in range(len(lines)))
    log = folder() / "growing.keys"
    log.write_text("# none yet\n")
    source = as_values([], key_logs=[str(log)])
    for at, packet in enumerate(packets):
        while due and due[0][0] <= at:
            with log.open("a") as file:
                file.write(lines[due.pop(0)[1]])
        source.engine.push(packet.data, packet.ns, 1, packet.length or len(packet.data))
    source.engine.finish()
    source.tally.add_steady(source.engine)
    assert source.tally.unaccounted(source.engine) == 0, "bytes are not accounted for"
    data = pcap(packets)
    path = folder() / "late.pcap"
    path.write_bytes(data)
    decoded(path, made.key_log)
    return data

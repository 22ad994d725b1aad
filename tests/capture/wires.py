"""Captures made by hand: packets of a connection, other shapes of a real one, files of every format around them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = [
    "ACK",
    "DATA",
    "FIN",
    "RST",
    "SAMPLES",
    "START",
    "SYN",
    "Packet",
    "Wire",
    "block",
    "ethernet",
    "frame",
    "ip4",
    "ip6",
    "packets_of",
    "pcap",
    "pcapng",
    "rebuilt",
    "rotated",
    "segment",
    "split",
]

SAMPLES = Path(__file__).parents[2] / "samples"
DATA = Path(__file__).parent / "data"
FIN, SYN, RST, ACK = 1, 2, 4, 16
CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", 9092)
START = 1_700_000_000_000_000_000
MILLISECOND = 1_000_000

End = tuple[str, int]


class Packet(NamedTuple):
    """ns, bytes from the Ethernet header on, length on the wire (None: as many)."""

    ns: int
    data: bytes
    length: int | None = None


def address(text: str) -> bytes:
    return bytes(map(int, text.split(".")))


def segment(source: int, target: int, seq: int, ack: int, flags: int, data: bytes = b"") -> bytes:
    return struct.pack(">HHIIBBHHH", source, target, seq % 2**32, ack % 2**32, 5 << 4, flags, 65535, 0, 0) + data


def ip4(
    source: str, target: str, payload: bytes, *, total: int | None = None, place: int = 0, options: bytes = b""
) -> bytes:
    size = 20 + len(options) + len(payload) if total is None else total
    first = 0x40 | (5 + len(options) // 4)
    return (
        struct.pack(">BBHHHBBH", first, 0, size, 7, place, 64, 6, 0)
        + address(source)
        + address(target)
        + options
        + payload
    )


def ip6(
    source: bytes,
    target: bytes,
    payload: bytes,
    *,
    extensions: Sequence[tuple[int, bytes]] = (),
    total: int | None = None,
) -> bytes:
    """extensions: (its own number, its bytes behind "next header")."""
    kinds = [kind for kind, _ in extensions] + [6]
    chain = b"".join(bytes([following]) + body for (_, body), following in zip(extensions, kinds[1:], strict=True))
    size = len(chain) + len(payload) if total is None else total
    return struct.pack(">IHBB", 6 << 28, size, kinds[0], 64) + source + target + chain + payload


def ethernet(payload: bytes, kind: int = 0x0800, tags: Sequence[int] = ()) -> bytes:
    return bytes(12) + b"".join(struct.pack(">HH", tag, 5) for tag in tags) + struct.pack(">H", kind) + payload


def frame(body: bytes) -> bytes:
    """A message with its length in front."""
    return struct.pack(">I", len(body)) + body


class Wire:
    """A connection being captured; each packet is a millisecond after the one before."""

    def __init__(
        self, client: End = CLIENT, server: End = SERVER, start: int = START, seq: tuple[int, int] = (1000, 5000)
    ) -> None:
        self.client_end, self.server_end = client, server
        self.now = start
        self.seq = list(seq)
        self.packets: list[Packet] = []

    def add(
        self, sender: int, flags: int, data: bytes = b"", *, seq: int | None = None, ack: int | None = None
    ) -> Packet:
        """sender: 0 the client, 1 the server. The sequence moves on unless one is given."""
        ends = (self.client_end, self.server_end) if sender == 0 else (self.server_end, self.client_end)
        at = self.seq[sender] if seq is None else seq
        acked = self.seq[1 - sender] if ack is None else ack
        tcp = segment(ends[0][1], ends[1][1], at, acked, flags, data)
        packet = Packet(self.now, ethernet(ip4(ends[0][0], ends[1][0], tcp)))
        self.packets.append(packet)
        self.now += MILLISECOND
        if seq is None:
            self.seq[sender] += len(data) + bool(flags & (SYN | FIN))
        return packet

    def open(self) -> Wire:
        self.add(0, SYN, ack=0)
        self.add(1, SYN | ACK)
        self.add(0, ACK)
        return self

    def client(self, data: bytes) -> Wire:
        self.add(0, ACK, data)
        return self

    def server(self, data: bytes) -> Wire:
        self.add(1, ACK, data)
        return self

    def close(self) -> Wire:
        self.add(0, FIN | ACK)
        self.add(1, FIN | ACK)
        self.add(0, ACK)
        return self


def pcap(
    packets: Iterable[Packet], *, big: bool = False, nano: bool = False, link: int = 1, snaplen: int = 262144
) -> bytes:
    order = ">" if big else "<"
    magic, unit = (0xA1B23C4D, 1) if nano else (0xA1B2C3D4, 1000)
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for ns, data, length in packets:
        kept = data[:snaplen]
        times = ns // 10**9, ns % 10**9 // unit
        out.append(struct.pack(order + "IIII", *times, len(kept), len(data) if length is None else length) + kept)
    return b"".join(out)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = len(body) + 12
    return struct.pack(order + "II", kind, size) + body + struct.pack(order + "I", size)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng(
    packets: Iterable[Packet],
    *,
    big: bool = False,
    link: int = 1,
    resolution: int | None = None,
    offset: int = 0,
    interface: int = 0,
    form: str = "enhanced",
) -> bytes:
    """A section. resolution: if_tsresol's byte. interface: the number of the one the packets are of, behind others."""
    order = ">" if big else "<"
    units = 10**6 if resolution is None else 2 ** (resolution & 127) if resolution & 128 else 10**resolution
    options = option(order, 2, b"lo")
    options += b"" if resolution is None else option(order, 9, bytes([resolution]))
    options += option(order, 14, struct.pack(order + "q", offset)) if offset else b""
    options += option(order, 0, b"")
    out = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    out += [block(order, 1, struct.pack(order + "HHI", 147, 0, 0)) for _ in range(interface)]
    out.append(block(order, 1, struct.pack(order + "HHI", link, 0, 0) + options))
    out.append(block(order, 5, bytes(12)))  # interface statistics: nothing to read
    for ns, data, length in packets:
        whole = len(data) if length is None else length
        stamp = (ns - offset * 10**9) * units // 10**9
        times = stamp >> 32, stamp & 0xFFFFFFFF
        if form == "simple":
            out.append(block(order, 3, struct.pack(order + "I", whole) + data))
        elif form == "obsolete":
            out.append(block(order, 2, struct.pack(order + "HHIIII", interface, 0, *times, len(data), whole) + data))
        else:
            out.append(block(order, 6, struct.pack(order + "IIIII", interface, *times, len(data), whole) + data))
    return b"".join(out)


def packets_of(path: Path) -> list[Packet]:
    """The packets of a capture over Ethernet."""
    from kcli.capture.io import ranges  # here, as benches make packets beside an old kcli that has it elsewhere

    return [Packet(row.ns, row.data, row.length) for row in ranges.rows(str(path))]


def split(
    packets: Iterable[Packet], change: Callable[[Packet, bytes, int, int, bytes], Iterable[Packet]]
) -> list[Packet]:
    """change(packet, headers, seq, flags, payload) gives what stands for a TCP/IPv4 packet that has payload."""
    out: list[Packet] = []
    for packet in packets:
        start = 14 + (packet.data[14] & 15) * 4
        begin = start + (packet.data[start + 12] >> 4) * 4
        end = 14 + int.from_bytes(packet.data[16:18], "big")
        seq = int.from_bytes(packet.data[start + 4 : start + 8], "big")
        payload = packet.data[begin:end]
        if packet.data[12:14] != b"\x08\x00" or not payload:
            out.append(packet)
        else:
            out += change(packet, packet.data[:begin], seq, packet.data[start + 13], payload)
    return out


def rebuilt(packet: Packet, headers: bytes, seq: int, payload: bytes) -> Packet:
    """The same packet with another sequence number and payload."""
    start = 14 + (headers[14] & 15) * 4
    size = len(headers) - 14 + len(payload)
    made = headers[:16] + struct.pack(">H", size) + headers[18 : start + 4] + struct.pack(">I", seq % 2**32)
    return Packet(packet.ns, made + headers[start + 8 :] + payload)


def rotated(path: Path, folder: Path, pause_s: int) -> list[str]:
    """Write the halves of a capture, by its time, to files in a new folder, the second later by a pause."""
    packets = packets_of(path)
    middle = (packets[0].ns + packets[-1].ns) // 2
    halves = (
        [each for each in packets if each.ns < middle],
        [each._replace(ns=each.ns + pause_s * 10**9) for each in packets if each.ns >= middle],
    )
    folder.mkdir()
    paths = [folder / f"{number}.pcap" for number in (0, 1)]
    for written, half in zip(paths, halves, strict=True):
        written.write_bytes(pcap(half, nano=True))
    return [*map(str, paths)]

"""Big captures grown from real ones: the same exchanges, copy after copy, each on connections of its own.

A unit is what a capture's connections said, as TCP over Ethernet again: handshakes, segments of a chosen size, an ACK
for every second one, FINs. Each copy has another client address and a later time. Or they are of TLS 1.3,
with records of 16 kB where a message is as long.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kcli import Exchange, read_capture
from tests.capture.tls.traffic import Talk

__all__ = ["grow"]

GLOBAL = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
ETHERNET = bytes(12) + b"\x08\x00"
SERVER = bytes([10, 255, 0, 1])
SYN, ACK, FIN, PUSH = 2, 16, 1, 8


class Unit:
    """Packets of one copy, and where in them the client's address and the time stand."""

    def __init__(self, segment: int) -> None:
        self.segment = segment
        self.packets = bytearray()
        self.addresses: list[int] = []
        self.times: list[int] = []
        self.exchanges = 0

    def packet(
        self, us: int, client: bool, ports: tuple[int, int], seq: int, ack: int, flags: int, data: bytes = b""
    ) -> None:
        source, target = ports if client else ports[::-1]
        tcp = struct.pack(">HHIIBBHHH", source, target, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 5 << 4, flags, 65535, 0, 0)
        total = min(20 + len(tcp) + len(data), 65535)
        addresses = (bytes(4) + SERVER) if client else (SERVER + bytes(4))
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total, 0, 0, 64, 6, 0) + addresses
        size = len(ETHERNET) + len(ip) + len(tcp) + len(data)
        start = len(self.packets)
        self.times.append(start)
        self.addresses.append(start + 16 + len(ETHERNET) + (12 if client else 16))
        self.packets += struct.pack("<IIII", us // 1_000_000, us % 1_000_000, size, size) + ETHERNET + ip + tcp + data


def talks(captures: Sequence[Path]) -> Iterator[tuple[int, list[Exchange]]]:
    """(server's port, exchanges) of each connection that has any."""
    found: dict[str, list[Exchange]] = {}
    for path in captures:
        for item in read_capture(path).items():
            if isinstance(item, Exchange) and item.response_frame is not None:
                found.setdefault(f"{path} {item.connection}", []).append(item)
    for items in found.values():
        yield int(items[0].link.server.rpartition(":")[2]), items


def flights(items: Sequence[Exchange]) -> Iterator[tuple[bool, bytes]]:
    """(whether it is the client's, bytes) of each request and response."""
    for item in items:
        for client, frame in (True, item.request_frame), (False, item.response_frame or b""):
            yield client, struct.pack(">I", len(frame)) + frame


class Encrypted(Talk):
    """A connection of TLS 1.3 that is not put into packets here. folder: for keys.log."""

    def flights_of(self, items: Sequence[Exchange]) -> list[tuple[bool, bytes]]:
        """The handshake, requests and responses, as `flights` has them."""
        self.sent: list[tuple[bool, bytes]] = []
        self.shake_hands()
        for client, data in flights(items):
            self.say(0 if client else 1, data)
        return self.sent

    def flush(self, sender: int) -> None:
        """Carry over what an end has written."""
        data = self.bios[sender][1].read()
        if data:
            self.sent.append((sender == 0, data))
            self.bios[1 - sender][0].write(data)


def build(captures: Sequence[Path], segment: int, folder: Path | None, repeat: int) -> Unit:
    unit = Unit(segment)
    us = 1_700_000_000_000_000
    for number, (port, once) in enumerate(talks(captures)):
        items = once * repeat
        ports = (20000 + number, port)
        seq = [1000, 5000]  # of client and server
        unit.packet(us, True, ports, seq[0] - 1, 0, SYN)
        unit.packet(us + 10, False, ports, seq[1] - 1, seq[0], SYN | ACK)
        unit.packet(us + 20, True, ports, seq[0], seq[1], ACK)
        unit.exchanges += len(items)
        for client, data in flights(items) if folder is None else Encrypted(folder).flights_of(items):
            us = say(unit, us + (100 if client else 500), client, ports, seq, data)
        unit.packet(us + 10, True, ports, seq[0], seq[1], FIN | ACK)
        unit.packet(us + 20, False, ports, seq[1], seq[0] + 1, FIN | ACK)
        unit.packet(us + 30, True, ports, seq[0] + 1, seq[1] + 1, ACK)
        us += 40
    return unit


def say(unit: Unit, us: int, client: bool, ports: tuple[int, int], seq: list[int], data: bytes) -> int:
    me, other = (0, 1) if client else (1, 0)
    for number, at in enumerate(range(0, len(data), unit.segment)):
        part = data[at : at + unit.segment]
        us += 5
        unit.packet(us, client, ports, seq[me], seq[other], ACK | PUSH, part)
        seq[me] += len(part)
        if number % 2:
            unit.packet(us + 1, not client, ports, seq[other], seq[me], ACK)
    return us


def grow(
    captures: Sequence[Path], segment: int, size: int, out: Path, folder: Path | None = None, repeat: int = 1
) -> int:
    """Write a capture of about `size` bytes; how many exchanges it has.

    folder: it is TLS, and keys.log is written there. repeat: how often each connection says all that it said."""
    unit = build(captures, segment, folder, repeat)
    data = np.frombuffer(unit.packets, np.uint8).copy()
    addresses = np.array(unit.addresses)[:, None] + np.arange(4)
    times = np.array(unit.times)[:, None] + np.arange(4)
    seconds = data[times].copy().view("<u4").ravel()
    length = int(seconds[-1] - seconds[0]) + 1
    copies = max(1, size // len(data))
    with out.open("wb") as file:
        file.write(GLOBAL)
        for copy in range(copies):
            data[addresses] = np.frombuffer((0x0A000000 + copy + 1).to_bytes(4, "big"), np.uint8)
            data[times] = (seconds + copy * length).astype("<u4").view(np.uint8).reshape(-1, 4)
            file.write(data.tobytes())
    return copies * unit.exchanges

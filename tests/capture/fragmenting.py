"""IP packets cut into fragments, as a router or the sender does it (RFC 791, RFC 8200)."""

import struct
from collections.abc import Callable, Iterable, Sequence

from tests.capture.wires import Packet

__all__ = ["fragment4", "fragment6", "fragmented", "pieces_of"]

ETHERNET = 14


def pieces_of(size: int, most: int) -> list[tuple[int, int]]:
    """(start, end) of the payload's fragments, of `most` bytes each, down to a multiple of eight."""
    step = most // 8 * 8
    return [(start, min(start + step, size)) for start in range(0, size, step)]


def fragment4(frame: bytes, cuts: Iterable[tuple[int, int]], number: int) -> list[bytes]:
    """Fragments of the IPv4 packet in a frame; each has the bytes of its payload between a cut's two places."""
    ip = frame[ETHERNET:]
    head = (ip[0] & 15) * 4
    whole = ip[head : struct.unpack_from(">H", ip, 2)[0]]
    made = []
    for start, end in cuts:
        place = start // 8 | (0x2000 if end < len(whole) else 0)
        fields = struct.pack(">HHH", head + end - start, number, place)
        made.append(frame[:ETHERNET] + ip[:2] + fields + ip[8:head] + whole[start:end])
    return made


def fragment6(frame: bytes, cuts: Iterable[tuple[int, int]], number: int) -> list[bytes]:
    """Fragments of the IPv6 packet in a frame; extension headers that it has are part of the payload."""
    ip = frame[ETHERNET:]
    whole = ip[40 : 40 + struct.unpack_from(">H", ip, 4)[0]]
    made = []
    for start, end in cuts:
        extension = struct.pack(">BBHI", ip[6], 0, start | (end < len(whole)), number)
        size = struct.pack(">HB", 8 + end - start, 44)
        made.append(frame[:ETHERNET] + ip[:4] + size + ip[7:40] + extension + whole[start:end])
    return made


def fragmented(
    packets: Sequence[Packet], most: int, mix: Callable[[list[bytes]], list[bytes]] = lambda pieces: pieces
) -> list[Packet]:
    """A capture's packets, those of more than `most` bytes of payload in fragments, in the order that `mix` makes."""
    made = []
    for number, packet in enumerate(packets):
        version = packet.data[ETHERNET] >> 4
        size = struct.unpack_from(">H", packet.data, ETHERNET + (2 if version == 4 else 4))[0]
        size -= (packet.data[ETHERNET] & 15) * 4 if version == 4 else 0
        cut = fragment4 if version == 4 else fragment6
        pieces = mix(cut(packet.data, pieces_of(size, most), number & 0xFFFF)) if size > most else [packet.data]
        made += [Packet(packet.ns, piece) for piece in pieces]
    return made

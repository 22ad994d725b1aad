"""The outcome of a packet: a segment of TCP, a fragment of IP, or the reason why it is neither."""

from typing import Any, NamedTuple


class TcpSegment(NamedTuple):
    """A TCP segment. ends: (address, port) of sender and receiver; length: bytes of payload on the wire; data: its
    captured bytes. places: the offsets of the IP header, the TCP header and the payload in the packet. path: the tags,
    labels and tunnels before it; wrapped: there are layers before IP other than the link layer and VLAN tags.
    """

    version: int
    ends: tuple[tuple[bytes, int], tuple[bytes, int]]
    seq: int
    ack: int
    flags: int
    data: bytes
    length: int
    places: tuple[int, int, int]
    path: tuple[Any, ...] = ()
    wrapped: bool = False


class Fragment(NamedTuple):
    """A fragment of a datagram. data: the captured bytes of its payload. datagram: the key that all its fragments
    share. start: of the payload in the datagram's, in bytes; more: others follow. length: bytes of payload on the wire.
    places: the offsets of the IP header and the payload in the packet.
    """

    datagram: tuple[Any, ...]
    start: int
    more: bool
    data: bytes
    length: int
    places: tuple[int, int]


class NoSegment(str):
    """The reason why a packet has no TCP segment: "other", "cut", "fragment" or "link".

    unread: its protocol, as a number of `tunnels`; for a fragment, it is set if the datagram is or may be UDP without a
    tunnel. fragment: the part to be joined with others.
    """

    unread: int
    fragment: Fragment | None

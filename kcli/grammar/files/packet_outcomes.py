"""The outcome of a packet: a segment of TCP, a fragment of IP, or the reason why it is neither."""

from __future__ import annotations

from typing import Any, NamedTuple


class TcpSegment(NamedTuple):
    """A TCP segment. ends: (address, port) of sender and receiver; length: of the payload on the wire; data: its
    captured bytes. places: where the headers of IP and TCP and the payload begin in the packet. path: the tags, labels
    and tunnels that it came by; wrapped: there are layers before IP besides the link layer and VLAN tags.
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
    """A fragment of a datagram, and its payload; data: its captured bytes. datagram: the key common to all fragments of
    one. start: of the payload, in the datagram's; more: others follow it. length: of the payload on the wire. places:
    where IP's header and the payload begin in the packet.
    """

    datagram: tuple[Any, ...]
    start: int
    more: bool
    data: bytes
    length: int
    places: tuple[int, int]


class NoSegment(str):
    """The reason why a packet is no TCP segment: "other", "cut", "fragment" or "link".

    unread: its protocol, as a number of `tunnels`; of a fragment: it is, or can be, of UDP that is no tunnel.
    fragment: the part to be joined with others.
    """

    unread: int
    fragment: Fragment | None

"""The outcome of a packet: a segment of TCP, a fragment of IP, or the reason why it is neither."""

from __future__ import annotations

from typing import Any, NamedTuple


class TcpSegment(NamedTuple):
    """A TCP segment. ends: (address, port) of sender and receiver; length: payload on the wire, `data` what is here.

    places: where the headers of IP and TCP and the payload begin in the packet.
    path: the tags, labels and tunnels that it came by; wrapped: more than a link layer and VLAN tags stands before IP.
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
    """A fragment of a datagram, and its payload: `data` is what is here.

    datagram: what all fragments of one have alike. start: of the payload, in the datagram's; more: others follow it.
    length: of the payload on the wire. places: where IP's header and the payload begin in the packet.
    """

    datagram: tuple[Any, ...]
    start: int
    more: bool
    data: bytes
    length: int
    places: tuple[int, int]


class NoSegment(str):
    """The reason why a packet is no TCP segment: "other", "cut", "fragment" or "link".

    unread: what it is, as a number of `tunnels`; of a fragment: it is, or may be, of UDP that is no tunnel.
    fragment: what is joined with others.
    """

    unread: int
    fragment: Fragment | None

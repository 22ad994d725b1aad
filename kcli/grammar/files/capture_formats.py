"""Grammars of pcap and pcapng in either byte order (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).

Tests compare the compiled core (core/capture/packets.pyx) with them.
"""

from functools import cache
from typing import Any, NamedTuple

from construct import (
    Bytes,
    FixedSized,
    GreedyBytes,
    Int16ub,
    Int16ul,
    Int32ub,
    Int32ul,
    Int64sb,
    Int64sl,
    Struct,
    this,
)

SECTION = 0x0A0D0D0A
BYTE_ORDER = 0x1A2B3C4D
TLS_KEY_LOG = 0x544C534B  # the type of secrets in a Decryption Secrets Block

# The first four bytes of a pcap file -> (big-endian, timestamp units per second, bytes of a record's header). The last
# two are libpcap's modified form, with interface, protocol and packet type after a record's lengths.
pcap_magic = {
    b"\xd4\xc3\xb2\xa1": (False, 1_000_000, 16),
    b"\xa1\xb2\xc3\xd4": (True, 1_000_000, 16),
    b"\x4d\x3c\xb2\xa1": (False, 1_000_000_000, 16),
    b"\xa1\xb2\x3c\x4d": (True, 1_000_000_000, 16),
    b"\x34\xcd\xb2\xa1": (False, 1_000_000, 24),
    b"\xa1\xb2\xcd\x34": (True, 1_000_000, 24),
}


Grammar = Any  # a Construct, whose type parameters do not matter here


class ByteOrder(NamedTuple):
    """The layouts that depend on the byte order of the capturing machine."""

    u16: Grammar
    u32: Grammar
    i64: Grammar
    file: Grammar  # a pcap file's header
    record: Grammar  # a packet's header in pcap
    block: Grammar  # a pcapng block with its two lengths
    interface: Grammar  # bodies of pcapng blocks
    enhanced: Grammar
    simple: Grammar
    obsolete: Grammar
    secrets: Grammar  # in a Decryption Secrets Block
    option: Grammar


@cache
def order(big: bool) -> ByteOrder:
    """Return the layouts of pcap and pcapng in one byte order."""
    u16, u32, i64 = (Int16ub, Int32ub, Int64sb) if big else (Int16ul, Int32ul, Int64sl)
    return ByteOrder(
        u16=u16,
        u32=u32,
        i64=i64,
        file=Struct(
            "magic" / u32, "major" / u16, "minor" / u16, "zone" / u32, "accuracy" / u32, "snaplen" / u32, "link" / u32
        ),
        record=Struct("seconds" / u32, "fraction" / u32, "captured" / u32, "length" / u32),
        block=Struct("kind" / u32, "size" / u32, "body" / FixedSized(this.size - 12, GreedyBytes), "again" / u32),
        interface=Struct("link" / u16, "reserved" / u16, "snaplen" / u32, "options" / GreedyBytes),
        enhanced=Struct(
            "interface" / u32, "high" / u32, "low" / u32, "captured" / u32, "length" / u32, "rest" / GreedyBytes
        ),
        simple=Struct("length" / u32, "rest" / GreedyBytes),
        obsolete=Struct(
            "interface" / u16, "drops" / u16, "high" / u32, "low" / u32,
            "captured" / u32, "length" / u32, "rest" / GreedyBytes,
        ),
        secrets=Struct("kind" / u32, "length" / u32, "rest" / GreedyBytes),
        option=Struct("code" / u16, "size" / u16, "value" / Bytes(this.size), "padding" / Bytes(-this.size % 4)),
    )  # fmt: skip

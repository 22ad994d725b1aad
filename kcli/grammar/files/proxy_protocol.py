"""The PROXY protocol, versions 1 and 2: a header by which a load balancer tells the address of a connection's client.

Source: "The PROXY protocol, versions 1 & 2" by HAProxy.
"""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

from construct import BitsInteger, BitStruct, Bytes, Bytewise, Const, Int16ub, Struct

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LINE, LONGEST_LINE = b"PROXY ", 107
TEXT = re.compile(
    rb"PROXY (?:TCP([46]) ([0-9a-fA-F.:]{2,45}) [0-9a-fA-F.:]{2,45} (\d{1,5}) \d{1,5}|UNKNOWN[^\r\n]*)\r\n"
)

version2 = BitStruct(
    "signature" / Bytewise(Const(SIGNATURE)), "version" / BitsInteger(4), "command" / BitsInteger(4),
    "family" / BitsInteger(4), "transport" / BitsInteger(4), "length" / Bytewise(Int16ub),
)  # fmt: skip
PROXY = 1  # the command; 0 is LOCAL, for health checks
INET, INET6 = 1, 2  # families
ADDRESSES = {
    INET: Struct("source" / Bytes(4), "destination" / Bytes(4), "port" / Int16ub, "to" / Int16ub),
    INET6: Struct("source" / Bytes(16), "destination" / Bytes(16), "port" / Int16ub, "to" / Int16ub),
}


class ProxyHeader(NamedTuple):
    """client: "address:port", with an IPv6 address in brackets; "" if the header has none. size: bytes."""

    version: int
    client: str
    size: int


def proxy_header(data: bytes | bytearray) -> ProxyHeader | bool:
    """Return the header at the start; False if there is none; True if it may be one, but is incomplete."""
    start = bytes(data[: len(SIGNATURE)])
    if start.startswith(LINE) or LINE.startswith(start):
        return line_of(bytes(data[:LONGEST_LINE]))
    if not start.startswith(SIGNATURE[: len(start)]):
        return False
    if len(data) < version2.sizeof():
        return True
    header = version2.parse(bytes(data[: version2.sizeof()]))
    size = version2.sizeof() + header.length
    if header.version != 2 or header.command > PROXY:
        return False
    if len(data) < size:
        return True
    client = ""
    if header.command == PROXY and header.family in ADDRESSES:
        layout = ADDRESSES[header.family]
        if header.length < layout.sizeof():
            return False
        found = layout.parse(bytes(data[version2.sizeof() : size]))
        client = end_text(ip_address(found.source), found.port)
    return ProxyHeader(2, client, size)


def line_of(data: bytes) -> ProxyHeader | bool:
    """Return the header of version 1, a line of text; True if it is incomplete, False if it is invalid."""
    if b"\n" not in data:
        return len(data) < LONGEST_LINE
    found = TEXT.match(data)
    if found is None:
        return False
    client = ""
    if found[1]:
        try:
            address = (IPv4Address if found[1] == b"4" else IPv6Address)(found[2].decode())
        except ValueError:
            return ProxyHeader(1, "", found.end())
        client = end_text(address, int(found[3]))
    return ProxyHeader(1, client, found.end())


def end_text(address: IPv4Address | IPv6Address, port: int) -> str:
    """Return "address:port" in kcli's form."""
    if isinstance(address, IPv4Address):
        return f"{address}:{port}"
    return f"[{f'::ffff:{address.ipv4_mapped}' if address.ipv4_mapped else address}]:{port}"

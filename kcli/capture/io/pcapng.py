"""Makes the blocks of a pcapng file: a section, interfaces, packets with times in nanoseconds.

Source: draft-ietf-opsawg-pcapng. The module uses `struct`, because each piece of live traffic becomes blocks;
kcli.grammar.files.capture_formats has the grammar for reading.
"""

import struct

from kcli.grammar.files.capture_formats import BYTE_ORDER, SECTION
from kcli.version import __version__

INTERFACE, ENHANCED = 1, 6  # block types
COMMENT, END, NAME, RESOLUTION, APPLICATION = 1, 0, 2, 9, 4  # option codes
ANY_LENGTH = (1 << 64) - 1
BLOCK = struct.Struct("<II")
PACKET = struct.Struct("<IIIIIII")  # type, size, interface, time (high, low), captured, length


def section_block() -> bytes:
    """Return the block that begins a file."""
    start = struct.pack("<IHHQ", BYTE_ORDER, 1, 0, ANY_LENGTH)
    return block(SECTION, start + options((APPLICATION, f"kcli {__version__}".encode())))


def interface_block(link: int, name: str | None = None) -> bytes:
    """Return the block of an interface with times in nanoseconds. link: a LINKTYPE_."""
    named = () if name is None else ((NAME, name.encode()),)
    return block(INTERFACE, struct.pack("<HHI", link, 0, 0) + options(*named, (RESOLUTION, b"\t")))


def packet_ends(interface: int, ns: int, size: int, length: int, comment: str = "") -> tuple[bytes, bytes]:
    """Return the bytes before and after a packet's `size` bytes.

    interface: its number; ns: since 1970; length: bytes on the wire.
    """
    behind = options((COMMENT, comment.encode())) if comment else b""
    total = PACKET.size + size + -size % 4 + len(behind) + 4
    head = PACKET.pack(ENHANCED, total, interface, ns >> 32 & 0xFFFF_FFFF, ns & 0xFFFF_FFFF, size, length)
    return head, bytes(-size % 4) + behind + total.to_bytes(4, "little")


def block(kind: int, body: bytes) -> bytes:
    size = len(body) + 12
    return BLOCK.pack(kind, size) + body + size.to_bytes(4, "little")


def options(*pairs: tuple[int, bytes]) -> bytes:
    return b"".join(struct.pack("<HH", code, len(value)) + padded(value) for code, value in (*pairs, (END, b"")))


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)

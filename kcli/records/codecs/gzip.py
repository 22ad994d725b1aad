"""gzip (RFC 1952), by igzip.

Other members may follow the first, as Java's GZIPInputStream reads them. Bytes after the last member that begin no
other one are ignored.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, cast

from isal import isal_zlib

from kcli.errors import InputError
from kcli.records.codecs import Streams, unfolded_streams

if TYPE_CHECKING:
    from typing_extensions import Buffer

GZIP_WINDOW = 31
START, DEFLATE, HEADER = b"\x1f\x8b", b"\x08", 10  # HEADER: bytes of a header without its options
LEAST_MEMBER = 19  # if fewer bytes follow a member, Java stops reading
HEADER_CHECKSUM, EXTRA, NAME, COMMENT = 2, 4, 8, 16  # flags of a header's optional parts


def compress(data: Buffer, _magic: int, level: int | None) -> bytes:
    """Compress with gzip. level: None is igzip's middle level; a number (0 to 9) is compressed by zlib, whose levels
    Java has.
    """
    if level is None:
        compressed: bytes = isal_zlib.compress(data, isal_zlib.ISAL_DEFAULT_COMPRESSION, GZIP_WINDOW)
        return compressed
    return zlib.compress(data, level, GZIP_WINDOW)


def decompress(data: memoryview, _magic: int, most: int, tolerated: list[str]) -> bytes:
    if len(data) < len(START):
        raise InputError(f"gzip: the stream ends early, after {len(data)} bytes of input")
    if data[: len(START)] != START:
        raise InputError(f"gzip: the stream begins with {data[: len(START)].hex()}, {START.hex()} expected")
    return unfolded_streams(MEMBERS, start, data, most, tolerated)


def start() -> Any:
    """Return a decompressor of one member."""
    return isal_zlib.decompressobj(GZIP_WINDOW)


def is_member(data: memoryview) -> bool:
    """Return whether Java reads the bytes after a member as another one: its header is whole and sound."""
    if len(data) < LEAST_MEMBER or data[:3] != START + DEFLATE:
        return False
    flags, at = data[3], HEADER
    if flags & EXTRA:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (NAME, COMMENT):
        if flags & flag:
            at = end_of_text(data, at)
    if flags & HEADER_CHECKSUM:
        if zlib.crc32(data[:at]) & 0xFFFF != int.from_bytes(data[at : at + 2], "little"):
            return False
        at += 2
    return at <= len(data)


def end_of_text(data: memoryview, at: int) -> int:
    """Return the position after the zero that ends the text at `at`; len(data) + 1 if it has none."""
    window = 256
    while at < len(data):
        found = bytes(data[at : at + window]).find(0)
        if found >= 0:
            return at + found + 1
        at += window
        window *= 2
    return len(data) + 1


MEMBERS = Streams("gzip", "stream", cast(Any, isal_zlib.error), is_member)

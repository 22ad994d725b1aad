"""gzip (RFC 1952), by igzip: one member; bytes behind it are ignored, as Java's GZIPInputStream does."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

from isal import isal_zlib

from kcli.errors import InputError
from kcli.records.codecs import unfolded

if TYPE_CHECKING:
    from typing_extensions import Buffer

GZIP_WINDOW = 31
START = b"\x1f\x8b"


def compress(data: Buffer, _magic: int, level: int | None) -> bytes:
    """level None: igzip's own middle level. A level asks zlib, whose levels (0 to 9) are those of Java."""
    if level is None:
        folded: bytes = isal_zlib.compress(data, isal_zlib.ISAL_DEFAULT_COMPRESSION, GZIP_WINDOW)
        return folded
    return zlib.compress(data, level, GZIP_WINDOW)


def decompress(data: memoryview, _magic: int, most: int) -> bytes:
    if len(data) >= len(START) and data[: len(START)] != START:
        raise InputError(f"gzip: the stream begins with {data[: len(START)].hex()}, {START.hex()} expected")
    damage: Any = isal_zlib.error
    return unfolded(isal_zlib.decompressobj(GZIP_WINDOW), data, most, "gzip: the stream", damage)

"""gzip (RFC 1952), by igzip: one member; bytes behind it are ignored, as Java's GZIPInputStream does."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from isal import isal_zlib

from kcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

GZIP_WINDOW = 31


def compress(data: Buffer, _magic: int, level: int | None) -> bytes:
    """level None: igzip's own middle level. A level asks zlib, whose levels (0 to 9) are those of Java."""
    if level is None:
        folded: bytes = isal_zlib.compress(data, isal_zlib.ISAL_DEFAULT_COMPRESSION, GZIP_WINDOW)
        return folded
    return zlib.compress(data, level, GZIP_WINDOW)


def decompress(data: memoryview, _magic: int, most: int) -> bytes:
    reader = isal_zlib.decompressobj(GZIP_WINDOW)
    try:
        unfolded: bytes = reader.decompress(data, most + 1)
    except isal_zlib.error as error:  # type: ignore[misc]
        raise InputError(f"gzip: {error}") from None
    if len(unfolded) > most:
        raise InputError(f"gzip: unfolds to more than {most} bytes")
    if not reader.eof:
        raise InputError(f"gzip: the stream ends early, after {len(unfolded)} bytes of output")
    return unfolded

"""Zstandard frames (RFC 8878). Other frames may follow the first; anything else after it is an error, as in Kafka.

A cut frame is an error, too. But Java's reader (zstd-jni) takes it for the end if another frame ended in the same chunk
of its input.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import zstandard

from kcli.records.codecs import Streams, unfolded_streams

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFAULT_LEVEL = 3
FRAMES = Streams("zstd", "frame", zstandard.ZstdError, chunk=131_075)

# A decompressor is costly to make, and serves one thread only.
_kept = threading.local()


def compress(data: Buffer, _magic: int, level: int | None) -> bytes:
    """Return one frame without content size, as Kafka's stream writes it."""
    writer = zstandard.ZstdCompressor(level=DEFAULT_LEVEL if level is None else level, write_content_size=False)
    return writer.compress(memoryview(data))


def decompress(data: memoryview, _magic: int, most: int, tolerated: list[str]) -> bytes:
    """Decompress zstd. Empty input gives empty output, as in Kafka's reader."""
    try:
        reader = _kept.reader
    except AttributeError:
        reader = _kept.reader = zstandard.ZstdDecompressor()
    return unfolded_streams(FRAMES, reader.decompressobj, data, most, tolerated)

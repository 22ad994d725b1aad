"""Zstandard frames (RFC 8878). More frames may follow the first; anything else behind it is an error, as in Kafka."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import zstandard

from kcli.records.codecs import unfolded_streams

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFAULT_LEVEL = 3

# A decompressor is worth keeping, and may be used by one thread alone.
_kept = threading.local()


def compress(data: Buffer, _magic: int, level: int | None) -> bytes:
    """Return a frame without content size, as Kafka's stream writes it."""
    writer = zstandard.ZstdCompressor(level=DEFAULT_LEVEL if level is None else level, write_content_size=False)
    return writer.compress(memoryview(data))


def decompress(data: memoryview, _magic: int, most: int, _odd: list[str]) -> bytes:
    """Decompress zstd. No bytes at all unfold to none, as in Kafka's reader."""
    if not hasattr(_kept, "reader"):
        _kept.reader = zstandard.ZstdDecompressor()
    return unfolded_streams(
        data, most, "zstd: the frame", _kept.reader.decompressobj, lambda _: True, zstandard.ZstdError
    )

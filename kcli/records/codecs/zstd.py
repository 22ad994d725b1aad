"""Zstandard frames (RFC 8878). More frames may follow the first; anything else behind it is an error, as in Kafka."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import zstandard

from kcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

DEFAULT_LEVEL = 3

# Input is fed in chunks of this size, so that the output can be stopped soon after it passes its limit.
STEP = 8192

# A decompressor is worth keeping, and may be used by one thread alone.
_kept = threading.local()


def compress(data: Buffer, _magic: int, level: int | None) -> bytes:
    """A frame without content size, as Kafka's stream writes it."""
    writer = zstandard.ZstdCompressor(level=DEFAULT_LEVEL if level is None else level, write_content_size=False)
    return writer.compress(memoryview(data))


def decompress(data: memoryview, _magic: int, most: int) -> bytes:
    """No bytes at all unfold to none, as in Kafka's reader."""
    if not hasattr(_kept, "reader"):
        _kept.reader = zstandard.ZstdDecompressor()
    parts: list[bytes] = []
    size = at = 0
    while at < len(data):
        frame = _kept.reader.decompressobj()
        while at < len(data) and not frame.eof:
            try:
                part = frame.decompress(data[at : at + STEP])
            except zstandard.ZstdError as error:
                raise InputError(f"zstd: {error}") from None
            at = min(at + STEP, len(data)) - len(frame.unused_data)
            size += len(part)
            parts.append(part)
            if size > most:
                raise InputError(f"zstd: unfolds to more than {most} bytes")
        if not frame.eof:
            raise InputError(f"zstd: the frame ends early, after {size} bytes of output")
    return b"".join(parts)

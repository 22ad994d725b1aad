"""snappy: the xerial stream that Kafka writes (snappy-java's SnappyOutputStream), and a raw block, which Kafka reads,
too.

The stream is `82 "SNAPPY" 00`, version int32, compatible int32, then blocks, each after its length as int32. Headers
between blocks are valid; they are there if streams were joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cramjam

from kcli.core.codec.varints import read_unsigned
from kcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAGIC = b"\x82SNAPPY\x00"
HEADER = MAGIC + b"\0\0\0\1" + b"\0\0\0\1"
LEAST_VERSION = 1  # Java checks it only in the headers between blocks
BLOCK = 32 * 1024


def compress(data: Buffer, _magic: int, _level: int | None) -> bytes:
    """Compress with snappy, which has no levels."""
    view = memoryview(data)
    parts = [HEADER]
    for start in range(0, len(view), BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + BLOCK]))
        parts += [len(block).to_bytes(4, "big"), block]
    return b"".join(parts)


def decompress(data: memoryview, _magic: int, most: int, _tolerated: list[str]) -> bytes | bytearray:
    if not len(data):
        raise InputError("snappy: no bytes (a stream or a block expected)")
    blocks = list(split_blocks(data)) if data[:8] == MAGIC else [data]
    sizes = [unfolded_size(block) for block in blocks]
    if sum(sizes) > most:
        raise InputError(f"snappy: unfolds to {sum(sizes)} bytes, at most {most} expected")
    unfolded = bytearray(sum(sizes))
    into, at = memoryview(unfolded), 0
    for block, size in zip(blocks, sizes, strict=True):
        try:
            written = cramjam.snappy.decompress_raw_into(block, into[at : at + size]) if size else 0
        except cramjam.DecompressionError as error:
            raise InputError(f"snappy: {error}") from None
        if written != size or (not size and len(block) > 1):
            raise InputError(f"snappy: a block gives {written} bytes, its start says {size}")
        at += size
    return unfolded


def split_blocks(data: memoryview) -> list[memoryview]:
    """Return the blocks of a xerial stream (SnappyInputStream). Headers between blocks and a cut length at the end are
    left out. Raises InputError.
    """
    blocks, at = [], 0
    while len(data) - at >= 4:
        if data[at : at + 8] == MAGIC:
            if len(data) - at < len(HEADER):
                raise InputError("snappy: the header of the stream is cut")
            version = int.from_bytes(data[at + 8 : at + 12], "big", signed=True)
            if at and version < LEAST_VERSION:
                raise InputError(
                    f"snappy: the header at 0x{at:x} is of version {version}, {LEAST_VERSION} or more expected"
                )
            at += len(HEADER)
            continue
        size = int.from_bytes(data[at : at + 4], "big", signed=True)
        if size < 0 or size > len(data) - at - 4:
            raise InputError(f"snappy: the block at 0x{at:x} says {size} bytes, {len(data) - at - 4} left")
        blocks.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return blocks


def unfolded_size(block: memoryview) -> int:
    """Return the decompressed size at the start of a raw block, an unsigned varint of at most 5 bytes. Raises
    InputError.
    """
    try:
        return read_unsigned(block)[0]
    except ValueError:
        raise InputError("snappy: a block without its size in front") from None

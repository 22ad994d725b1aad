"""Compresses contents to a given number of bytes, so that a compressed batch keeps its size.

Content of one letter compresses to fewer bytes; the rest is padding that every reader skips: bytes after the end of a
gzip member or an lz4 frame; for zstd skippable frames, empty blocks and the dictionary number 0 (RFC 8878, 3.1); for
snappy literals, which need not be compressed, with a length in more bytes than it needs.
"""

from collections.abc import Callable

import cramjam

from kcli.core.codec.varints import read_unsigned, write_unsigned
from kcli.records import codecs
from kcli.records.codecs import snappy

STRONG = {1: 9, 3: 12, 4: 19}  # the level that compresses most, by codec
ZSTD_HEADER = 6  # magic, descriptor and window of a frame without content size
SKIPPABLE = b"\x50\x2a\x4d\x18"
EMPTY_BLOCK = bytes(3)
MOST_SPARE = 5  # bytes that a separate literal of one byte adds: its tag, and up to four bytes of length


def recompressed(codec: int, stored: bytes, content: bytes, magic: int = 2) -> bytes | None:
    """Compress the content to as many bytes as the stored payload had. None if it does not fit."""
    if codec == 2:
        return folded_snappy(stored, content)
    for level in (None, STRONG[codec]):
        made = codecs.compress(codec, content, magic, level)
        if len(made) <= len(stored):
            return PADDED[codec](made, len(stored) - len(made))
    return None


def with_zeros(made: bytes, more: int) -> bytes:
    return made + bytes(more)


def with_blocks(made: bytes, more: int) -> bytes:
    """Return a zstd frame, padded by `more` bytes."""
    if more >= 8:
        return made + SKIPPABLE + (more - 8).to_bytes(4, "little") + bytes(more - 8)
    number = more % 3  # bytes of the dictionary number, and the descriptor's bits that give their count
    header = made[:4] + bytes([made[4] | number]) + made[5:ZSTD_HEADER] + bytes(number)
    return header + EMPTY_BLOCK * (more // 3) + made[ZSTD_HEADER:]


PADDED: dict[int, Callable[[bytes, int], bytes]] = {1: with_zeros, 3: with_zeros, 4: with_blocks}


# ---- snappy


def folded_snappy(stored: bytes, content: bytes) -> bytes | None:
    """Compress content with snappy, block by block; each block keeps the size of its content and its compressed
    size.
    """
    out, at = bytearray(stored), 0
    view = memoryview(out)
    blocks = snappy.split_blocks(view) if stored[:8] == snappy.MAGIC else [view]
    for block in blocks:
        size = snappy.unfolded_size(block)
        made = raw_block(content[at : at + size], len(block))
        if made is None:
            return None
        block[:] = made
        at += size
    return bytes(out)


def raw_block(content: bytes, size: int) -> bytes | None:
    """Return the content as a raw block of `size` bytes. Its beginning is stored as literals, as much of it as is
    needed. None if it does not fit.
    """
    low, high = 0, len(content)
    while low < high:  # find the longest beginning with which the block is still small enough
        middle = (low + high + 1) // 2
        if len(block_with(content, middle, 0)) <= size:
            low = middle
        else:
            high = middle - 1
    for length in (low, len(content), *range(low + 1, min(low + 16, len(content)))):
        more = size - len(block_with(content, length, 0))
        if more == 0 or 0 < more < length * MOST_SPARE:
            return block_with(content, length, more)
    return None


def block_with(content: bytes, length: int, more: int) -> bytes:
    """Return a raw block whose first `length` bytes are literals, padded by `more` bytes."""
    rest = bytes(cramjam.snappy.compress_raw(content[length:])) if length < len(content) else b"\0"
    parts, at = [write_unsigned(len(content))], 0
    while more and at < length - 1:
        spare = min(more, MOST_SPARE)
        parts.append(literal(content[at : at + 1], spare - 1))
        more -= spare
        at += 1
    if at < length:
        parts.append(literal(content[at:length], 0, more))
    return b"".join([*parts, rest[read_unsigned(rest)[1] :]])


def literal(data: bytes, width: int, more: int = 0) -> bytes:
    """Return a literal element with these bytes. Their number takes `width` bytes, or as many as it needs, and `more`
    bytes on top. Source: snappy's format_description.txt, 2.1.
    """
    last = len(data) - 1
    width = max(width, 0 if last < 60 else (last.bit_length() + 7) // 8) + more
    if not width:
        return bytes([last << 2]) + data
    return bytes([(59 + width) << 2]) + last.to_bytes(width, "little") + data

"""lz4 frames (Kafka's Lz4BlockOutputStream): independent blocks of 64 KiB, no checksum but the header's, no content
size.

Kafka's reader (Lz4BlockInputStream) checks the checksums of the header and of blocks, and ignores the content's
checksum and size. It takes a block of no bytes for the frame's end.

In magic 0 the header's checksum wrongly covers the frame's magic, too (KAFKA-3160). It is not checked, as in Kafka's
own reader, but replaced before the library sees it.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

import lz4.frame

from kcli.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

MAGIC = b"\x04\x22\x4d\x18"
FLAG_INDEPENDENT, FLAG_BLOCK_CHECKSUM, FLAG_CONTENT_SIZE, FLAG_CONTENT_CHECKSUM = 0x20, 0x10, 0x08, 0x04
FLAG_DICTIONARY = 0x01
BLOCK_SIZE = Struct("<I")
END, UNCOMPRESSED = 0, 1 << 31  # END: instead of a block's size; UNCOMPRESSED: a flag in it

# {the library's error: (flag, name) of a field that Kafka ignores}
PASSED_OVER = {
    "ERROR_contentChecksum_invalid": (FLAG_CONTENT_CHECKSUM, "checksum"),
    "ERROR_frameSize_wrong": (FLAG_CONTENT_SIZE, "size"),
}


def compress(data: Buffer, magic: int, level: int | None) -> bytes:
    """Compress with lz4. level: None is the fast compressor, Kafka's default; other levels are those of lz4."""
    compressed: bytes = lz4.frame.compress(
        data,
        compression_level=level or 0,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return with_old_checksum(compressed) if magic == 0 else compressed


def decompress(data: memoryview, magic: int, most: int, tolerated: list[str]) -> bytes:
    """Decompress an lz4 frame. Faults that Kafka ignores are added to `tolerated`; in magic 0 the header's checksum is
    not checked. most: bytes of output. Raises InputError.
    """
    size = descriptor_size(data)
    if magic == 0 and data[4 + size] != (checksum := header_checksum(data[4 : 4 + size])):
        data = memoryview(b"".join((data[: 4 + size], bytes([checksum]), data[5 + size :])))
    data = up_to_end(data, size, tolerated)
    while True:
        try:
            made, _consumed, is_whole = lz4.frame.decompress_chunk(
                lz4.frame.create_decompression_context(), data, max_length=most + 1
            )
            break
        except RuntimeError as error:
            found = next((field for sign, field in PASSED_OVER.items() if sign in str(error)), None)
            if found is None:
                raise InputError(f"lz4: {error}") from None
        flag, name = found
        data = without_field(data, flag)
        tolerated.append(f"lz4: the {name} of the content is wrong, which Kafka does not look at")
    if len(made) > most:
        raise InputError(f"lz4: unfolds to more than {most} bytes")
    if not is_whole:
        raise InputError(f"lz4: the frame ends early, after {len(made)} bytes of output")
    return bytes(made)


def up_to_end(data: memoryview, descriptor: int, tolerated: list[str]) -> memoryview:
    """Return the frame up to the empty block at which Kafka's reader ends; the whole frame if it has none.

    descriptor: its size in bytes
    """
    at, last, around = 5 + descriptor, len(data) - 4, 4 + 4 * bool(data[4] & FLAG_BLOCK_CHECKSUM)
    while at <= last and (size := BLOCK_SIZE.unpack_from(data, at)[0]) != END:
        behind = at + (size & ~UNCOMPRESSED) + around
        is_empty = size == 1 and bytes(data[at + 4 : at + 5]) < b"\x10"  # an lz4 sequence without literals
        if size == UNCOMPRESSED or (is_empty and any(data[behind : behind + 4])):
            tolerated.append("lz4: a block of no bytes ends the frame, as in Kafka")
            content_checksum = data[at + 4 : at + 8]
            return memoryview(b"".join((data[:at], END.to_bytes(4, "little"), content_checksum)))
        at = behind
    return data


def without_field(data: memoryview, flag: int) -> memoryview:
    """Return the frame without an optional field of its descriptor. A checksum of the content stays after the frame's
    end.
    """
    size = descriptor_size(data)
    kept = 2 if flag == FLAG_CONTENT_SIZE else size
    descriptor = bytes([data[4] & ~flag]) + data[5 : 4 + kept]
    return memoryview(b"".join((MAGIC, descriptor, bytes([header_checksum(descriptor)]), data[5 + size :])))


def header_checksum(descriptor: Buffer) -> int:
    """Return the checksum of a frame's descriptor: the second byte of its xxHash32."""
    return xxh32(bytes(descriptor)) >> 8 & 0xFF


def descriptor_size(data: memoryview) -> int:
    """Return the size in bytes of the frame descriptor between the frame's magic and the header checksum.

    Raises InputError.
    """
    if data[:4] != MAGIC:
        raise InputError(f"lz4: starts with {bytes(data[:4]).hex() or 'nothing'}, a frame (04224d18) expected")
    if len(data) < 7:
        raise InputError("lz4: the frame's header is cut")
    if not data[4] & FLAG_INDEPENDENT:
        raise InputError("lz4: a frame with linked blocks, which Kafka refuses")
    if data[4] & FLAG_DICTIONARY:
        raise InputError("lz4: a frame with a dictionary, which Kafka refuses")
    size = 2 + 8 * bool(data[4] & FLAG_CONTENT_SIZE)
    if len(data) < 5 + size:
        raise InputError("lz4: the frame's header is cut")
    return size


def with_old_checksum(frame: bytes) -> bytes:
    """Return the frame with the header checksum of magic 0, which covers the frame's magic and the descriptor."""
    size = descriptor_size(memoryview(frame))
    return frame[: 4 + size] + bytes([header_checksum(frame[: 4 + size])]) + frame[5 + size :]


def xxh32(data: bytes) -> int:
    """Compute xxHash32 with seed 0 of fewer than 16 bytes, all that a frame header needs (xxhash_spec.md)."""
    assert len(data) < 16 + 1
    primes = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
    mask = 0xFFFFFFFF

    def rotate(value: int, by: int) -> int:
        return (value << by | value >> 32 - by) & mask

    value, at = primes[4] + len(data), 0
    while len(data) - at >= 4:
        value = rotate(value + int.from_bytes(data[at : at + 4], "little") * primes[2] & mask, 17) * primes[3] & mask
        at += 4
    for byte in data[at:]:
        value = rotate(value + byte * primes[4] & mask, 11) * primes[0] & mask
    value = (value ^ value >> 15) * primes[1] & mask
    value = (value ^ value >> 13) * primes[2] & mask
    return value ^ value >> 16

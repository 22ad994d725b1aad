"""Compression of record batches: one module for each codec, imported when it is first asked for.

A codec module has `compress(data, magic, level) -> bytes` and `decompress(data, magic, most) -> bytes-like`, for whole
payloads of a batch or of a wrapper message. `level` None is Kafka's default. `most`: bytes that the output may have.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Protocol, cast

from kcli.errors import EncodeError, InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["CODECS", "MOST_BYTES", "codec_id", "compress", "decompress", "unfolded"]

# Names by codec id, as in the lowest three bits of a batch's attributes (Kafka's CompressionType).
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

# Most bytes that a batch may decompress to: 256 MiB.
MOST_BYTES = 1 << 28

# Most bytes of output for a byte of input, by format: gzip 1032, snappy 64 (copies of 64 in 3 bytes, rounded up), lz4
# 255; zstd has no such limit (a block of 128 KiB may take 4 bytes).
RATIOS = {1: 1040, 2: 64, 3: 260, 4: 1 << 16}


class Codec(Protocol):
    def compress(self, data: Buffer, magic: int, level: int | None) -> bytes: ...
    def decompress(self, data: memoryview, magic: int, most: int) -> Buffer: ...


class Unfolder(Protocol):
    """A library's decompressor, which stops at a number of bytes of output and knows whether the stream has ended."""

    eof: bool

    def decompress(self, data: memoryview, most: int) -> bytes:
        """Up to `most` bytes of output."""
        ...


_loaded: dict[int, Codec] = {}


def _codec(number: int) -> Codec:
    codec = _loaded.get(number)
    if codec is None:
        module = importlib.import_module(f"kcli.records.codecs.{CODECS[number]}")
        codec = _loaded[number] = cast(Codec, module)
    return codec


def codec_id(name: str) -> int:
    """The id of a codec by name. Raises EncodeError: Kafka has no such codec."""
    if name not in CODECS:
        raise EncodeError("compression", f"no codec {name!r} ({', '.join(CODECS)} expected)")
    return CODECS.index(name)


def decompress(codec: int, data: Buffer, magic: int = 2, most: int = MOST_BYTES) -> Buffer:
    """Decompress a payload. Raises InputError: unknown codec id, damaged data, or more than `most` bytes of output.

    magic: with 0 the header checksum of lz4 frames is not checked, as Kafka writes a wrong one.
    """
    view = memoryview(data).cast("B")
    if codec == 0:
        return view
    if codec >= len(CODECS):
        raise InputError(f"codec {codec}: there is none with this id (0 to 4 expected)")
    return _codec(codec).decompress(view, magic, min(most, len(view) * RATIOS[codec] + 65536))


def compress(codec: int, data: Buffer, magic: int = 2, level: int | None = None) -> bytes:
    """Compress a payload as Kafka does: gzip with one member, snappy in xerial blocks, lz4 and zstd in frames.

    level None: Kafka's default, as near as the library has it.
    """
    return bytes(data) if codec == 0 else _codec(codec).compress(data, magic, level)


def unfolded(unfolder: Unfolder, data: memoryview, most: int, what: str, *failures: type[Exception]) -> bytes:
    """The output. what: what is unfolded, as "gzip: the stream". failures: what the library raises for damage.

    InputError: damage, a cut end, or more than `most` bytes of output.
    """
    codec = what.partition(":")[0]
    try:
        made = unfolder.decompress(data, most + 1)
    except failures as error:
        raise InputError(f"{codec}: {error}") from None
    if len(made) > most:
        raise InputError(f"{codec}: unfolds to more than {most} bytes")
    if not unfolder.eof:
        raise InputError(f"{what} ends early, after {len(made)} bytes of output")
    return made

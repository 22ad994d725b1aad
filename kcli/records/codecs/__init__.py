"""Compression of record batches: one module for each codec, imported at its first use.

A codec module has `compress(data, magic, level) -> bytes` and `decompress(data, magic, most, odd) -> bytes-like`, for
whole payloads of a batch or of a wrapper message. level: None is Kafka's default; most: the most bytes of output; odd:
gets the fault of a payload that Kafka nevertheless reads.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from kcli.errors import EncodeError, InputError
from kcli.schemas.field_codes import CODECS

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["CODECS", "MOST_BYTES", "Streams", "codec_id", "compress", "decompress", "unfolded_streams"]

# The most bytes that a batch, and the batches of a message together, may decompress to: 128 MiB.
MOST_BYTES = 1 << 27

# The most bytes of output for a byte of input, by format: gzip 1032, snappy 64 (copies of 64 in 3 bytes, rounded up),
# lz4 255, zstd 32768 (a block of 128 KiB may take 4 bytes).
RATIOS = {1: 1040, 2: 64, 3: 260, 4: 1 << 15}

# The most bytes of output for a step of input, for libraries that can't stop at a size of output.
STEP_OUTPUT = 1 << 27
STEPS = {CODECS[codec]: STEP_OUTPUT // ratio for codec, ratio in RATIOS.items()}  # bytes of input


class CompressionCodec(Protocol):
    def compress(self, data: Buffer, magic: int, level: int | None) -> bytes: ...
    def decompress(self, data: memoryview, magic: int, most: int, tolerated: list[str]) -> Buffer: ...


class StepUnfolder(Protocol):
    """A library's decompressor that reads its input in steps. unused_data: the bytes of input after the stream's
    end.
    """

    eof: bool
    unused_data: bytes

    def decompress(self, data: memoryview) -> bytes: ...


_loaded: dict[int, CompressionCodec] = {}


def _codec(number: int) -> CompressionCodec:
    codec = _loaded[number] = cast(CompressionCodec, importlib.import_module(f"kcli.records.codecs.{CODECS[number]}"))
    return codec


def codec_id(name: str) -> int:
    """Return the id of a codec by name. Raises EncodeError if Kafka has no such codec."""
    if name not in CODECS:
        raise EncodeError("compression", f"no codec {name!r} ({', '.join(CODECS)} expected)")
    return CODECS.index(name)


def decompress(
    codec: int, data: Buffer, magic: int = 2, most: int = MOST_BYTES, tolerated: list[str] | None = None
) -> Buffer:
    """Decompress a payload. Raises InputError for an unknown codec id, damaged data, or more than `most` bytes of
    output.

    magic: with 0 the header checksum of lz4 frames is not checked, because Kafka writes a wrong one; tolerated: gets
    the fault of a payload that Kafka nevertheless reads
    """
    view = memoryview(data).cast("B")
    if codec == 0:
        return view
    if codec >= len(CODECS):
        raise InputError(f"codec {codec}: there is none with this id (0 to 4 expected)")
    most = min(most, len(view) * RATIOS[codec] + 65536)
    return (_loaded.get(codec) or _codec(codec)).decompress(view, magic, most, [] if tolerated is None else tolerated)


def compress(codec: int, data: Buffer, magic: int = 2, level: int | None = None) -> bytes:
    """Compress a payload as Kafka does: gzip with one member, snappy in xerial blocks, lz4 and zstd in frames.

    level: None is Kafka's default, or the library's nearest
    """
    return bytes(data) if codec == 0 else (_loaded.get(codec) or _codec(codec)).compress(data, magic, level)


class Streams(NamedTuple):
    """The form of a codec's streams, several of which may follow each other.

    unit: the codec's word for a stream; failure: the library's exception; follows: returns whether the bytes after a
    stream are another one, or else are ignored; None: they always are one; chunk: size of the input buffer of Java's
    reader, which ignores that the last stream is cut if another stream ended in the same buffer; 0: it never does
    """

    codec: str
    unit: str
    failure: type[Exception]
    follows: Callable[[memoryview], bool] | None = None
    chunk: int = 0


def unfolded_streams(
    kind: Streams, start: Callable[[], StepUnfolder], data: memoryview, most: int, tolerated: list[str]
) -> bytes:
    """Decompress streams. start: begins one; tolerated: gets a text if the last is cut and Kafka ignores it.

    Raises InputError for damage, a cut end, or more than `most` bytes of output.
    """
    codec, unit, failure, follows, chunk = kind
    step, end = STEPS[codec], len(data)
    parts: list[bytes] = []
    size = at = 0
    while at < end and (not at or follows is None or follows(data[at:])):
        stream, begin, ended = start(), at, False
        while at < end and not ended:
            try:
                part = stream.decompress(data[at : at + step])
            except failure as error:
                raise InputError(f"{codec}: {error}") from None
            at, ended = min(at + step, end), stream.eof
            if ended:
                at -= len(stream.unused_data)
            size += len(part)
            parts.append(part)
            if size > most:
                raise InputError(f"{codec}: unfolds to more than {most} bytes")
        if not ended:
            if not (chunk and begin) or (begin - 1) // chunk != (end - 1) // chunk:
                raise InputError(f"{codec}: the {unit} ends early, after {size} bytes of output")
            tolerated.append(f"{codec}: the last {unit} is cut, which Kafka takes for the end")
    return b"".join(parts)

"""Contents folded into the bytes that others took, by every codec, so that readers unfold them."""

import random

import pytest

from kcli.records import codecs
from kcli.redact.folding import raw_block, recompressed, with_blocks

SHAPES = (
    lambda rng, size: rng.randbytes(size),
    lambda rng, size: bytes(rng.choice(b"abcdefgh {}:0123") for _ in range(size)),
    lambda rng, size: (b'{"id": 7, "name": "joe"}' * (size // 20 + 1))[:size],
)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_as_many_bytes_as_before(codec: int, shape: int) -> None:
    rng = random.Random(codec * 10 + shape)
    for size in (1, 5, 20, 59, 60, 61, 100, 300, 1000, 20_000, 70_000):
        content = SHAPES[shape](rng, size)
        for level in (None, 9):
            stored = codecs.compress(codec, content, 2, level)
            made = recompressed(codec, stored, b"x" * size)
            assert made is not None and len(made) == len(stored)
            assert bytes(codecs.decompress(codec, made)) == b"x" * size


def test_raw_snappy_as_librdkafka_sends_it() -> None:
    import cramjam

    for size in (3, 70, 5000):
        stored = bytes(cramjam.snappy.compress_raw(random.Random(size).randbytes(size)))
        made = recompressed(2, stored, b"x" * size)
        assert made is not None and len(made) == len(stored) and bytes(codecs.decompress(2, made)) == b"x" * size


@pytest.mark.parametrize("size", [1, 300, 70_000])
def test_every_gap_of_zstd_is_filled(size: int) -> None:
    made = codecs.compress(4, b"x" * size)
    for more in range(40):
        filled = with_blocks(made, more)
        assert len(filled) == len(made) + more and bytes(codecs.decompress(4, filled)) == b"x" * size


def test_every_gap_of_snappy_is_filled() -> None:
    least = len(raw_block(b"x" * 200, 10_000) or b"") or 14
    made = 0
    for size in range(least, 260):
        block = raw_block(b"x" * 200, size)
        if block is not None:
            assert len(block) == size and bytes(codecs.decompress(2, block)) == b"x" * 200
            made += 1
    assert made > 200


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_no_room(codec: int) -> None:
    stored = codecs.compress(codec, b"x" * 1000)
    assert recompressed(codec, stored, random.Random(1).randbytes(1000)) is None

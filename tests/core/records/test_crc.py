"""Every way of computing the checksums, against the libraries that everybody has."""

import random
import zlib
from collections.abc import Iterator

import crc32c as castagnoli
import pytest

crc = pytest.importorskip("kcli.core.records.crc")
SIZES = [*range(200), 511, 512, 1000, 1023, 1024, 1025, 1100, 2047, 4096, 9001]


@pytest.fixture(params=[0, 1, 2, 3])
def level(request: pytest.FixtureRequest) -> Iterator[int]:
    """Tables, folds of 16 bytes, of 32, of 64; what this processor lacks is the one below it again."""
    yield crc.use_level(request.param)
    crc.use_level(3)


def test_every_size_from_any_start(level: int) -> None:
    chance = random.Random(level)
    data = chance.randbytes(10_000)
    for size in SIZES:
        start, value = chance.randrange(900), chance.getrandbits(32)
        part = data[start : start + size]
        assert crc.crc32(part, value) == zlib.crc32(part, value)
        assert crc.crc32c(part, value) == castagnoli.crc32c(part, value)


def test_check_values(level: int) -> None:
    assert (crc.crc32(b"123456789"), crc.crc32c(b"123456789")) == (0xCBF43926, 0xE3069283)
    assert crc.crc32(b"") == crc.crc32c(b"") == 0

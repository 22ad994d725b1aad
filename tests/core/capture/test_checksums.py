"""The compiled checksum gives what the interpreted one does."""

import random

from kcli.core.capture import checksums
from tests.oracle.checksums import sum_of


def test_the_same_sums() -> None:
    chance = random.Random(7)
    for size in (*range(40), 1000, 1001, 65_000):
        for data in (chance.randbytes(size), b"\xff" * size, b"\0" * size):
            assert checksums.sum_of(data) == sum_of(data)
            assert checksums.sum_of(memoryview(b"x" + data)[1:]) == sum_of(data)
